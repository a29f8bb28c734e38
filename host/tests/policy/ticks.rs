//! Ticks of good and bad policies, each on its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use locum::policy::{Failure, FetchError, Limits, Policy, RunError, Tick};
use locum_tables::{CONSUMER_OFFSETS, DELAY_OFFSETS, SUBSCRIPTION_GROUPS, Slot, TOPICS, Table};
use tracing_subscriber::layer::SubscriberExt;

use crate::support::{
    Lines, Script, answer, chain, deed, engine, keys, misbehave, run, tick, topics,
};

fn load(name: &str) -> Policy {
    engine().load(policies::all().bytes(name)).unwrap()
}

async fn only_draft(policy: &Policy, tick: Tick) -> Table {
    let mut drafts = policy.run(tick).await.result.unwrap().drafts;
    assert_eq!(drafts.len(), 1);
    drafts.remove(0)
}

#[tokio::test]
async fn the_four_policies_draft_what_the_master_answers() {
    let tables = [
        ("topic", Slot::Topic, topics(&["a", "b"], 7)),
        (
            "offset",
            Slot::Offset,
            answer(&CONSUMER_OFFSETS, r#"{"offsetTable":{"a@g":{0:5,1:6}}}"#),
        ),
        (
            "delay",
            Slot::Delay,
            answer(&DELAY_OFFSETS, r#"{"offsetTable":{1:10,2:20}}"#),
        ),
        (
            "subgroup",
            Slot::Subgroup,
            answer(
                &SUBSCRIPTION_GROUPS,
                r#"{"subscriptionGroupTable":{"g":{"groupName":"g"}},"dataVersion":{"timestamp":1,"counter":2}}"#,
            ),
        ),
    ];
    for (name, slot, table) in tables {
        let master = Arc::new(Script::new().serving(table.clone()));
        let draft = only_draft(&load(name), tick(slot, master.clone())).await;
        assert!(draft.same(&table), "{name}: {:?}", keys(&draft));
        assert_eq!(master.asked(), [table.kind().name]);
    }
}

#[tokio::test]
async fn a_policy_sees_the_current_tables_and_drafts_on_top_of_them() {
    let ours = topics(&["a", "ours"], 7);
    let master = Arc::new(Script::new().serving(ours.clone()));
    let current = BTreeMap::from([(TOPICS.name, ours.clone())]);
    let same = Tick {
        current: current.clone(),
        ..tick(Slot::Topic, master.clone())
    };
    let done = load("topic").run(same).await.result.unwrap();
    assert!(
        done.drafts.is_empty(),
        "nothing differs, nothing is drafted"
    );

    let edit = Tick {
        current,
        settings: deed("edit-only", ""),
        ..tick(Slot::Topic, master)
    };
    assert!(
        only_draft(misbehave(), edit).await.same(&ours),
        "a draft starts as the current table"
    );
}

#[tokio::test]
async fn a_trap_ends_one_tick_and_no_other() {
    let master = Arc::new(Script::new().serving(topics(&["a"], 1)));
    let numbered = |number| Tick {
        number,
        settings: deed("trap-at-tick", "1"),
        ..tick(Slot::Topic, master.clone())
    };
    let first = misbehave().run(numbered(1)).await.result.unwrap_err();
    let RunError::Trap(report) = &first else {
        panic!("{first:?}")
    };
    assert_eq!(report.reason, "wasm `unreachable` instruction executed");
    assert_eq!(report.panic, None, "it did not panic");
    let second = misbehave().run(numbered(2)).await.result.unwrap();
    assert_eq!(second.drafts.len(), 1);
}

#[tokio::test]
async fn a_panic_reports_its_text_and_its_place() {
    let error = run("panic", "the offset of queue 7 fell", Limits::default())
        .await
        .result
        .unwrap_err();
    let text = chain(&error);
    assert!(
        text.starts_with("the policy trapped: panicked at "),
        "{text}"
    );
    assert!(
        text.contains("deeds.rs:") && text.ends_with(": the offset of queue 7 fell"),
        "{text}"
    );
    let RunError::Trap(report) = error else {
        panic!("{error:?}")
    };
    assert!(
        report
            .frames
            .iter()
            .any(|frame| frame.contains("misbehave.wasm!")),
        "{report:?}"
    );
    assert!(
        report
            .frames
            .iter()
            .any(|frame| frame.contains("panicking::panic_fmt")),
        "demangled: {report:?}"
    );
}

#[tokio::test]
async fn a_panic_of_1_mib_is_reported_in_part() {
    let error = run("panic-long", "209716", Limits::default())
        .await
        .result
        .unwrap_err();
    let RunError::Trap(report) = error else {
        panic!("{error:?}")
    };
    let panic = report.panic.unwrap();
    assert!(
        panic.starts_with("panicked at ") && panic.contains("long long long"),
        "{panic}"
    );
    assert!(panic.len() < 10_000, "{} bytes", panic.len());
}

#[tokio::test]
async fn a_recursion_without_end_is_a_trap_with_bounded_frames() {
    let error = run("recurse", "", Limits::default())
        .await
        .result
        .unwrap_err();
    let RunError::Trap(report) = error else {
        panic!("{error:?}")
    };
    assert!(report.frames.len() <= 32, "{}", report.frames.len());
    assert!(report.frames.iter().all(|frame| frame.len() < 400));
}

#[tokio::test]
async fn a_failure_is_told_in_the_policy_s_own_words() {
    let invalid = run("err-invalid", "no such master", Limits::default())
        .await
        .result
        .unwrap_err();
    assert_eq!(
        invalid,
        RunError::Failure(Failure::Invalid("no such master".to_owned()))
    );
    assert_eq!(
        chain(&invalid),
        "the policy gave up the tick: no such master"
    );
    let edited = run("err-after-edit", "", Limits::default()).await.result;
    assert!(edited.is_err(), "its drafts are gone: {edited:?}");
}

#[tokio::test]
async fn each_fetch_error_comes_through_the_policy_unchanged() {
    let errors = [
        FetchError::NotServed,
        FetchError::NothingThere("no offsets".to_owned()),
        FetchError::Unreachable("connection refused".to_owned()),
        FetchError::TimedOut,
        FetchError::Refused {
            code: 1,
            remark: "system busy".to_owned(),
        },
        FetchError::TooLarge {
            size: 300,
            limit: 256,
        },
        FetchError::Malformed("at byte 7".to_owned()),
        FetchError::NotSigned("the file is empty".to_owned()),
        FetchError::Other("else".to_owned()),
    ];
    for error in errors {
        let master = Arc::new(Script::new().failing(&TOPICS, error.clone()));
        let tick = Tick {
            settings: deed("take-over", ""),
            ..tick(Slot::Topic, master)
        };
        let ran = misbehave().run(tick).await;
        assert_eq!(
            ran.result.unwrap_err(),
            RunError::Failure(Failure::Fetch(error))
        );
        assert_eq!(ran.spent.fetches, 1);
    }
}

#[tokio::test]
async fn a_fetch_error_that_a_policy_swallows_is_told() {
    let master = Arc::new(Script::new().failing(&TOPICS, FetchError::TimedOut));
    let tick = Tick {
        settings: deed("swallow-fetch-error", ""),
        ..tick(Slot::Topic, master)
    };
    let done = misbehave().run(tick).await.result.unwrap();
    let failed: Vec<_> = done
        .failed_fetches
        .iter()
        .map(|(kind, error)| (kind.name, error.clone()))
        .collect();
    assert_eq!(failed, [("topics", FetchError::TimedOut)]);
    assert_eq!(done.drafts.len(), 1);
}

#[tokio::test]
async fn what_a_policy_remembers_comes_back() {
    let master = Arc::new(Script::new());
    let first = Tick {
        settings: deed("count", ""),
        ..tick(Slot::Topic, master)
    };
    let memory = misbehave().run(first).await.result.unwrap().memory;
    assert_eq!(memory["ticks"], b"1");
    let master = Arc::new(Script::new());
    let second = Tick {
        settings: deed("count", ""),
        memory,
        ..tick(Slot::Topic, master)
    };
    assert_eq!(
        misbehave().run(second).await.result.unwrap().memory["ticks"],
        b"2"
    );
}

#[tokio::test]
async fn writes_that_are_refused_are_told_to_the_policy() {
    for (name, with) in [("bad-key", ""), ("bad-value", "{no json")] {
        let error = run(name, with, Limits::default()).await.result.unwrap_err();
        assert!(matches!(error, RunError::Failure(_)), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn nothing_of_an_old_policy_runs_after_the_exchange() {
    let guest = |name| engine().load(components::guests().bytes(name)).unwrap();
    let master = Arc::new(Script::new().serving(topics(&["a"], 1)));
    let mut live = guest("marker-v1");
    let first = only_draft(&live, tick(Slot::Topic, master.clone())).await;
    assert_eq!(keys(&first), ["a", "marker-v1"]);
    let old = live.sha256().to_owned();
    live = guest("marker-v2");
    let second = only_draft(&live, tick(Slot::Topic, master)).await;
    assert_eq!(keys(&second), ["a", "marker-v2"]);
    assert_ne!(live.sha256(), old);
}

#[tokio::test]
async fn the_guest_s_lines_reach_the_host_s_log_under_its_name() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::registry().with(lines.clone());
    let _lines = tracing::subscriber::set_default(subscriber);
    let limits = Limits {
        log_lines: 2,
        ..Limits::default()
    };
    run("log-flood", "5", limits).await.result.unwrap();
    let sha256 = engine().load(components::guests().bytes("misbehave"));
    let policy = format!("misbehave {:.8}", sha256.unwrap().sha256());
    let line = |level: &str, message: &str| {
        let fields = [
            ("level", level),
            ("message", message),
            ("policy", policy.as_str()),
            ("replica", "broker-a"),
            ("routine", "topic"),
        ];
        fields
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    };
    let expected: [BTreeMap<String, String>; 3] = [
        line("INFO", "line 0"),
        line("INFO", "line 1"),
        line(
            "WARN",
            "the policy logs too much, over the limit `log-lines` of 2; further lines of this tick are dropped",
        ),
    ];
    assert_eq!(lines.all(), expected);
}
