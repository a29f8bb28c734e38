use locum_sdk::bench::{Bench, Ran, table};
use locum_sdk::prelude::*;

use super::Topic;

const V1: &str = r#"{"dataVersion":{"counter":1,"timestamp":1796135533544},
    "topicConfigTable":{"orders":{"perm":6,"topicName":"orders"}}}"#;
const V2: &str = r#"{"dataVersion":{"counter":2,"timestamp":1796135533544},
    "topicConfigTable":{"bills":{"perm":4,"topicName":"bills"}}}"#;
const V1_OTHER_ENTRIES: &str = r#"{"dataVersion":{"counter":1,"timestamp":1796135533544},
    "topicConfigTable":{"orders":{"perm":4,"topicName":"orders"}}}"#;
const UNKNOWN: &str = r#"{"topicConfigTable":{"orders":{"perm":6,"topicName":"orders"}}}"#;
const EMPTY: &str = r#"{"topicConfigTable":{}}"#;

fn tick(ours: &str, theirs: &str) -> Ran {
    Bench::new()
        .current(TOPICS, ours)
        .answer(TOPICS, theirs)
        .run::<Topic>()
}

#[track_caller]
fn check_drafted(ran: &Ran, expected: &str) {
    assert_eq!(ran.result, Ok(()));
    let draft = ran.draft(TOPICS).expect("a draft");
    assert!(draft.same(&table(TOPICS, expected)), "{draft:?}");
}

#[test]
fn another_version_is_taken_over_whole() {
    let ran = tick(V1, V2);
    check_drafted(&ran, V2);
    assert!(ran.log.is_empty(), "{:?}", ran.log);
}

#[test]
fn the_same_version_and_topics_change_nothing() {
    let ran = tick(V1, V1);
    assert_eq!(ran.result, Ok(()));
    assert!(ran.draft(TOPICS).is_none());
}

#[test]
fn other_topics_under_the_same_version_are_taken_over_with_a_warning() {
    let ran = tick(V1, V1_OTHER_ENTRIES);
    check_drafted(&ran, V1_OTHER_ENTRIES);
    assert!(ran.logged(Level::Warn, "under the same version"));
}

#[test]
fn an_unknown_version_equals_nothing() {
    check_drafted(&tick(UNKNOWN, UNKNOWN), UNKNOWN);
    check_drafted(&tick(V1, UNKNOWN), UNKNOWN);
}

#[test]
fn the_first_tick_drafts_also_an_empty_table() {
    check_drafted(&Bench::new().answer(TOPICS, EMPTY).run::<Topic>(), EMPTY);
}

#[test]
fn what_was_taken_over_is_the_same_at_the_next_tick() {
    let first = Bench::new().answer(TOPICS, V1).run::<Topic>();
    let second = Bench::after(&first).answer(TOPICS, V1).run::<Topic>();
    assert!(second.draft(TOPICS).is_none());
}

#[test]
fn a_master_that_does_not_answer_fails_the_tick() {
    let ran = Bench::new()
        .refuse(TOPICS, FetchError::TimedOut)
        .run::<Topic>();
    assert_eq!(ran.result, Err(Failure::Fetch(FetchError::TimedOut)));
    assert!(ran.draft(TOPICS).is_none());
}
