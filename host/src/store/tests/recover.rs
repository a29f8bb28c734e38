use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use locum_tables::{KINDS, SUBSCRIPTION_GROUPS, TOPICS, Table};

use super::broker::Broker;
use super::{Store, is_root, mode_of, topics, topics_text};
use crate::store::{LoadedFrom, Ownership, RecoverError, Recovery, Replaced, inspect, recover};

/// A stand-in with all four tables.
fn stand_in() -> Store {
    let store = Store::new();
    let mut directory = store.open();
    for kind in KINDS {
        directory.commit(&Table::empty(kind)).unwrap();
    }
    directory.commit(&topics(2)).unwrap();
    directory.commit(&topics(3)).unwrap();
    store
}

fn run(from: &Store, to: &Store, dry_run: bool) -> Result<Recovery, RecoverError> {
    recover(
        &*to.disk,
        &from.config(),
        &to.config(),
        &KINDS,
        Ownership::default(),
        dry_run,
    )
}

/// On a new disk offsets mean nothing: only topics and groups go, and what is older than they are does not stay as `.bak`.
#[test]
fn some_tables_go_alone_and_a_stale_backup_is_put_aside() {
    let (from, to) = (stand_in(), Store::new());
    to.write("topics.json.bak", r#"{"topicConfigTable":{"OLD":{}}}"#);
    to.write("consumerOffset.json.bak", r#"{"offsetTable":{}}"#);
    let kinds = [&TOPICS, &SUBSCRIPTION_GROUPS];
    let ownership = Ownership::default();
    let done = recover(
        &*to.disk,
        &from.config(),
        &to.config(),
        &kinds,
        ownership,
        false,
    )
    .unwrap();
    let tables: Vec<_> = done.files.iter().map(|file| file.table).collect();
    assert_eq!(tables, ["topics", "subscription-groups"]);
    let names: Vec<String> = fs::read_dir(to.config())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!names.contains(&"topics.json.bak".to_owned()), "{names:?}");
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("topics.json.bak.aside-")),
        "{names:?}"
    );
    assert!(
        names.contains(&"consumerOffset.json.bak".to_owned()),
        "{names:?}"
    );
    assert!(
        !names.contains(&"consumerOffset.json".to_owned()),
        "{names:?}"
    );
}

/// The day for which all this exists: the broker's files are what a power cut leaves.
#[test]
fn emptied_files_are_replaced_with_their_mode_and_owner() {
    let (from, to) = (stand_in(), Store::new());
    for kind in KINDS {
        to.write(kind.file, "");
        to.write(&format!("{}.bak", kind.file), "");
        fs::set_permissions(to.path(kind.file), fs::Permissions::from_mode(0o660)).unwrap();
        if is_root() {
            chown(to.path(kind.file), Some(12345), Some(23456)).unwrap();
        }
    }
    let recovery = run(&from, &to, false).unwrap();
    assert!(inspect(&*to.disk, &to.config()).unwrap().boot_ready);
    assert_eq!(to.generation("topics.json"), Some(3));
    assert_eq!(to.aside("bad"), [b""]);
    let file = &recovery.files[0];
    assert_eq!(
        (file.table, file.entries, file.copy, file.mode),
        ("topics", 3, LoadedFrom::Main, 0o660)
    );
    assert!(matches!(file.replaced, Replaced::Damaged { .. }));
    for kind in KINDS {
        let metadata = fs::metadata(to.path(kind.file)).unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o660);
        if is_root() {
            assert_eq!((metadata.uid(), metadata.gid()), (12345, 23456));
        }
    }
}

#[test]
fn a_new_disk_gets_the_directory_too() {
    let (from, to) = (stand_in(), Store::new());
    fs::remove_dir(to.config()).unwrap();
    let recovery = run(&from, &to, false).unwrap();
    assert!(
        recovery
            .files
            .iter()
            .all(|file| file.replaced == Replaced::Nothing)
    );
    assert_eq!(
        to.names(),
        [
            "consumerOffset.json",
            "delayOffset.json",
            "subscriptionGroup.json",
            "topics.json"
        ]
    );
    assert_eq!(mode_of(&to.path("topics.json")), 0o644);
}

