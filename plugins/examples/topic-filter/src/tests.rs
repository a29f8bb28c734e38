use locum_sdk::bench::{Bench, Ran, table};
use locum_sdk::prelude::*;
use locum_sdk::system;

use super::TopicFilter;

const JAVA_4_9_7: &str = include_str!("../tests/fixtures/4.9.7-seeded-21-topics.json");
const JAVA_5_5_0: &str = include_str!("../tests/fixtures/5.5.0-seeded-21-topics.json");

fn tick(keep: &str, theirs: &str) -> Ran {
    Bench::new()
        .setting("keep", keep)
        .answer(TOPICS, theirs)
        .run::<TopicFilter>()
}

/// The topics in the draft that are not the system's.
fn kept(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.result, Ok(()));
    let draft = ran.draft(TOPICS).expect("a draft");
    draft
        .entries()
        .filter(|topic| !system::is_topic(&topic.key, &topic.value))
        .map(|topic| topic.key)
        .collect()
}

#[test]
fn topics_that_match_are_kept() {
    for theirs in [JAVA_4_9_7, JAVA_5_5_0] {
        assert_eq!(kept(&tick("T_one", theirs)), ["T_one"]);
        assert_eq!(
            kept(&tick("T_o*, %RETRY%*", theirs)),
            ["%RETRY%G_plain", "T_one", "T_order"]
        );
        assert_eq!(kept(&tick("T_o?e", theirs)), ["T_one"]);
        assert_eq!(kept(&tick("T_on", theirs)), [""; 0]);
    }
}

#[test]
fn everything_kept_is_the_masters_table() {
    let ran = tick("*", JAVA_5_5_0);
    assert!(
        ran.draft(TOPICS)
            .is_some_and(|draft| draft.same(&table(TOPICS, JAVA_5_5_0)))
    );
}

#[test]
fn the_systems_topics_are_always_kept() {
    for (theirs, count) in [(JAVA_4_9_7, 8), (JAVA_5_5_0, 15)] {
        let ran = tick("no-such-topic", theirs);
        let draft = ran.draft(TOPICS).expect("a draft");
        assert_eq!(draft.len(), count);
        for topic in [
            "C1",
            "broker-a",
            "TBW102",
            "SCHEDULE_TOPIC_XXXX",
            "C1_REPLY_TOPIC",
        ] {
            assert!(draft.get(topic).is_some(), "{topic}");
        }
    }
}

#[test]
fn version_and_values_are_the_masters() {
    let ran = tick("T_order", JAVA_5_5_0);
    let (draft, master) = (
        ran.draft(TOPICS).expect("a draft"),
        table(TOPICS, JAVA_5_5_0),
    );
    assert!(draft.same_version(&master));
    assert_eq!(draft.get("T_order"), master.get("T_order"));
}

#[test]
fn what_no_longer_matches_leaves_and_the_same_setting_gives_the_same_draft() {
    let first = tick("T_*", JAVA_4_9_7);
    let again = Bench::after(&first)
        .setting("keep", "T_*")
        .answer(TOPICS, JAVA_4_9_7)
        .run::<TopicFilter>();
    assert!(
        again
            .draft(TOPICS)
            .is_some_and(|draft| draft.same(first.draft(TOPICS).expect("a draft")))
    );
    let fewer = Bench::after(&again)
        .setting("keep", "T_wide")
        .answer(TOPICS, JAVA_4_9_7)
        .run::<TopicFilter>();
    assert_eq!(kept(&fewer), ["T_wide"]);
}

#[test]
fn a_setting_without_a_pattern_fails_the_tick() {
    let ran = tick(" , ", JAVA_4_9_7);
    assert!(
        matches!(ran.result, Err(Failure::Invalid(_))),
        "{:?}",
        ran.result
    );
    assert!(ran.draft(TOPICS).is_none());
}

#[test]
#[should_panic(expected = "setting `keep` is required")]
fn the_setting_is_required() {
    let _ = Bench::new().answer(TOPICS, JAVA_4_9_7).run::<TopicFilter>();
}
