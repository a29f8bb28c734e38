//! Answers and files of real brokers, from 4.9.7 to 5.5.0.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails by panicking, as the test does"
)]

use std::fs;
use std::path::PathBuf;

use locum_tables::{
    CONSUMER_OFFSETS, DELAY_OFFSETS, Draft, DraftLimits, KINDS, ReadLimits, SUBSCRIPTION_GROUPS,
    TOPICS, Table, TableKind, dialect, difference,
};

const VERSIONS: [&str; 5] = ["4.9.7", "5.1.4", "5.3.3", "5.4.0", "5.5.0"];

fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fs::read(folder.join(name)).unwrap()
}

fn name(kind: &TableKind) -> &'static str {
    match kind.request_code {
        21 => "21-topic",
        43 => "43-offset",
        45 => "45-delay",
        _ => "201-subgroup",
    }
}

fn body(version: &str, kind: &TableKind) -> Vec<u8> {
    fixture(&format!("{version}-{}.body", name(kind)))
}

fn answer(version: &str, kind: &'static TableKind) -> Table {
    Table::from_answer(kind, &body(version, kind), &ReadLimits::default()).unwrap()
}

/// What a master answers that has just started on an empty store.
fn fresh(version: &str, kind: &'static TableKind) -> Table {
    let body = fixture(&format!("{version}-fresh-{}.body", name(kind)));
    Table::from_answer(kind, &body, &ReadLimits::default()).unwrap()
}

fn file(kind: &'static TableKind, text: &[u8]) -> Table {
    Table::from_file(kind, text, &ReadLimits::default()).unwrap()
}

fn every(check: impl Fn(&str, &'static TableKind)) {
    for version in VERSIONS {
        for kind in KINDS {
            check(version, kind);
        }
    }
}

#[test]
fn a_file_that_java_wrote_is_the_same_as_the_answer() {
    every(|version, kind| {
        let written = file(kind, &fixture(&format!("{version}-{}", kind.file)));
        let answered = answer(version, kind);
        assert!(written.same(&answered), "{version} {kind}");
        assert!(
            difference(Some(&written), &answered).is_same(),
            "{version} {kind}"
        );
        assert_eq!(written.to_file(), answered.to_file(), "{version} {kind}");
    });
}

#[test]
fn our_file_is_plain_json_sorted_and_reads_back() {
    every(|version, kind| {
        let table = answer(version, kind);
        let text = table.to_file();
        let again = file(kind, &text);
        assert!(again.same(&table), "{version} {kind}");
        assert_eq!(again.to_file(), text, "{version} {kind}");
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            json[kind.entries.disk].as_object().unwrap().len(),
            table.len()
        );
        let lines = String::from_utf8(text).unwrap();
        let entry = |line: &&str| line.starts_with('"') && !line.starts_with("\"dataVersion");
        let members = 1 + table.members().count();
        assert_eq!(lines.lines().filter(entry).count(), table.len() + members);
    });
}

#[test]
fn no_byte_of_a_value_is_lost() {
    every(|version, kind| {
        let document = dialect::to_json(&body(version, kind), &ReadLimits::default()).unwrap();
        for entry in answer(version, kind).entries() {
            let line = format!("\"{}\":{}", entry.key, entry.value);
            assert!(document.contains(&line), "{version} {kind} {line}");
        }
    });
}

#[test]
fn a_truncated_answer_is_never_a_table() {
    every(|version, kind| {
        let body = body(version, kind);
        for length in 0..body.len() {
            let read = Table::from_answer(kind, &body[..length], &ReadLimits::default());
            assert!(read.is_err(), "{version} {kind} {length}");
        }
    });
}

#[test]
fn a_draft_made_entry_by_entry_is_the_same_as_one_taken_over() {
    every(|version, kind| {
        let source = answer(version, kind);
        let mut draft = Draft::new(kind, None, DraftLimits::default());
        draft
            .put_packed(&source.page_packed(None, usize::MAX, usize::MAX))
            .unwrap();
        assert!(draft.snapshot().same_entries(&source), "{version} {kind}");
    });
}

