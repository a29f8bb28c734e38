use locum_sdk::bench::{Bench, Ran, table};
use locum_sdk::prelude::*;

use super::Subgroup;

const V1: &str = r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1796135533544},
    "forbiddenTable":{"G_plain":{"T_readonly":4}},
    "subscriptionGroupTable":{"G_plain":{"groupName":"G_plain","retryMaxTimes":16}}}"#;
const V1_OTHER_FORBIDDEN: &str = r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1796135533544},
    "forbiddenTable":{},
    "subscriptionGroupTable":{"G_plain":{"groupName":"G_plain","retryMaxTimes":16}}}"#;
const V1_OTHER_ENTRIES: &str = r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1796135533544},
    "forbiddenTable":{"G_plain":{"T_readonly":4}},
    "subscriptionGroupTable":{"G_plain":{"groupName":"G_plain","retryMaxTimes":3}}}"#;
const V2: &str = r#"{"dataVersion":{"counter":2,"stateVersion":0,"timestamp":1796135533544},
    "forbiddenTable":{},
    "subscriptionGroupTable":{"G_retry":{"groupName":"G_retry","retryMaxTimes":16}}}"#;

fn tick(ours: &str, theirs: &str) -> Ran {
    let bench = Bench::new().current(SUBSCRIPTION_GROUPS, ours);
    bench.answer(SUBSCRIPTION_GROUPS, theirs).run::<Subgroup>()
}

#[track_caller]
fn check_drafted(ran: &Ran, expected: &str) {
    assert_eq!(ran.result, Ok(()));
    let draft = ran.draft(SUBSCRIPTION_GROUPS).expect("a draft");
    assert!(
        draft.same(&table(SUBSCRIPTION_GROUPS, expected)),
        "{draft:?}"
    );
}

#[test]
fn another_version_is_taken_over_whole() {
    check_drafted(&tick(V1, V2), V2);
}

#[test]
fn the_forbidden_table_is_kept() {
    let ran = Bench::new()
        .answer(SUBSCRIPTION_GROUPS, V1)
        .run::<Subgroup>();
    let draft = ran.draft(SUBSCRIPTION_GROUPS).expect("a draft");
    assert_eq!(
        draft.member("forbiddenTable").as_deref(),
        Some(r#"{"G_plain":{"T_readonly":4}}"#)
    );
}

#[test]
fn the_same_version_and_document_change_nothing() {
    let ran = tick(V1, V1);
    assert_eq!(ran.result, Ok(()));
    assert!(ran.draft(SUBSCRIPTION_GROUPS).is_none());
}

#[test]
fn another_forbidden_table_alone_is_taken_over() {
    let ran = tick(V1, V1_OTHER_FORBIDDEN);
    check_drafted(&ran, V1_OTHER_FORBIDDEN);
    assert!(ran.log.is_empty(), "{:?}", ran.log);
}

#[test]
fn other_groups_under_the_same_version_are_taken_over_with_a_warning() {
    let ran = tick(V1, V1_OTHER_ENTRIES);
    check_drafted(&ran, V1_OTHER_ENTRIES);
    assert!(ran.logged(Level::Warn, "under the same version"));
}

#[test]
fn the_first_tick_drafts_also_an_empty_table() {
    let empty = r#"{"subscriptionGroupTable":{}}"#;
    check_drafted(
        &Bench::new()
            .answer(SUBSCRIPTION_GROUPS, empty)
            .run::<Subgroup>(),
        empty,
    );
}

#[test]
fn a_refusal_of_the_master_fails_the_tick() {
    let refused = FetchError::Refused {
        code: 16,
        remark: "no permission".to_owned(),
    };
    let ran = Bench::new()
        .refuse(SUBSCRIPTION_GROUPS, refused.clone())
        .run::<Subgroup>();
    assert_eq!(ran.result, Err(Failure::Fetch(refused)));
}
