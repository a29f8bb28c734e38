use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use locum_tables::DataVersion;
use tempfile::TempDir;

use super::disk::TestDisk;
use super::{mode_of, without_time};
use crate::store::{CommitRecord, PolicyId, RealDisk, Record, RoleRecord, StoreError};

struct State {
    root: TempDir,
    path: PathBuf,
}

impl State {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let path = root.path().join("state/broker-a.json");
        Self { root, path }
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.path().join("state")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| without_time(entry.unwrap().file_name().to_str().unwrap()))
            .collect();
        names.sort_unstable();
        names
    }
}

fn record() -> Record {
    let memory = BTreeMap::from([
        ("seen".to_owned(), vec![0, 1, 0xfe, 0xff]),
        ("empty".to_owned(), Vec::new()),
    ]);
    let policy = PolicyId {
        name: "topic".to_owned(),
        version: "0.1.0".to_owned(),
        sha256: "ab".repeat(32),
    };
    let commit = CommitRecord {
        entries: 3,
        bytes: 4711,
        version: Some(DataVersion {
            state_version: 0,
            timestamp: 1,
            counter: i64::MAX,
        }),
        source: "127.0.0.1:10911".to_owned(),
        policy,
        committed_at: 1_796_083_200_000,
    };
    Record {
        role: Some(RoleRecord {
            configured: "slave".to_owned(),
            commanded: "master".to_owned(),
        }),
        paused: BTreeSet::from(["delay".to_owned()]),
        tables: BTreeMap::from([("topics".to_owned(), commit)]),
        memory: BTreeMap::from([("topic".to_owned(), memory)]),
    }
}

#[test]
fn a_record_survives() {
    let state = State::new();
    record().save(&RealDisk, &state.path).unwrap();
    assert_eq!(
        Record::load(&RealDisk, &state.path).unwrap(),
        (record(), None)
    );
    assert_eq!(mode_of(&state.path), 0o600);
    assert_eq!(mode_of(state.path.parent().unwrap()), 0o700);
    let text = fs::read_to_string(&state.path).unwrap();
    assert!(text.starts_with("{\n  \"format\": 1,\n"), "{text}");
    assert!(text.contains("\"seen\": \"0001feff\""), "{text}");
}

#[test]
fn a_missing_record_is_fresh() {
    let state = State::new();
    assert_eq!(
        Record::load(&RealDisk, &state.path).unwrap(),
        (Record::default(), None)
    );
    assert!(!state.path.exists());
}

#[test]
fn an_older_record_without_a_member_is_read() {
    let state = State::new();
    record().save(&RealDisk, &state.path).unwrap();
    fs::write(
        &state.path,
        "{\"format\":1,\"content\":{\"paused\":[\"topic\"]}}",
    )
    .unwrap();
    let expected = Record {
        paused: BTreeSet::from(["topic".to_owned()]),
        ..Record::default()
    };
    assert_eq!(
        Record::load(&RealDisk, &state.path).unwrap(),
        (expected, None)
    );
}

#[test]
fn a_damaged_record_is_put_aside_and_fresh_with_a_warning() {
    let damages = [
        ("", "EOF"),
        ("\0\0\0\0", "expected value"),
        (
            "{\"format\":1,\"content\":{\"memory\":{\"topic\":{\"k\":\"0g\"}}}}",
            "not hexadecimal",
        ),
        (
            "{\"format\":1,\"content\":{\"memory\":{\"topic\":{\"k\":\"012\"}}}}",
            "not hexadecimal",
        ),
        (
            "{\"format\":2,\"content\":{\"role\":17}}",
            "it has format 2, this host knows 1",
        ),
    ];
    for (damage, reason) in damages {
        let state = State::new();
        record().save(&RealDisk, &state.path).unwrap();
        fs::write(&state.path, damage).unwrap();
        let (fresh, warning) = Record::load(&RealDisk, &state.path).unwrap();
        assert_eq!(fresh, Record::default());
        let warning = warning.unwrap();
        assert!(
            warning.contains(reason) && warning.contains("broker-a.json.bad-"),
            "{warning}"
        );
        assert_eq!(state.names(), ["broker-a.json.bad-TIME"]);
        record().save(&RealDisk, &state.path).unwrap();
        assert_eq!(
            Record::load(&RealDisk, &state.path).unwrap(),
            (record(), None)
        );
    }
}

#[test]
fn a_record_that_cannot_be_read_is_an_error() {
    let state = State::new();
    record().save(&RealDisk, &state.path).unwrap();
    let disk = TestDisk::new();
    disk.fail_read("broker-a.json", ErrorKind::PermissionDenied);
    let error = Record::load(&disk, &state.path).unwrap_err();
    assert!(
        matches!(error, StoreError::Io { step: "read", .. }),
        "{error}"
    );
    assert_eq!(state.names(), ["broker-a.json"]);
}

#[test]
fn a_save_that_fails_at_any_call_leaves_the_old_record_or_the_new() {
    for call in 0.. {
        let state = State::new();
        Record::default().save(&RealDisk, &state.path).unwrap();
        let disk = TestDisk::new();
        disk.fail_at(call, ErrorKind::StorageFull);
        let failed = record().save(&disk, &state.path).is_err();
        let (after, warning) = Record::load(&RealDisk, &state.path).unwrap();
        assert_eq!(warning, None);
        assert!(after == Record::default() || after == record());
        assert_eq!(state.names(), ["broker-a.json"]);
        if !failed {
            assert!(call >= 7, "only {call} calls");
            return;
        }
    }
}

#[test]
fn what_a_killed_host_left_unfinished_is_removed_for_this_record_alone() {
    let state = State::new();
    record().save(&RealDisk, &state.path).unwrap();
    fs::write(
        state.path.with_file_name(".locum.broker-a.json.77-3.tmp"),
        "{",
    )
    .unwrap();
    fs::write(
        state.path.with_file_name(".locum.broker-a.json2.77-3.tmp"),
        "{",
    )
    .unwrap();
    Record::load(&RealDisk, &state.path).unwrap();
    assert_eq!(
        state.names(),
        [".locum.broker-a.json2.77-3.tmp", "broker-a.json"]
    );
}
