use super::*;

const REPLICA: &str = "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\n";

fn replica(more: &str) -> ReplicaConfig {
    let config = read(&format!("{REPLICA}{more}")).unwrap();
    config.replicas["a"].clone()
}

const EVERY_KEY: &str = r#"
[limits]
memory = "64MiB"
guest-time = "500ms"
tick-time = "1m"
fetch-time = "5s"
host-call-bytes = "1MiB"
handles = 100
log-lines = 10
log-bytes = "4kB"
memory-entries = 5
memory-bytes = "0"

[trial]
max-removed = "2.5%"
min-removed = 7
max-changed = "50 %"

[plugins]
probation-ticks = 5
"#;

#[test]
fn every_key_is_read_and_told_to_every_slot() {
    let config = read(&format!("{REPLICA}{EVERY_KEY}")).unwrap();
    assert_eq!(config.plugins.probation_ticks, 5);
    let replica = &config.replicas["a"];
    for slot in Slot::ALL {
        let routine = &replica.routines[&slot];
        let limits = Limits {
            memory: 64 << 20,
            guest_time: Duration::from_millis(500),
            tick_time: Duration::from_mins(1),
            fetch_time: Some(Duration::from_secs(5)),
            host_call_bytes: 1 << 20,
            handles: 100,
            log_lines: 10,
            log_bytes: 4000,
            memory_entries: 5,
            memory_bytes: 0,
        };
        assert_eq!(routine.limits, Some(limits.clone()), "{slot}");
        assert_eq!(replica.limits(slot), limits);
        let trial = TrialConfig {
            max_removed: 0.025,
            min_removed: 7,
            max_changed: 0.5,
        };
        assert_eq!(routine.trial, Some(trial), "{slot}");
        assert_eq!(replica.trial(slot), trial);
    }
}

#[test]
fn where_nobody_says_anything_the_defaults_hold_and_no_slot_has_an_entry() {
    let replica = replica("");
    assert!(replica.routines.is_empty());
    for slot in Slot::ALL {
        assert_eq!(replica.limits(slot), Limits::default());
        assert_eq!(replica.trial(slot), TrialConfig::default());
    }
    let config = read(REPLICA).unwrap();
    assert_eq!(config.plugins.probation_ticks, 3);
}

const DOCUMENT: &str = include_str!("../../../../docs/configuration.md");

/// The keys of a table in the document, with the default that it tells: those of the lines of a section `## title`.
fn documented(title: &str) -> Vec<(&'static str, &'static str)> {
    let (_, section) = DOCUMENT.split_once(&format!("## {title}\n")).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        Some((
            cells.next()?.trim_matches('`'),
            cells.next()?.trim_matches('`'),
        ))
    };
    section.lines().filter_map(row).collect()
}

#[test]
fn the_defaults_are_as_documented() {
    let (limits, trial) = (
        documented("Limits of a tick"),
        documented("Trial of a candidate"),
    );
    assert_eq!((limits.len(), trial.len()), (10, 3));
    let lines = |table: Vec<(&str, &str)>| {
        table
            .into_iter()
            .filter(|(_, default)| *default != "none")
            .map(|(key, default)| format!("{key} = {default}\n"))
            .collect::<String>()
    };
    let replica = replica(&format!(
        "[limits]\n{}[trial]\n{}",
        lines(limits),
        lines(trial)
    ));
    assert_eq!(replica.limits(Slot::Topic), Limits::default());
    assert_eq!(replica.trial(Slot::Topic), TrialConfig::default());
}

#[test]
fn the_example_in_the_document_is_read() {
    let (_, example) = DOCUMENT.rsplit_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let broker = REPLICA.replace(".a]", ".broker-a]");
    let config = read(&format!("{broker}{example}")).unwrap();
    let limits = config.replicas["broker-a"].limits(Slot::Offset);
    assert_eq!(limits.memory, 64 << 20);
    assert_eq!(limits.fetch_time, Some(Duration::from_secs(10)));
}

#[test]
fn a_slot_names_single_keys_over_what_is_said_to_all() {
    let replica = replica(
        r#"
[replica.a.routine.topic.limits]
handles = 5
[replica.a.routine.topic.trial]
min-removed = 0
[limits]
handles = 9
log-lines = 0
[trial]
max-removed = "0%"
"#,
    );
    let (own, common) = (replica.limits(Slot::Topic), replica.limits(Slot::Delay));
    assert_eq!((own.handles, common.handles), (5, 9));
    assert_eq!((own.log_lines, common.log_lines), (0, 0));
    assert_eq!(own.memory, Limits::default().memory);
    let (own, common) = (replica.trial(Slot::Topic), replica.trial(Slot::Delay));
    assert_eq!((own.min_removed, common.min_removed), (0, 20));
    assert_eq!((own.max_removed, common.max_removed), (0.0, 0.0));
    assert_eq!(own.max_changed, 1.0);
}

