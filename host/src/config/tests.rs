use super::*;

/// Files of keys.
mod acl;
/// How the master is found.
mod lookup;
/// Limits and trials of slots.
mod slots;

const WHOLE: &str = r#"
[host]
state-directory = "state"

[plugins]
directory = "plugins"
quiet-period = "100ms"

[replica.broker-a]
directory = "broker-a/config"
master = "127.0.0.1:10911"
own-address = "127.0.0.1:20911"
role = "master"
first-delay = "0s"
period = "1m 30s"
request-timeout = "5s"
frame-limit = "64MiB"
file-mode = "0640"

[replica.broker-a.routine.offset]
plugin = "examples/offset-mirror.wasm"
period = "1s"
settings = { keep = "a*", limit = 3, share = 0.5, loud = true }
"#;

fn read(text: &str) -> Result<Config, String> {
    Config::from_toml(text, Path::new("/etc/locum/locum.toml")).map_err(|error| error.to_string())
}

#[test]
fn every_key_of_the_interface_is_read() {
    let config = read(WHOLE).unwrap();
    assert_eq!(config.state_directory, Path::new("/etc/locum/state"));
    assert_eq!(config.plugins.directory, Path::new("/etc/locum/plugins"));
    assert_eq!(config.plugins.quiet_period, Duration::from_millis(100));
    let replica = &config.replicas["broker-a"];
    assert_eq!(replica.directory, Path::new("/etc/locum/broker-a/config"));
    assert_eq!(replica.role, Role::Master);
    assert_eq!(replica.first_delay, Duration::ZERO);
    assert_eq!(replica.frame_limit, 64 << 20);
    assert_eq!(replica.file_mode, 0o640);
    assert_eq!(
        replica.period(Slot::Topic),
        Period::named(Duration::from_secs(90))
    );
    assert_eq!(
        replica.period(Slot::Offset),
        Period::named(Duration::from_secs(1))
    );
    assert_eq!(
        replica.plugin(Slot::Offset),
        Path::new("examples/offset-mirror.wasm")
    );
    assert_eq!(replica.plugin(Slot::Topic), Path::new("topic.wasm"));
    let texts = [
        ("keep", "a*"),
        ("limit", "3"),
        ("loud", "true"),
        ("share", "0.5"),
    ];
    assert_eq!(
        replica.settings(Slot::Offset),
        texts.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    );
}

#[test]
fn the_defaults_are_the_reference_schedule() {
    let config = read("[replica.a]\ndirectory = 'a'\nmaster = 'm:10911'").unwrap();
    let replica = &config.replicas["a"];
    assert_eq!(replica.first_delay, Duration::from_secs(3));
    assert_eq!(
        replica.period(Slot::Delay),
        Period {
            every: Duration::from_secs(10),
            named: false
        }
    );
    assert_eq!((replica.role, replica.file_mode), (Role::Slave, 0o644));
}

#[test]
fn a_bad_configuration_says_what_where_and_what_to_do() {
    let cases = [
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\nperoid = '1s'",
            "locum.toml:4:1: unknown key `peroid`; did you mean `period`?",
        ),
        (
            "[hots]",
            "locum.toml:1:2: unknown key `hots`; did you mean `host`?",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\n[replica.a.routine.ofset]",
            "4:20: unknown key `ofset`; did you mean `offset`?",
        ),
        (
            "[replica.a]\ndirectory = 'a'",
            "no master is named: write `master",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\nperiod = '10 parsecs'",
            "4:10: `10 parsecs` is not a duration",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\nperiod = '1ms'",
            "`period` of 1ms: write at least 10ms, and at most a year",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\nframe-limit = '3 elephants'",
            "is not a size",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\nfile-mode = '0044'",
            "is not a file mode",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\nrole = 'leader'",
            "unknown variant `leader`",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'localhost'",
            "write \"host:port\"",
        ),
        (
            "[replica.'../a']\ndirectory = 'a'\nmaster = 'm:1'",
            "replica name `../a`",
        ),
        (
            "[replica.a]\ndirectory = 'd'\nmaster = 'm:1'\n[replica.b]\ndirectory = 'd'\nmaster = 'm:1'",
            "share the directory",
        ),
        (
            "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\n[replica.a.routine.topic.settings]\nx = [1]",
            "setting `x` is of type array",
        ),
    ];
    refused(cases.map(|(text, expected)| (text.to_owned(), expected)));
}

fn refused<const N: usize>(cases: [(String, &str); N]) {
    for (text, expected) in cases {
        let error = read(&text).unwrap_err();
        assert!(
            error.contains(expected),
            "{text}\n  said: {error}\n  want: {expected}"
        );
    }
}

#[test]
fn a_slip_of_the_pen_is_refused_before_it_does_harm() {
    let replica = |more: &str| format!("[replica.a]\ndirectory = 'a'\nmaster = 'm:1'\n{more}");
    let more = [
        ("first-delay = '9999999h'", "`first-delay` of"),
        (
            "request-timeout = '0s'",
            "`request-timeout` of 0ns: write at least 10ms",
        ),
        ("frame-limit = '0'", "`frame-limit`: at least 1024 bytes"),
        (
            "[plugins]\ncheck-period = '0s'",
            "`check-period` of 0ns: write at least 1s",
        ),
        (
            "[replica.b]\ndirectory = ''\nmaster = 'm:1'",
            "`directory` is empty",
        ),
        (
            "[replica.b]\ndirectory = './a/'\nmaster = 'm:1'",
            "share the directory",
        ),
        (
            "[replica.b]\ndirectory = 'state'\nmaster = 'm:1'",
            "has the state directory",
        ),
        (
            "[replica.a.routine.topic]\nplugin = '../x.wasm'",
            "without `..`",
        ),
        (
            "[replica.a.routine.topic]\nplugin = '/x.wasm'",
            "relative to the plugin directory",
        ),
    ]
    .map(|(more, expected)| (replica(more), expected));
    refused(more);
    let name = "x".repeat(101);
    let long = format!("[replica.{name}]\ndirectory = 'a'\nmaster = 'm:1'");
    refused([(long, "use up to 100")]);
}

#[test]
fn a_configuration_in_the_current_folder_needs_no_folder() {
    let text = "[replica.a]\ndirectory = 'a'\nmaster = 'm:1'";
    let config = Config::from_toml(text, Path::new("locum.toml")).unwrap();
    let here = std::env::current_dir().unwrap();
    assert_eq!(config.replicas["a"].directory, here.join("a"));
    assert_eq!(config.state_directory, here.join("state"));
}
