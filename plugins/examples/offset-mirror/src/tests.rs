use locum_sdk::bench::{Bench, Ran, table};
use locum_sdk::prelude::*;

use super::OffsetMirror;

#[track_caller]
fn check_drafted(ran: &Ran, expected: &str) {
    assert_eq!(ran.result, Ok(()));
    let draft = ran.draft(CONSUMER_OFFSETS).expect("a draft");
    assert!(draft.same(&table(CONSUMER_OFFSETS, expected)), "{draft:?}");
}

#[test]
fn what_the_master_deleted_leaves_and_what_it_changed_changes() {
    let ours = r#"{"offsetTable":{"T1@G1":{"0":5,"1":6},"T2@G1":{"0":7}}}"#;
    let theirs = r#"{"offsetTable":{"T1@G1":{0:9}}}"#;
    let bench = Bench::new()
        .current(CONSUMER_OFFSETS, ours)
        .answer(CONSUMER_OFFSETS, theirs);
    check_drafted(
        &bench.run::<OffsetMirror>(),
        r#"{"offsetTable":{"T1@G1":{"0":9}}}"#,
    );
}

#[test]
fn the_first_tick_drafts_also_an_empty_table() {
    let empty = r#"{"offsetTable":{}}"#;
    check_drafted(
        &Bench::new()
            .answer(CONSUMER_OFFSETS, empty)
            .run::<OffsetMirror>(),
        empty,
    );
}

#[test]
fn a_malformed_answer_fails_the_tick() {
    let malformed = FetchError::Malformed("no member offsetTable".to_owned());
    let ran = Bench::new()
        .refuse(CONSUMER_OFFSETS, malformed.clone())
        .run::<OffsetMirror>();
    assert_eq!(ran.result, Err(Failure::Fetch(malformed)));
}