#[test]
fn a_slot_that_says_something_is_alone_with_it() {
    let replica = replica("[replica.a.routine.topic]\nlimits.handles = 5\n");
    let routine = &replica.routines[&Slot::Topic];
    assert_eq!(routine.limits.as_ref().unwrap().handles, 5);
    assert_eq!(routine.trial, None);
    assert_eq!(replica.routines.len(), 1);
    assert_eq!(replica.limits(Slot::Delay), Limits::default());
}

#[test]
fn a_tick_time_that_nobody_named_leaves_room_for_the_answers() {
    let tick_times = |more: &str| {
        let replica = replica(more);
        [Slot::Topic, Slot::Delay].map(|slot| replica.limits(slot).tick_time.as_secs())
    };
    let slow = "request-timeout = '50s'\n";
    let cases = [
        ("", [120, 120]),
        ("[limits]\nhandles = 5\n", [120, 120]),
        (
            "[replica.a.routine.topic]\nlimits.handles = 5\n",
            [120, 120],
        ),
        ("[limits]\ntick-time = '7s'\n", [7, 7]),
        (
            "[replica.a.routine.topic]\nlimits.tick-time = '7s'\n",
            [7, 120],
        ),
    ];
    for (more, expected) in cases {
        assert_eq!(tick_times(more), expected, "{more}");
        let expected = expected.map(|secs| if secs == 120 { 150 } else { secs });
        assert_eq!(tick_times(&format!("{slow}{more}")), expected, "{more}");
    }
    // A timeout that a tick of its own could not have is no slip in the limits.
    replica("request-timeout = '7200h'\n[limits]\nhandles = 5\n");
}

#[test]
fn what_is_out_of_bounds_is_refused_with_where_and_what_to_write() {
    let keys = [
        (
            "memory = '1kB'",
            "`memory` of 1000B: write at least 64KiB, and at most 4GiB",
        ),
        ("memory = '5GiB'", "`memory` of 5GiB"),
        (
            "guest-time = '0s'",
            "`guest-time` of 0ns: write at least 10ms",
        ),
        (
            "tick-time = '5ms'",
            "`tick-time` of 5ms: write at least 10ms",
        ),
        (
            "fetch-time = '9999999h'",
            "`fetch-time` of 35999996400s: write at least 10ms, and at most a year",
        ),
        (
            "host-call-bytes = '5'",
            "`host-call-bytes` of 5B: write at least 1KiB",
        ),
        (
            "handles = 0",
            "`handles` of 0: write at least 1, and at most 1000000",
        ),
        ("log-lines = 1000001", "`log-lines` of 1000001"),
        (
            "log-bytes = '2GiB'",
            "`log-bytes` of 2GiB: write at least 0B, and at most 1GiB",
        ),
        ("memory-entries = 1000001", "`memory-entries` of 1000001"),
        ("memory-bytes = '65MiB'", "`memory-bytes` of 65MiB"),
    ];
    for (key, expected) in keys {
        let common = format!("locum.toml: `[limits]`: {expected}");
        let own = format!("locum.toml: replica `a`: routine `delay`: {expected}");
        refused([
            (format!("[limits]\n{key}"), &common),
            (
                format!("{REPLICA}[replica.a.routine.delay.limits]\n{key}"),
                &own,
            ),
        ]);
    }
}

#[test]
fn a_bad_limit_or_share_says_what_to_write() {
    let cases = [
        (
            "[limits]\nhandels = 5",
            "2:1: unknown key `handels`; did you mean `handles`?",
        ),
        (
            "[limits]\nhandles = -5",
            "2:11: invalid value: integer `-5`",
        ),
        (
            "[limits]\nmemory = 5",
            "2:10: invalid type: integer `5`, expected a string",
        ),
        ("[trail]", "1:2: unknown key `trail`; did you mean `trial`?"),
        (
            "[trial]\nmax-removed = '10'",
            "2:15: `10` is not a share from \"0%\" to \"100%\": write \"10%\"",
        ),
        ("[trial]\nmax-removed = '101%'", "`101%` is not a share"),
        ("[trial]\nmax-changed = '-1%'", "`-1%` is not a share"),
        ("[trial]\nmax-changed = '1e1%'", "`1e1%` is not a share"),
        ("[trial]\nmax-changed = 'nan%'", "`nan%` is not a share"),
        ("[trial]\nmax-changed = '%'", "`%` is not a share"),
        (
            "[plugins]\nprobation-ticks = 0",
            "`probation-ticks` of 0: write at least 1, and at most 1000000",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\n[replica.a.routine.topic.trial]\nmax-remove = '1%'",
            "unknown key `max-remove`; did you mean `max-removed`?",
        ),
    ];
    refused(cases.map(|(text, expected)| (text.to_owned(), expected)));
}
