//! The policy on the bench: natively, over the host's own tables, with a master that answers what a test says.

use locum_sdk::bench::{Bench, Ran, table};
use locum_sdk::prelude::*;

use super::Policy;

/// What a master answers when it is asked for its topics.
const THEIRS: &str = r#"{
    "dataVersion": {"counter": 3, "stateVersion": 0, "timestamp": 1700000000000},
    "topicConfigTable": {
        "TBW102": {"perm": 7},
        "orders": {"perm": 6},
        "test-orders": {"perm": 6}
    }
}"#;

/// The topics that the replica holds after the tick.
fn kept(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.result, Ok(()));
    let draft = ran.draft(TOPICS).expect("a draft");
    draft.entries().map(|topic| topic.key).collect()
}

#[test]
fn without_a_setting_the_table_is_the_masters() {
    let ran = Bench::new().answer(TOPICS, THEIRS).run::<Policy>();
    assert_eq!(ran.result, Ok(()));
    let draft = ran.draft(TOPICS).expect("a draft");
    assert!(draft.same(&table(TOPICS, THEIRS)), "{draft:?}");
}

#[test]
fn topics_that_begin_so_are_left_out() {
    let bench = Bench::new().answer(TOPICS, THEIRS);
    let ran = bench.setting("leave-out", "test-").run::<Policy>();
    assert_eq!(kept(&ran), ["TBW102", "orders"]);
    assert!(ran.logged(Level::Debug, "1 topics are left out"));
}

#[test]
fn topics_of_rocketmq_itself_always_stay() {
    let bench = Bench::new().answer(TOPICS, THEIRS);
    let ran = bench.setting("leave-out", "").run::<Policy>();
    assert_eq!(kept(&ran), ["TBW102"]);
}

#[test]
fn a_master_that_does_not_answer_fails_the_tick() {
    let bench = Bench::new().refuse(TOPICS, FetchError::TimedOut);
    let ran = bench.run::<Policy>();
    assert_eq!(ran.result, Err(Failure::Fetch(FetchError::TimedOut)));
}
