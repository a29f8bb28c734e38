use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use locum_tables::DataVersion;
use tempfile::TempDir;

use super::disk::TestDisk;
use super::{mode_of, without_time};
use crate::store::{
    CommitRecord, GoodRecord, PolicyId, ProbationRecord, QuarantineRecord, RealDisk, Record,
    RoleRecord, StoreError, SwapRecord,
};

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
        id: "cd".repeat(32),
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
        swaps: BTreeMap::from([("topic".to_owned(), swap())]),
    }
}

/// A slot in the middle of a probation, with everything that one may have.
fn swap() -> SwapRecord {
    let good = |version: &str| GoodRecord {
        id: "cd".repeat(32),
        sha256: "ab".repeat(32),
        name: "topic".to_owned(),
        version: version.to_owned(),
        file: "own/topic.wasm".to_owned(),
        settings: BTreeMap::from([("keep".to_owned(), "a*".to_owned())]),
    };
    SwapRecord {
        good: Some(good("0.1.1")),
        previous: Some(good("0.1.0")),
        probation: Some(ProbationRecord {
            id: "ef".repeat(32),
            sha256: "12".repeat(32),
            ticks_left: 2,
            accepted: BTreeMap::from([("topics".to_owned(), BTreeSet::from(["T1".to_owned()]))]),
        }),
        quarantine: vec![QuarantineRecord {
            id: "34".repeat(32),
            sha256: "56".repeat(32),
            reason: "it traps".to_owned(),
            at: 1_796_083_200_000,
        }],
        aside: Some(BTreeMap::from([("seen".to_owned(), vec![0xfe, 0])])),
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
    assert!(text.contains("\"seen\": \"fe00\""), "{text}");
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

/// As a host wrote it that did not exchange policies by trial and probation.
const BEFORE_SWAPS: &str = r#"{
  "format": 1,
  "content": {
    "role": { "configured": "slave", "commanded": "master" },
    "paused": ["delay"],
    "tables": {
      "topics": {
        "entries": 3,
        "bytes": 4711,
        "version": { "state_version": 0, "timestamp": 1, "counter": 9223372036854775807 },
        "source": "127.0.0.1:10911",
        "policy": { "name": "topic", "version": "0.1.0", "sha256": "SHA" },
        "committed_at": 1796083200000
      }
    },
    "memory": { "topic": { "seen": "0001feff", "empty": "" } }
  }
}"#;

#[test]
fn a_record_from_before_the_ids_and_the_swaps_is_read() {
    let state = State::new();
    record().save(&RealDisk, &state.path).unwrap();
    fs::write(&state.path, BEFORE_SWAPS.replace("SHA", &"ab".repeat(32))).unwrap();
    let mut expected = record();
    expected.swaps.clear();
    expected.tables.get_mut("topics").unwrap().policy.id.clear();
    assert_eq!(
        Record::load(&RealDisk, &state.path).unwrap(),
        (expected, None)
    );
}

#[test]
fn a_swap_record_needs_no_member() {
    let state = State::new();
    record().save(&RealDisk, &state.path).unwrap();
    let text =
        "{\"format\":1,\"content\":{\"swaps\":{\"topic\":{\"probation\":{\"ticks_left\":2}}}}}";
    fs::write(&state.path, text).unwrap();
    let probation = ProbationRecord {
        ticks_left: 2,
        ..ProbationRecord::default()
    };
    let swap = SwapRecord {
        probation: Some(probation),
        ..SwapRecord::default()
    };
    let (read, warning) = Record::load(&RealDisk, &state.path).unwrap();
    assert_eq!(
        (read.swaps, warning),
        (BTreeMap::from([("topic".to_owned(), swap)]), None)
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
            "{\"format\":1,\"content\":{\"swaps\":{\"topic\":{\"aside\":{\"k\":\"0g\"}}}}}",
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

#[test]
fn every_record_tells_what_it_needs_or_nobody_knows() {
    let state = State::new();
    let folder = state.path.parent().unwrap();
    let path = Record::path(folder, "broker-a");
    record().save(&RealDisk, &path).unwrap();
    fs::write(folder.join("other.json"), "no record").unwrap();
    let other = Record::path(folder, "broker-b");
    Record::default().save(&RealDisk, &other).unwrap();
    let components = || Record::components(&RealDisk, folder).unwrap();
    assert_eq!(components(), Some(BTreeSet::from(["ab".repeat(32)])));
    fs::write(&other, "{").unwrap();
    assert_eq!(components(), None);
}
