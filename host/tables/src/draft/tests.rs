use super::*;
use crate::{CONSUMER_OFFSETS, DELAY_OFFSETS, ReadLimits, TOPICS};

fn table(body: &str) -> Table {
    Table::from_answer(&CONSUMER_OFFSETS, body.as_bytes(), &ReadLimits::default()).unwrap()
}

fn base() -> Table {
    table(
        r#"{"dataVersion":{"counter":1,"timestamp":1},"x":1,"offsetTable":{"A@G":{0:1},"B@G":{0:2},"C@G":{0:3}}}"#,
    )
}

fn draft() -> Draft {
    Draft::new(&CONSUMER_OFFSETS, Some(base()), DraftLimits::default())
}

fn entries(draft: &Draft) -> Vec<(String, String)> {
    let table = draft.snapshot();
    let owned = |entry: Entry<'_>| (entry.key.to_owned(), entry.value.to_owned());
    table.entries().map(owned).collect()
}

fn packed(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut page = Vec::new();
    for (key, value) in entries {
        page.extend(u32::try_from(key.len()).unwrap().to_le_bytes());
        page.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
        page.extend_from_slice(key.as_bytes());
        page.extend_from_slice(value.as_bytes());
    }
    page
}

#[test]
fn an_untouched_draft_is_its_base() {
    let base = base();
    let draft = Draft::new(
        &CONSUMER_OFFSETS,
        Some(base.clone()),
        DraftLimits::default(),
    );
    assert!(draft.snapshot().same(&base) && draft.snapshot().shares_entries(&base));
    let draft = Draft::new(&CONSUMER_OFFSETS, None, DraftLimits::default());
    assert!(draft.snapshot().same(&Table::empty(&CONSUMER_OFFSETS)));
    assert_eq!(draft.kind(), &CONSUMER_OFFSETS);
}

