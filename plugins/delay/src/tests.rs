use locum_sdk::bench::{Bench, Ran, table};
use locum_sdk::prelude::*;

use super::Delay;

#[track_caller]
fn check_drafted(ran: &Ran, expected: &str) {
    assert_eq!(ran.result, Ok(()));
    let draft = ran.draft(DELAY_OFFSETS).expect("a draft");
    assert!(draft.same(&table(DELAY_OFFSETS, expected)), "{draft:?}");
}

#[test]
fn what_came_is_what_the_replica_holds() {
    let ours = r#"{"offsetTable":{"1":5,"2":6}}"#;
    let theirs =
        r#"{"dataVersion":{"counter":0,"stateVersion":0,"timestamp":5},"offsetTable":{1:7,18:3}}"#;
    let ran = Bench::new()
        .current(DELAY_OFFSETS, ours)
        .answer(DELAY_OFFSETS, theirs)
        .run::<Delay>();
    check_drafted(&ran, theirs);
}

#[test]
fn offsets_under_the_same_version_are_never_skipped() {
    let document = |offset: u32| {
        format!(r#"{{"dataVersion":{{"counter":0,"timestamp":5}},"offsetTable":{{"1":{offset}}}}}"#)
    };
    let bench = Bench::new().current(DELAY_OFFSETS, &document(1));
    check_drafted(
        &bench.answer(DELAY_OFFSETS, &document(2)).run::<Delay>(),
        &document(2),
    );
}

#[test]
fn the_first_tick_drafts_also_an_empty_table() {
    let empty = r#"{"offsetTable":{}}"#;
    check_drafted(
        &Bench::new().answer(DELAY_OFFSETS, empty).run::<Delay>(),
        empty,
    );
}

#[test]
fn a_master_that_has_nothing_there_fails_the_tick_and_drafts_nothing() {
    let nothing = FetchError::NothingThere("No delay offset in this broker".to_owned());
    let ran = Bench::new()
        .refuse(DELAY_OFFSETS, nothing.clone())
        .run::<Delay>();
    assert_eq!(ran.result, Err(Failure::Fetch(nothing)));
    assert!(ran.draft(DELAY_OFFSETS).is_none());
}
