//! Files that do what is written into them: what the host's tests put in the place of a good policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use locum::policy::{Failure, FetchError, Memory, Policy, Ran, RunError, Tick};
use locum_tables::{Slot, Table};

use crate::support::{Script, engine, keys, tick, topics};

fn file(deed: &str, with: &str) -> Policy {
    engine().load(components::misbehaving(deed, with)).unwrap()
}

/// A tick as a slot runs it whose operator gives no setting.
async fn run(policy: &Policy, memory: Memory) -> Ran {
    run_with(policy, memory, &BTreeMap::new()).await
}

async fn run_with(policy: &Policy, memory: Memory, given: &BTreeMap<String, String>) -> Ran {
    let names = ["TBW102", "a", "b", "c", "d", "e"];
    let master = Arc::new(Script::new().serving(topics(&names, 1)));
    let settings = policy.settle(Slot::Topic, given).unwrap();
    policy
        .run(Tick {
            settings,
            memory,
            ..tick(Slot::Topic, master)
        })
        .await
}

fn drafted(ran: &Ran) -> Vec<&str> {
    let drafts: &[Table] = &ran.result.as_ref().unwrap().drafts;
    keys(&drafts[0])
}

#[tokio::test]
async fn a_file_needs_no_setting_and_one_goes_before_what_is_written() {
    let mark = file("mark", "own");
    let ran = run(&mark, Memory::new()).await;
    assert_eq!(drafted(&ran), ["TBW102", "a", "b", "c", "d", "e", "own"]);
    let told = BTreeMap::from([("do".to_owned(), "take-over".to_owned())]);
    let ran = run_with(&mark, Memory::new(), &told).await;
    assert_eq!(drafted(&ran), ["TBW102", "a", "b", "c", "d", "e"]);
    assert_ne!(mark.sha256(), file("mark", "other").sha256());
}

#[tokio::test]
async fn a_file_fails_as_it_says() {
    let ran = run(&file("err-invalid", "a bad pattern"), Memory::new()).await;
    let invalid = Failure::Invalid("a bad pattern".to_owned());
    assert_eq!(ran.result.unwrap_err(), RunError::Failure(invalid));
    let ran = run(&file("err-fetch", "nobody answers"), Memory::new()).await;
    let unreachable = Failure::Fetch(FetchError::Unreachable("nobody answers".to_owned()));
    assert_eq!(ran.result.unwrap_err(), RunError::Failure(unreachable));
    let ran = run(&file("trap", ""), Memory::new()).await;
    assert!(matches!(ran.result, Err(RunError::Trap(_))), "{ran:?}");
}

#[tokio::test]
async fn half_of_the_users_topics_and_none_of_the_systems_is_removed() {
    let ran = run(&file("remove-half", ""), Memory::new()).await;
    assert_eq!(drafted(&ran), ["TBW102", "a", "c", "e"]);
}

#[tokio::test]
async fn some_deeds_begin_after_some_ticks() {
    let all = ["TBW102", "a", "b", "c", "d", "e"];
    for deed in [
        "trap-after-ticks",
        "err-after-ticks",
        "remove-half-after-ticks",
    ] {
        let policy = file(deed, "2");
        let mut memory = Memory::new();
        for _ in 0..2 {
            let ran = run(&policy, memory.clone()).await;
            assert_eq!(drafted(&ran), all, "{deed}");
            memory = ran.result.unwrap().memory;
        }
        let third = run(&policy, memory).await;
        match deed {
            "trap-after-ticks" => assert!(matches!(third.result, Err(RunError::Trap(_)))),
            "err-after-ticks" => assert!(matches!(third.result, Err(RunError::Failure(_)))),
            _ => assert_eq!(drafted(&third), ["TBW102", "a", "c", "e"]),
        }
    }
}