#[test]
fn puts_and_removes() {
    let mut draft = draft();
    draft.put("B@G", "{ 0 : 9 }").unwrap();
    draft.put("D@G", "{}").unwrap();
    draft.put("E@G", "{}").unwrap();
    assert!(draft.remove("A@G") && !draft.remove("A@G"));
    assert!(draft.remove("E@G") && !draft.remove("E@G"));
    assert!(!draft.remove("Z@G"));
    let table = draft.snapshot();
    let expected = [("B@G", r#"{"0":9}"#), ("C@G", r#"{"0":3}"#), ("D@G", "{}")];
    assert!(
        entries(&draft)
            .iter()
            .map(|(key, value)| (&**key, &**value))
            .eq(expected)
    );
    assert_eq!(table.version(), base().version());
    assert_eq!(table.member("x"), Some("1"));
    draft.put("A@G", "{}").unwrap();
    assert_eq!(draft.snapshot().get("A@G"), Some("{}"));
}

#[test]
fn a_snapshot_does_not_move() {
    let mut draft = draft();
    draft.put("D@G", "{}").unwrap();
    let before = draft.snapshot();
    draft.remove("D@G");
    assert!(before.get("D@G").is_some() && draft.snapshot().get("D@G").is_none());
}

#[test]
fn refuses_a_wrong_key_or_value_and_nothing_of_the_write_happens() {
    let mut draft = draft();
    let key = |result| matches!(result, Err(DraftError::InvalidKey(_)));
    let value = |result| matches!(result, Err(DraftError::InvalidValue(_)));
    assert!(key(draft.put("", "{}")));
    assert!(key(draft.put("A", "{}")));
    assert!(key(draft.put(&format!("{}@G", "x".repeat(65 << 10)), "{}")));
    for text in [
        "",
        "{",
        "7",
        "[]",
        "null",
        "{0:a}",
        "{0:1.5}",
        "{a:1}",
        "{} {}",
        r#"{"0":"1"}"#,
    ] {
        assert!(value(draft.put("A@G", text)), "{text}");
    }
    assert!(value(
        draft.put_packed(&packed(&[("D@G", "{}"), ("E@G", "x")]))
    ));
    let mut page = packed(&[("D@G", "{}")]);
    page.push(0);
    assert_eq!(
        draft.put_packed(&page),
        Err(DraftError::MalformedPage(
            "the page ends inside the entry at byte 13".into()
        ))
    );
    assert!(matches!(
        draft.remove_packed(&[1, 0, 0, 0]),
        Err(DraftError::MalformedPage(_))
    ));
    assert!(draft.snapshot().same(&base()));
}

#[test]
fn puts_a_page_and_removes_a_list() {
    let mut draft = draft();
    draft
        .put_packed(&packed(&[
            ("D@G", "{}"),
            ("A@G", "{5:5}"),
            ("D@G", "{6:6}"),
        ]))
        .unwrap();
    assert_eq!(draft.snapshot().get("D@G"), Some(r#"{"6":6}"#));
    assert_eq!(draft.snapshot().len(), 4);
    let keys = draft.snapshot().keys_packed(Some("A@G"), 2, 1000);
    assert_eq!(draft.remove_packed(&keys), Ok(2));
    assert_eq!(draft.remove_packed(&keys), Ok(0));
    assert_eq!(draft.snapshot().len(), 2);
}

#[test]
fn replace_takes_everything_over_without_a_copy() {
    let source = table(r#"{"y":2,"offsetTable":{"Z@G":{}}}"#);
    let mut draft = draft();
    draft.put("D@G", "{}").unwrap();
    draft.replace(&source).unwrap();
    let table = draft.snapshot();
    assert!(table.same(&source) && table.shares_entries(&source));
    draft.remove("Z@G");
    assert!(draft.snapshot().is_empty() && source.len() == 1);
}

#[test]
fn merge_keeps_entries_that_are_only_here() {
    let source = table(r#"{"y":2,"offsetTable":{"B@G":{7:7},"Z@G":{}}}"#);
    let mut draft = draft();
    draft.put("D@G", "{}").unwrap();
    draft.remove("A@G");
    draft.merge(&source).unwrap();
    let expected = [
        ("B@G", r#"{"7":7}"#),
        ("C@G", r#"{"0":3}"#),
        ("D@G", "{}"),
        ("Z@G", "{}"),
    ];
    assert!(
        entries(&draft)
            .iter()
            .map(|(key, value)| (&**key, &**value))
            .eq(expected)
    );
    let table = draft.snapshot();
    assert_eq!(
        (table.version(), table.member("x"), table.member("y")),
        (None, None, Some("2"))
    );
}

#[test]
fn merge_of_a_source_that_covers_all_keys_copies_nothing() {
    let source = table(r#"{"offsetTable":{"A@G":{},"B@G":{},"C@G":{},"D@G":{}}}"#);
    let mut draft = draft();
    draft.merge(&source).unwrap();
    assert!(draft.snapshot().shares_entries(&source));
    draft.remove("D@G");
    draft.merge(&source).unwrap();
    assert!(draft.snapshot().shares_entries(&source));
}

#[test]
fn states_another_version() {
    let mut draft = draft();
    draft.set_version(None);
    assert_eq!(draft.snapshot().version(), None);
    draft.set_version(base().version());
    assert!(draft.snapshot().same(&base()));
}

#[test]
fn refuses_a_source_of_another_kind() {
    let other = Table::empty(&DELAY_OFFSETS);
    let mut draft = draft();
    assert!(matches!(draft.replace(&other), Err(DraftError::Other(_))));
    assert!(matches!(draft.merge(&other), Err(DraftError::Other(_))));
    assert!(draft.snapshot().same(&base()));
}

#[test]
fn keeps_its_limits() {
    let limits = DraftLimits {
        value_bytes: 9,
        entries: 4,
        bytes: 50,
        ..DraftLimits::default()
    };
    let too_large = |result: Result<(), DraftError>, name: &str| {
        assert!(
            matches!(result, Err(DraftError::TooLarge(text)) if text.starts_with(name)),
            "{name}"
        );
    };
    let mut draft = Draft::new(&CONSUMER_OFFSETS, Some(base()), limits);
    too_large(draft.put("A@G", "{0:1,1:22}"), "value-bytes");
    too_large(
        draft.put_packed(&packed(&[("D@G", "{}"), ("E@G", "{}")])),
        "entries",
    );
    too_large(draft.put(&format!("{}@G", "x".repeat(30)), "{}"), "bytes");
    draft
        .put_packed(&packed(&[("D@G", "{}"), ("D@G", "{0:1}"), ("A@G", "{}")]))
        .unwrap();
    too_large(draft.put("E@G", "{}"), "entries");
    draft.remove("A@G");
    draft.put("E@G", "{}").unwrap();
    too_large(draft.merge(&base()), "entries");
    let many = table(r#"{"offsetTable":{"1@":{},"2@":{},"3@":{},"4@":{},"5@":{}}}"#);
    too_large(draft.replace(&many), "entries");
    assert_eq!(draft.snapshot().len(), 4);
}

#[test]
fn whatever_a_draft_takes_can_be_read_from_its_file() {
    let value = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let mut draft = Draft::new(&TOPICS, None, DraftLimits::default());
    draft.put("deep", &value(VALUE_DEPTH - 1)).unwrap();
    let refused = draft.put("deeper", &value(VALUE_DEPTH));
    assert!(matches!(refused, Err(DraftError::InvalidValue(_))));
    draft.put("\"\\\u{1}", "{}").unwrap();
    let file = draft.snapshot().to_file();
    let again = Table::from_file(&TOPICS, &file, &ReadLimits::default()).unwrap();
    assert!(again.same(&draft.snapshot()));
}

#[test]
fn an_error_shows_the_start_of_a_long_key() {
    let key = "x\n".repeat(10_000);
    let error = draft().put(&key, "{}").unwrap_err().to_string();
    assert!(error.len() < 200 && !error.contains('\n'), "{error}");
}
