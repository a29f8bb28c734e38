use super::*;
use crate::{CONSUMER_OFFSETS, DELAY_OFFSETS, ReadLimits, SUBSCRIPTION_GROUPS, TOPICS};

fn answer(kind: &'static TableKind, body: &str) -> Table {
    Table::from_answer(kind, body.as_bytes(), &ReadLimits::default()).unwrap()
}

fn topics(body: &str) -> Table {
    answer(&TOPICS, body)
}

#[test]
fn entries_are_in_the_order_of_their_keys_bytes() {
    let table =
        topics(r#"{"topicConfigTable":{"b":{},"é":{},"B":{},"a\u0062":{"perm":6},"%":{}}}"#);
    let keys: Vec<_> = table.entries().map(|entry| entry.key).collect();
    assert_eq!(keys, ["%", "B", "ab", "b", "é"]);
    assert_eq!(table.get("ab"), Some(r#"{"perm":6}"#));
    assert_eq!(table.get("a"), None);
    assert_eq!(table.len(), 5);
    assert!(!table.is_empty());
}

#[test]
fn other_members_are_kept_and_the_listed_ones_dropped() {
    let groups = answer(
        &SUBSCRIPTION_GROUPS,
        r#"{"zz":[1 , 2],"forbiddenTable":{"G":{"T":4}},"nothing":null,"dataVersion":null,"subscriptionGroupTable":{}}"#,
    );
    assert_eq!(groups.member("forbiddenTable"), Some(r#"{"G":{"T":4}}"#));
    let members: Vec<_> = groups.members().collect();
    assert_eq!(
        members,
        [("forbiddenTable", r#"{"G":{"T":4}}"#), ("zz", "[1,2]")]
    );
    assert_eq!(groups.member("dataVersion"), None);

    let offsets = answer(
        &CONSUMER_OFFSETS,
        r#"{"groupTopicMap":{"G":["T"]},"offsetTable":{"T@G":{0:1}},"pullOffsetTable":{"T@G":{0:4}}}"#,
    );
    let members: Vec<_> = offsets.members().collect();
    assert_eq!(members, [("pullOffsetTable", r#"{"T@G":{"0":4}}"#)]);

    let mapped = topics(
        r#"{"mappingDataVersion":{},"topicConfigTable":{},"topicQueueMappingDetailMap":{"T":{}},"topicQueueMappingInfoMap":{}}"#,
    );
    assert_eq!(mapped.members().count(), 0);
}

#[test]
fn an_unknown_version_equals_nothing_but_is_no_difference() {
    let unknown = topics(r#"{"topicConfigTable":{}}"#);
    let known = topics(r#"{"dataVersion":{"counter":1,"timestamp":2},"topicConfigTable":{}}"#);
    assert!(!unknown.same_version(&unknown));
    assert!(unknown.same(&unknown.clone()));
    assert!(known.same_version(&known));
    assert!(!known.same(&unknown) && !unknown.same(&known));
    assert!(known.same_entries(&unknown));
}

#[test]
fn sameness_looks_through_order_and_spelling() {
    let one =
        topics(r#"{"topicConfigTable":{"a":{"perm":6,"order":false},"b":{}},"x":{"p":1,"q":2}}"#);
    let other = topics(
        r#"{ x:{"q":2, "p":1}, "topicConfigTable":{"b":{ },"\u0061":{"order":false,"perm":6}}}"#,
    );
    assert!(one.same(&other));
    let perm =
        topics(r#"{"topicConfigTable":{"a":{"perm":4,"order":false},"b":{}},"x":{"p":1,"q":2}}"#);
    assert!(!one.same_entries(&perm));
    let member =
        topics(r#"{"topicConfigTable":{"a":{"perm":6,"order":false},"b":{}},"x":{"p":1}}"#);
    assert!(one.same_entries(&member) && !one.same(&member));
    let key = topics(r#"{"topicConfigTable":{"a":{"perm":6,"order":false},"c":{}}}"#);
    assert!(!one.same_entries(&key));
}

#[test]
fn large_offsets_are_told_apart() {
    let offsets = |offset: &str| {
        answer(
            &CONSUMER_OFFSETS,
            &format!(r#"{{"offsetTable":{{"T@G":{{0:{offset}}}}}}}"#),
        )
    };
    assert!(!offsets("9007199254740993").same(&offsets("9007199254740992")));
}

#[test]
fn tables_of_two_kinds_are_never_the_same() {
    assert!(!Table::empty(&CONSUMER_OFFSETS).same(&Table::empty(&DELAY_OFFSETS)));
}

#[test]
fn the_file_has_one_entry_a_line_and_reads_back() {
    let table = answer(
        &SUBSCRIPTION_GROUPS,
        "{\"subscriptionGroupTable\":{\"b\":{\"x\":[1,\n2]},\"a\\\"\\n\":{}},\"dataVersion\":{\"timestamp\":5,\"counter\":7},\"forbiddenTable\":{b:{T:4}}}",
    );
    let file = table.to_file();
    let text = concat!(
        "{\n",
        r#""dataVersion":{"counter":7,"stateVersion":0,"timestamp":5},"#,
        "\n",
        r#""forbiddenTable":{"b":{"T":4}},"#,
        "\n",
        r#""subscriptionGroupTable":{"#,
        "\n",
        r#""a\"\n":{},"#,
        "\n",
        r#""b":{"x":[1,2]}"#,
        "\n}\n}\n"
    );
    assert_eq!(String::from_utf8(file.clone()).unwrap(), text);
    let again = Table::from_file(&SUBSCRIPTION_GROUPS, &file, &ReadLimits::default()).unwrap();
    assert!(again.same(&table));
    assert_eq!(again.to_file(), file);
}

#[test]
fn an_unknown_version_is_not_written() {
    let file = Table::empty(&DELAY_OFFSETS).to_file();
    assert_eq!(file, b"{\n\"offsetTable\":{}\n}\n");
}