#[test]
fn offsets_are_exact() {
    for version in VERSIONS {
        let offsets = answer(version, &CONSUMER_OFFSETS);
        assert_eq!(
            offsets.get("T_plain@G_plain"),
            Some(r#"{"0":0,"1":1,"2":1000,"3":9007199254740993}"#)
        );
        let ghost = offsets.get("T_ghost@G_ghost");
        assert_eq!(ghost.is_some(), version == "4.9.7");
        assert_eq!(answer(version, &DELAY_OFFSETS).get("2"), Some("1"));
    }
}

#[test]
fn versions_are_read_where_a_broker_sends_them() {
    for version in VERSIONS {
        let old = version == "4.9.7";
        assert_eq!(answer(version, &TOPICS).version().unwrap().state_version, 0);
        assert_eq!(answer(version, &CONSUMER_OFFSETS).version().is_none(), old);
        assert_eq!(answer(version, &DELAY_OFFSETS).version().is_none(), old);
    }
}

#[test]
fn only_listed_members_are_dropped() {
    for version in VERSIONS {
        let names = |kind| {
            let table = answer(version, kind);
            table
                .members()
                .map(|(name, _)| name.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&TOPICS), [""; 0]);
        let pull: &[&str] = if version == "5.5.0" {
            &["pullOffsetTable"]
        } else {
            &[]
        };
        assert_eq!(names(&CONSUMER_OFFSETS), pull);
        let forbidden: &[&str] = if version == "4.9.7" {
            &[]
        } else {
            &["forbiddenTable"]
        };
        assert_eq!(names(&SUBSCRIPTION_GROUPS), forbidden);
    }
}

/// fastjson2 refuses bare keys in a member that it skips: a 5.4.0 broker would boot with empty offsets.
#[test]
fn the_pull_offsets_of_a_new_master_are_written_with_quoted_keys() {
    let body = fixture("5.5.0-43-offset-after-pull.body");
    let table = Table::from_answer(&CONSUMER_OFFSETS, &body, &ReadLimits::default()).unwrap();
    assert_eq!(
        table.member("pullOffsetTable"),
        Some(r#"{"T_plain@G_plain":{"0":4,"1":2,"2":1,"3":1}}"#)
    );
    assert!(table.same_entries(&answer("5.5.0", &CONSUMER_OFFSETS)));
    let json: serde_json::Value = serde_json::from_slice(&table.to_file()).unwrap();
    assert_eq!(json["pullOffsetTable"]["T_plain@G_plain"]["0"], 4);
}

#[test]
fn the_name_servers_cluster_becomes_plain_json() {
    for version in VERSIONS {
        let body = fixture(&format!("{version}-106-cluster.body"));
        let text = dialect::to_json(&body, &ReadLimits::default()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(json["brokerAddrTable"]["broker-a"]["brokerAddrs"]["0"].is_string());
    }
}

#[test]
fn nothing_of_a_fresh_master_is_the_users() {
    every(|version, kind| {
        let table = fresh(version, kind);
        let users: Vec<_> = table.user_keys().collect();
        assert_eq!(users, [""; 0], "{version} {kind}");
    });
    let counts = |kind| VERSIONS.map(|version| fresh(version, kind).len());
    assert_eq!(counts(&TOPICS), [8, 12, 13, 15, 15]);
    assert_eq!(counts(&SUBSCRIPTION_GROUPS), [7, 8, 8, 8, 8]);
}

#[test]
fn all_that_a_seeded_master_has_beyond_a_fresh_one_is_the_users() {
    every(|version, kind| {
        let (seeded, fresh) = (answer(version, kind), fresh(version, kind));
        let seeds: Vec<_> = seeded
            .entries()
            .map(|entry| entry.key)
            .filter(|key| fresh.get(key).is_none())
            .collect();
        let users: Vec<_> = seeded.user_keys().collect();
        assert_eq!(users, seeds, "{version} {kind}");
    });
}
