use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown};

use locum_tables::{DataVersion, KINDS, Table};

use super::broker::Broker;
use super::{Store, is_root, topics, topics_text};
use crate::store::{CopyState, Inspection, Loads, RealDisk, inspect};

/// A store with all four files.
fn whole() -> Store {
    let store = Store::new();
    let mut directory = store.open();
    for kind in KINDS {
        directory.commit(&Table::empty(kind)).unwrap();
    }
    directory.commit(&topics(2)).unwrap();
    store
}

fn look(store: &Store) -> Inspection {
    inspect(&RealDisk, &store.config()).unwrap()
}

#[test]
fn a_file_beyond_the_limit_is_bad_and_not_read() {
    let store = Store::new();
    let file = fs::File::create(store.path("topics.json")).unwrap();
    file.set_len(3 << 30).unwrap();
    let inspection = inspect(&*store.disk, &store.config()).unwrap();
    assert!(
        matches!(&inspection.tables[0].main.state, CopyState::Bad { error, .. } if error.contains("over the limit")),
        "{inspection:?}"
    );
    assert!(
        !store
            .disk
            .take_log()
            .contains(&"read topics.json".to_owned())
    );
}

#[test]
fn a_whole_directory_is_boot_ready() {
    let store = whole();
    let found = look(&store);
    assert!(found.boot_ready && found.broker.is_none() && found.rocksdb_folders.is_empty());
    let report = &found.tables[0];
    assert_eq!(
        (report.table, report.file, report.loads),
        ("topics", "topics.json", Loads::Main)
    );
    let version = Some(DataVersion {
        state_version: 0,
        timestamp: 1,
        counter: 2,
    });
    assert_eq!(
        report.main.state,
        CopyState::Whole {
            entries: 2,
            version
        }
    );
    assert_eq!(report.main.bytes, Some(topics(2).to_file().len() as u64));
    assert_eq!(report.main.access.unwrap().mode, 0o644);
    assert!(matches!(
        report.backup.state,
        CopyState::Whole { entries: 0, .. }
    ));
}

/// One row for each case that was tried on real brokers, with what they did.
#[test]
fn what_a_broker_would_load() {
    let good = topics_text(1);
    let cut = &good[..20];
    let nul = "\0".repeat(64);
    let rows: [(Option<&str>, Option<&str>, Loads); 15] = [
        (Some(&good), None, Loads::Main),
        (Some(&good), Some(cut), Loads::Main),
        (Some(cut), Some(&good), Loads::Backup),
        (Some(""), Some(&good), Loads::Backup),
        (Some(&nul), Some(&good), Loads::Backup),
        (None, Some(&good), Loads::Backup),
        (Some("{}"), Some(&good), Loads::Nothing),
        (Some("null"), Some(&good), Loads::Nothing),
        (Some(" \n"), Some(&good), Loads::Nothing),
        (
            Some("{\"topicConfigTable\":null}"),
            Some(&good),
            Loads::Nothing,
        ),
        (None, None, Loads::Defaults),
        (Some(cut), None, Loads::Defaults),
        (Some(cut), Some(""), Loads::Defaults),
        (Some(cut), Some(cut), Loads::Fails),
        (None, Some("[1]"), Loads::Fails),
    ];
    for (main, backup, loads) in rows {
        let store = whole();
        for (name, text) in [("topics.json", main), ("topics.json.bak", backup)] {
            match text {
                Some(text) => store.write(name, text),
                None => fs::remove_file(store.path(name)).unwrap(),
            }
        }
        let before = store.everything();
        let found = look(&store);
        assert_eq!(found.tables[0].loads, loads, "{main:?} {backup:?}");
        assert_eq!(
            found.boot_ready,
            loads == Loads::Main,
            "{main:?} {backup:?}"
        );
        assert_eq!(store.everything(), before);
    }
}

#[test]
fn a_missing_directory_is_not_boot_ready() {
    let store = Store::new();
    let found = inspect(&RealDisk, &store.path("nowhere")).unwrap();
    assert!(!found.boot_ready);
    assert!(
        found
            .tables
            .iter()
            .all(|table| table.loads == Loads::Defaults)
    );
    assert!(!store.path("nowhere").exists());
}

#[test]
fn a_copy_that_cannot_be_read_is_reported_as_such() {
    let store = whole();
    store
        .disk
        .fail_read("topics.json", ErrorKind::PermissionDenied);
    let found = inspect(&*store.disk, &store.config()).unwrap();
    assert!(matches!(
        found.tables[0].main.state,
        CopyState::Unreadable { .. }
    ));
    assert!(!found.boot_ready);
}

#[test]
fn a_running_broker_and_rocksdb_are_reported() {
    let store = whole();
    fs::create_dir(store.path("topics")).unwrap();
    fs::write(store.path("topics/CURRENT"), "").unwrap();
    let broker = Broker::start(&store.root.path().join("lock"));
    let found = look(&store);
    assert_eq!(found.broker.unwrap().pid, Some(broker.pid()));
    assert_eq!(found.rocksdb_folders, ["topics"]);
    assert!(!found.boot_ready);
}

#[test]
fn who_could_not_read_it() {
    if !is_root() {
        return;
    }
    let store = whole();
    let mode = |name: &str, mode| {
        fs::set_permissions(store.path(name), fs::Permissions::from_mode(mode)).unwrap()
    };
    fs::set_permissions(store.root.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(
        look(&store).unreadable_for(1000, &[1000]),
        [store.root.path()]
    );
    fs::set_permissions(store.root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(look(&store).unreadable_for(1000, &[1000]).is_empty());
    chown(store.path("topics.json"), Some(1000), Some(2000)).unwrap();
    mode("topics.json", 0o640);
    let main = store.path("topics.json");
    assert!(look(&store).unreadable_for(1000, &[]).is_empty());
    assert!(look(&store).unreadable_for(1001, &[5, 2000]).is_empty());
    assert_eq!(look(&store).unreadable_for(1001, &[5]), [main.as_path()]);
    assert!(look(&store).unreadable_for(0, &[]).is_empty());
    // The owner's class decides for the owner, even where the others may.
    mode("topics.json", 0o044);
    assert_eq!(look(&store).unreadable_for(1000, &[2000]), [main.as_path()]);
}

/// What scripts read.
#[test]
fn the_report_as_json() {
    let store = whole();
    store.write("delayOffset.json", "{}");
    let report = serde_json::to_value(look(&store)).unwrap();
    let delay = &report["tables"][2];
    assert_eq!(report["boot_ready"], false);
    assert_eq!(delay["table"], "delay-offsets");
    assert_eq!(delay["loads"], "nothing");
    assert_eq!(delay["main"]["state"], "bad");
    assert_eq!(delay["main"]["counts_as_empty"], true);
    assert_eq!(delay["backup"]["state"], "missing");
    assert_eq!(report["tables"][0]["main"]["entries"], 2);
}
