use super::*;
use crate::{ReadLimits, TOPICS};

fn topics(body: &str) -> Table {
    Table::from_answer(&TOPICS, body.as_bytes(), &ReadLimits::default()).unwrap()
}

#[test]
fn names_what_came_went_and_changed() {
    let old = topics(
        r#"{"dataVersion":{"counter":1,"timestamp":1},"kept":{"p":1,"q":2},"lost":1,"topicConfigTable":{"a":{},"b":{"x":1,"y":2},"c":{"x":1},"e":{}}}"#,
    );
    let new = topics(
        r#"{"came":1,"kept":{"q":2,"p":1},"topicConfigTable":{"b":{"y":2,"x":1},"c":{"x":2},"d":{},"e":{}}}"#,
    );
    let found = difference(Some(&old), &new);
    let expected = Difference {
        first: false,
        added: vec!["d".into()],
        removed: vec!["a".into()],
        changed: vec!["c".into()],
        version: Some((old.version(), None)),
        members: vec!["came".into(), "lost".into()],
    };
    assert_eq!(found, expected);
    assert!(!found.is_same());
}

#[test]
fn nothing_differs_between_equal_tables() {
    let old = topics(r#"{"topicConfigTable":{"a":{"x":1,"y":2}}}"#);
    let new = topics(r#"{"topicConfigTable":{"a":{"y":2,"x":1}}}"#);
    assert!(difference(Some(&old), &new).is_same());
    assert!(difference(Some(&old), &old.clone()).is_same());
}

#[test]
fn a_first_table_is_never_the_same_even_when_it_is_empty() {
    let empty = Table::empty(&TOPICS);
    let found = difference(None, &empty);
    assert!(found.first && !found.is_same());
    assert!(difference(Some(&empty), &empty).is_same());
    let found = difference(None, &topics(r#"{"topicConfigTable":{"a":{}}}"#));
    assert_eq!(found.added, ["a"]);
}