#[test]
fn a_whole_file_of_the_broker_becomes_its_backup() {
    let (from, to) = (stand_in(), Store::new());
    to.write("topics.json", topics_text(7));
    let recovery = run(&from, &to, false).unwrap();
    assert_eq!(recovery.files[0].replaced, Replaced::Whole);
    assert_eq!(
        (
            to.generation("topics.json"),
            to.generation("topics.json.bak")
        ),
        (Some(3), Some(7))
    );
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let (from, to) = (stand_in(), Store::new());
    to.write("topics.json", "");
    let before = to.everything();
    let planned = run(&from, &to, true).unwrap();
    assert_eq!(to.everything(), before);
    let done = run(&from, &to, false).unwrap();
    assert_eq!(
        serde_json::to_value(&planned.files).unwrap(),
        serde_json::to_value(&done.files).unwrap()
    );
    let elsewhere = to.path("not/there");
    recover(
        &*to.disk,
        &from.config(),
        &elsewhere,
        &KINDS,
        Ownership::default(),
        true,
    )
    .unwrap();
    assert!(!to.path("not").exists());
}

#[test]
fn nothing_is_copied_under_a_running_broker() {
    let (from, to) = (stand_in(), Store::new());
    let broker = Broker::start(&to.root.path().join("lock"));
    for dry_run in [true, false] {
        let error = run(&from, &to, dry_run).unwrap_err();
        assert!(
            matches!(&error, RecoverError::BrokerRunning { pid, .. } if *pid == Some(broker.pid())),
            "{error}"
        );
    }
    assert!(to.names().is_empty());
}

#[test]
fn nothing_is_copied_into_what_a_host_keeps_or_into_the_stand_in() {
    let (from, to) = (stand_in(), Store::new());
    let host = to.open();
    let error = run(&from, &to, false).unwrap_err();
    assert!(
        matches!(&error, RecoverError::Kept { holder, .. } if holder.starts_with("pid ")),
        "{error}"
    );
    drop(host);
    run(&from, &to, false).unwrap();
    assert!(matches!(
        run(&from, &from, false).unwrap_err(),
        RecoverError::SameDirectory { .. }
    ));
}

#[test]
fn nothing_is_copied_beside_metadata_in_rocksdb() {
    let (from, to) = (stand_in(), Store::new());
    fs::create_dir(to.path("metadata")).unwrap();
    fs::write(to.path("metadata/CURRENT"), "").unwrap();
    assert!(matches!(
        run(&from, &to, false).unwrap_err(),
        RecoverError::RocksDb { .. }
    ));
}

#[test]
fn a_damaged_main_of_the_stand_in_is_taken_from_its_backup() {
    let (from, to) = (stand_in(), Store::new());
    from.write("topics.json", "garbage");
    let recovery = run(&from, &to, false).unwrap();
    assert_eq!(
        (recovery.files[0].copy, recovery.files[0].entries),
        (LoadedFrom::Backup, 2)
    );
    assert_eq!(to.generation("topics.json"), Some(2));
    assert_eq!(fs::read(from.path("topics.json")).unwrap(), b"garbage");
}

#[test]
fn nothing_is_copied_from_a_stand_in_that_is_not_whole() {
    let (from, to) = (stand_in(), Store::new());
    fs::remove_file(from.path("delayOffset.json")).unwrap();
    from.write("topics.json", "");
    from.write("topics.json.bak", "");
    let error = run(&from, &to, false).unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with(
            "is not whole: topics.json is damaged (it is empty); delayOffset.json is missing"
        ),
        "{text}"
    );
    assert!(to.names().is_empty());
}

#[test]
fn a_disk_that_fails_leaves_whole_files() {
    for call in 0.. {
        let (from, to) = (stand_in(), Store::new());
        to.write("topics.json", topics_text(7));
        to.disk.fail_at(call, ErrorKind::StorageFull);
        let failed = run(&from, &to, false).is_err();
        to.disk.heal();
        assert!(
            [Some(3), Some(7)].contains(&to.generation("topics.json")),
            "call {call}"
        );
        assert!(
            !to.names().iter().any(|name| name.contains(".tmp")),
            "call {call}: {:?}",
            to.names()
        );
        if !failed {
            assert!(call > 40, "only {call} calls");
            return;
        }
    }
}
