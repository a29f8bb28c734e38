use locum_sdk::bench::{Bench, Ran, table};
use locum_sdk::prelude::*;

use super::Offset;

#[track_caller]
fn check_drafted(ran: &Ran, expected: &str) {
    assert_eq!(ran.result, Ok(()));
    let draft = ran.draft(CONSUMER_OFFSETS).expect("a draft");
    assert!(draft.same(&table(CONSUMER_OFFSETS, expected)), "{draft:?}");
}

#[test]
fn what_the_master_has_is_put_into_ours_and_nothing_leaves() {
    let ours = r#"{"offsetTable":{"T1@G1":{"0":5,"1":6},"T2@G1":{"0":7}}}"#;
    let theirs = r#"{"offsetTable":{"T1@G1":{0:9},"T3@G1":{0:9007199254740993}}}"#;
    let ran = Bench::new()
        .current(CONSUMER_OFFSETS, ours)
        .answer(CONSUMER_OFFSETS, theirs)
        .run::<Offset>();
    // As Java's putAll: the whole of a topic@group is replaced, also where it has fewer queues.
    check_drafted(
        &ran,
        r#"{"offsetTable":{"T1@G1":{"0":9},"T2@G1":{"0":7},"T3@G1":{"0":9007199254740993}}}"#,
    );
}

#[test]
fn version_and_other_members_are_the_masters() {
    let ours = r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":5},"offsetTable":{"T@G":{"0":1}}}"#;
    let theirs = r#"{"dataVersion":{"counter":2,"stateVersion":0,"timestamp":5},"offsetTable":{},
        "pullOffsetTable":{"T@G":{0:3}}}"#;
    let ran = Bench::new()
        .current(CONSUMER_OFFSETS, ours)
        .answer(CONSUMER_OFFSETS, theirs)
        .run::<Offset>();
    let draft = ran.draft(CONSUMER_OFFSETS).expect("a draft");
    assert_eq!(draft.version().map(|version| version.counter), Some(2));
    assert_eq!(
        draft.member("pullOffsetTable").as_deref(),
        Some(r#"{"T@G":{"0":3}}"#)
    );
    assert_eq!(draft.get("T@G").as_deref(), Some(r#"{"0":1}"#));
}

#[test]
fn offsets_under_the_same_version_are_never_skipped() {
    let document = |offset: u32| {
        format!(
            r#"{{"dataVersion":{{"counter":1,"timestamp":5}},"offsetTable":{{"T@G":{{"0":{offset}}}}}}}"#
        )
    };
    let bench = Bench::new().current(CONSUMER_OFFSETS, &document(1));
    check_drafted(
        &bench.answer(CONSUMER_OFFSETS, &document(2)).run::<Offset>(),
        &document(2),
    );
}

#[test]
fn the_first_tick_drafts_also_an_empty_table() {
    let empty = r#"{"offsetTable":{}}"#;
    check_drafted(
        &Bench::new().answer(CONSUMER_OFFSETS, empty).run::<Offset>(),
        empty,
    );
}

#[test]
fn an_unreachable_master_fails_the_tick() {
    let unreachable = FetchError::Unreachable("connection refused".to_owned());
    let ran = Bench::new()
        .refuse(CONSUMER_OFFSETS, unreachable.clone())
        .run::<Offset>();
    assert_eq!(ran.result, Err(Failure::Fetch(unreachable)));
}
