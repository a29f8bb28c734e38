//! A promoted standby is never overwritten.

use std::fs;
use std::io::ErrorKind;

use jiff::SignedDuration;
use locum_tables::{CONSUMER_OFFSETS, KINDS, TOPICS, Table};

use super::broker::Broker;
use super::{Store, nothing_to_do, rewrite, taken_over, topics, topics_of, topics_text};
use crate::store::{Adoption, Directory, LoadedFrom, RealDisk, Standing, StoreError, broker_lock};

fn committed() -> (Store, Directory) {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    (store, directory)
}

fn running(pid: i32) -> Standing {
    Standing::BrokerRunning { pid: Some(pid) }
}

/// What a broker does: it takes the lock, writes, and leaves.
fn broker_runs_and_writes(store: &Store, directory: &mut Directory) {
    store.disk.hold(Some(4711));
    assert_eq!(directory.survey().unwrap(), running(4711));
    store.write("topics.json", topics_text(5));
    store.disk.hold(None);
}

/// Field reports 29, 49. The lock is a real one, of another process.
#[test]
fn nothing_is_written_while_a_broker_holds_its_lock() {
    let (store, mut directory) = committed();
    let before = store.names();
    let broker = Broker::start(&store.root.path().join("lock"));
    assert_eq!(directory.survey().unwrap(), running(broker.pid()));
    match directory.commit(&topics(2)).unwrap_err() {
        StoreError::DirectoryInUse { pid } => assert_eq!(pid, Some(broker.pid())),
        other => panic!("{other}"),
    }
    assert_eq!(
        (store.names(), store.generation("topics.json")),
        (before, Some(1))
    );
    drop(broker);
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
    directory.commit(&topics(2)).unwrap();
    assert_eq!(store.generation("topics.json"), Some(2));
}

#[test]
fn the_lock_of_a_linked_directory_is_looked_for_on_both_sides() {
    let store = Store::new();
    let other = store.root.path().join("other");
    fs::create_dir(&other).unwrap();
    let linked = other.join("config");
    std::os::unix::fs::symlink(store.config(), &linked).unwrap();
    assert_eq!(broker_lock(&RealDisk, &linked).unwrap(), None);
    for lock in [store.root.path().join("lock"), other.join("lock")] {
        let broker = Broker::start(&lock);
        let holder = broker_lock(&RealDisk, &linked).unwrap().unwrap();
        assert_eq!(holder.pid, Some(broker.pid()));
    }
    assert_eq!(broker_lock(&RealDisk, &linked).unwrap(), None);
}

#[test]
fn a_broker_that_comes_during_a_commit_stops_it_before_the_rename() {
    let (store, mut directory) = committed();
    let before = store.names();
    // The first look finds two lock files free, then the temporary file is written.
    store.disk.broker_comes_after(2);
    let error = directory.commit(&topics(2)).unwrap_err();
    assert!(
        matches!(error, StoreError::DirectoryInUse { pid: Some(4711) }),
        "{error}"
    );
    assert_eq!(
        (store.names(), store.generation("topics.json")),
        (before, Some(1))
    );
}

#[test]
fn a_broker_that_left_our_files_alone_changes_nothing() {
    let (store, mut directory) = committed();
    store.disk.hold(Some(4711));
    assert_eq!(directory.survey().unwrap(), running(4711));
    store.disk.hold(None);
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
    directory.commit(&topics(2)).unwrap();
}

#[test]
fn a_directory_that_a_broker_wrote_to_is_not_written_again() {
    let (store, mut directory) = committed();
    broker_runs_and_writes(&store, &mut directory);
    assert_eq!(directory.survey().unwrap(), taken_over(&["topics.json"]));
    let error = directory.commit(&topics(2)).unwrap_err();
    assert!(
        matches!(&error, StoreError::TakenOver { files } if files == &["topics.json"]),
        "{error}"
    );
    // Another table is not written either, and no time makes it ours.
    store.disk.let_pass(SignedDuration::from_hours(1000));
    directory
        .commit(&Table::empty(&CONSUMER_OFFSETS))
        .unwrap_err();
    assert_eq!(store.names(), ["topics.json"]);
    assert_eq!(store.generation("topics.json"), Some(5));
}

#[test]
fn a_restart_does_not_forget_it() {
    let (store, mut directory) = committed();
    broker_runs_and_writes(&store, &mut directory);
    directory.survey().unwrap();
    drop(directory);
    // Also when the broker's file is gone: only an operator ends it.
    fs::remove_file(store.path("topics.json")).unwrap();
    let mut directory = store.open();
    assert_eq!(directory.survey().unwrap(), taken_over(&["topics.json"]));
}

#[test]
fn a_broker_that_ran_while_we_did_not_is_noticed_by_its_files() {
    let (store, directory) = committed();
    drop(directory);
    store.write("topics.json", topics_text(5));
    let (mut directory, loaded) = store.load_topics();
    assert_eq!(loaded.table.unwrap().len(), 5);
    assert!(!loaded.ours);
    assert_eq!(directory.survey().unwrap(), taken_over(&["topics.json"]));
    directory.commit(&topics(2)).unwrap_err();
}

#[test]
fn files_that_were_there_before_the_first_start_are_not_ours() {
    let store = Store::new();
    store.write("topics.json", topics_text(5));
    assert_eq!(store.open().survey().unwrap(), taken_over(&["topics.json"]));
}

#[test]
fn a_commit_without_a_load_knows_strangers_too() {
    let store = Store::new();
    store.write("topics.json", topics_text(5));
    let error = store.try_open().unwrap().commit(&topics(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a broker has taken the directory over (topics.json)"
    );
}

/// Nothing is mended in a directory that is not ours.
#[test]
fn a_load_of_a_taken_over_directory_writes_no_table() {
    let (store, mut directory) = committed();
    let offsets = Table::empty(&CONSUMER_OFFSETS);
    directory.commit(&offsets).unwrap();
    directory.commit(&offsets).unwrap();
    drop(directory);
    store.write("topics.json", topics_text(5));
    store.write("consumerOffset.json", "garbage");
    let before = store.names();
    let (_directory, _) = store.load_topics();
    assert_eq!(store.names(), before);
    assert_eq!(
        fs::read(store.path("consumerOffset.json")).unwrap(),
        b"garbage"
    );
}

#[test]
fn a_load_under_a_running_broker_writes_no_table_and_mends_it_later() {
    let (store, mut directory) = committed();
    directory.commit(&topics(2)).unwrap();
    drop(directory);
    store.write("topics.json", "garbage");
    store.disk.hold(Some(4711));
    let (mut directory, loaded) = store.load_topics();
    assert!(loaded.ours && loaded.copy == LoadedFrom::Backup && loaded.table.unwrap().len() == 1);
    assert_eq!(store.names(), ["topics.json", "topics.json.bak"]);
    store.disk.hold(None);
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    directory.commit(&topics(1)).unwrap();
    assert_eq!(
        store.names(),
        ["topics.json", "topics.json.bad-TIME", "topics.json.bak"]
    );
}

#[test]
fn a_broker_that_came_and_went_between_two_looks_is_noticed_by_its_lock_file() {
    let (store, mut directory) = committed();
    directory.survey().unwrap();
    drop(Broker::start(&store.root.path().join("lock")));
    store.write("topics.json", topics_text(5));
    assert_eq!(directory.survey().unwrap(), taken_over(&["topics.json"]));
}

/// 4.9.7 gives its lock back before it writes consumerOffset.json for the last time.
#[test]
fn what_changes_soon_after_a_broker_left_is_the_broker_s() {
    let (store, mut directory) = committed();
    store.disk.hold(Some(4711));
    directory.survey().unwrap();
    store.disk.hold(None);
    // However long nobody looked: the time counts from the first look that finds the lock free.
    store.disk.let_pass(SignedDuration::from_hours(3));
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
    directory.commit(&topics(2)).unwrap();
    store.disk.let_pass(SignedDuration::from_secs(59));
    store.write("topics.json", topics_text(5));
    assert_eq!(directory.survey().unwrap(), taken_over(&["topics.json"]));
}

#[test]
fn what_changes_long_after_a_broker_left_is_not() {
    let (store, mut directory) = committed();
    store.disk.hold(Some(4711));
    directory.survey().unwrap();
    store.disk.hold(None);
    directory.survey().unwrap();
    store.disk.let_pass(SignedDuration::from_secs(60));
    store.write("topics.json", topics_text(5));
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
}

/// 5.5.0 moves main to `.bak` before it writes a new one, and may be killed between.
#[test]
fn a_broker_s_backup_without_main_is_its_last_word() {
    for main in [None, Some("")] {
        let (store, mut directory) = committed();
        store.disk.hold(Some(4711));
        directory.survey().unwrap();
        fs::remove_file(store.path("topics.json")).unwrap();
        store.write("topics.json.bak", topics_text(5));
        if let Some(text) = main {
            store.write("topics.json", text);
        }
        store.disk.hold(None);
        assert_eq!(
            directory.survey().unwrap(),
            taken_over(&["topics.json.bak"])
        );
        let loaded = topics_of(directory.adopt(Adoption::Take).unwrap());
        assert!(loaded.ours && loaded.table.unwrap().len() == 5);
        assert_eq!(store.generation("topics.json"), Some(5));
    }
}

/// The same while no host ran, whether one had seen the broker or not, and in a directory that no host ever wrote to.
#[test]
fn a_broker_s_backup_without_main_is_its_last_word_at_a_start_too() {
    for main in [None, Some(""), Some("garbage")] {
        for seen in [false, true] {
            for written in [false, true] {
                let store = Store::new();
                let mut directory = store.open();
                if written {
                    directory.commit(&topics(1)).unwrap();
                    directory.commit(&topics(2)).unwrap();
                    fs::remove_file(store.path("topics.json")).unwrap();
                }
                if seen {
                    store.disk.hold(Some(4711));
                    directory.survey().unwrap();
                    store.disk.hold(None);
                }
                drop(directory);
                store.write("topics.json.bak", topics_text(5));
                if let Some(text) = main {
                    store.write("topics.json", text);
                }
                let before = store.names();
                let what = format!("{main:?}, seen {seen}, written {written}");
                for _ in 0..2 {
                    let (mut directory, loaded) = store.load_topics();
                    assert!(!loaded.ours && loaded.copy == LoadedFrom::Backup, "{what}");
                    let standing = directory.survey().unwrap();
                    assert_eq!(standing, taken_over(&["topics.json.bak"]), "{what}");
                    directory.commit(&topics(3)).unwrap_err();
                }
                assert_eq!(store.names(), before, "{what}");
                let mut directory = store.open();
                let loaded = topics_of(directory.adopt(Adoption::Take).unwrap());
                assert!(loaded.ours && loaded.table.unwrap().len() == 5, "{what}");
                assert_eq!(store.generation("topics.json"), Some(5), "{what}");
                assert_eq!(directory.survey().unwrap(), nothing_to_do(), "{what}");
            }
        }
    }
}

#[test]
fn an_adopted_backup_is_ours_when_main_is_lost() {
    let (store, mut directory) = committed();
    directory.commit(&topics(2)).unwrap();
    broker_runs_and_writes(&store, &mut directory);
    store.write("topics.json.bak", topics_text(4));
    directory.survey().unwrap();
    directory.adopt(Adoption::Take).unwrap();
    store.disk.hold(Some(4711));
    directory.survey().unwrap();
    store.write("topics.json", "");
    store.disk.hold(None);
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    drop(directory);
    let (_directory, loaded) = store.load_topics();
    assert!(loaded.ours && loaded.copy == LoadedFrom::Backup && loaded.table.unwrap().len() == 4);
}

#[test]
fn adopt_overwrite_puts_a_broker_s_backup_aside_too() {
    let (store, mut directory) = committed();
    store.disk.hold(Some(4711));
    directory.survey().unwrap();
    fs::rename(store.path("topics.json"), store.path("topics.json.bak")).unwrap();
    store.write("topics.json.bak", topics_text(5));
    store.disk.hold(None);
    assert_eq!(
        directory.survey().unwrap(),
        taken_over(&["topics.json.bak"])
    );
    let loaded = topics_of(directory.adopt(Adoption::Overwrite).unwrap());
    assert!(loaded.table.is_none());
    assert_eq!(store.names(), ["topics.json.bak.aside-TIME"]);
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
}

#[test]
fn adopt_takes_the_broker_s_files() {
    let (store, mut directory) = committed();
    broker_runs_and_writes(&store, &mut directory);
    directory.survey().unwrap();
    let loaded = topics_of(directory.adopt(Adoption::Take).unwrap());
    assert!(loaded.ours && loaded.table.unwrap().len() == 5);
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
    drop(directory);
    let (mut directory, loaded) = store.load_topics();
    assert!(loaded.ours && loaded.table.unwrap().len() == 5);
    directory.commit(&topics(6)).unwrap();
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(6), Some(5))
    );
}

/// Else the next survey would find that our old tables are not on disk, and the next commit would put them over the broker's.
#[test]
fn an_adoption_that_fails_leaves_the_directory_taken_over() {
    let start = || {
        let (store, mut directory) = committed();
        broker_runs_and_writes(&store, &mut directory);
        directory.survey().unwrap();
        store.disk.take_log();
        (store, directory)
    };
    let (store, mut directory) = start();
    directory.adopt(Adoption::Take).unwrap();
    let calls = store.disk.take_log().len();
    let mut failures = 0;
    for call in 0..calls {
        let (store, mut directory) = start();
        store.disk.fail_at(call, ErrorKind::StorageFull);
        let failed = directory.adopt(Adoption::Take).is_err();
        let failing = store.disk.take_log().swap_remove(call);
        store.disk.heal();
        let what = format!("call {call} ({failing})");
        if failed {
            failures += 1;
            assert_eq!(
                directory.survey().unwrap(),
                taken_over(&["topics.json"]),
                "{what}"
            );
            assert!(directory.commit(&topics(9)).is_err(), "{what}");
        }
        assert_eq!(store.generation("topics.json"), Some(5), "{what}");
    }
    assert!(failures > 0);
}

#[test]
fn adopt_overwrite_lets_the_next_commit_put_the_broker_s_files_aside() {
    for restart in [false, true] {
        let (store, mut directory) = committed();
        directory.commit(&topics(2)).unwrap();
        broker_runs_and_writes(&store, &mut directory);
        directory.survey().unwrap();
        let mut loaded = topics_of(directory.adopt(Adoption::Overwrite).unwrap());
        if restart {
            drop(directory);
            (directory, loaded) = store.load_topics();
        }
        assert!(loaded.table.is_none() && !loaded.ours);
        assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
        let commit = directory.commit(&topics(2)).unwrap();
        assert!(
            commit.notes[0].contains("was given up"),
            "{:?}",
            commit.notes
        );
        assert_eq!(store.aside("aside"), [topics_text(5).as_bytes()]);
        assert_eq!(
            (
                store.generation("topics.json"),
                store.generation("topics.json.bak")
            ),
            (Some(2), Some(1))
        );
        assert_eq!(directory.survey().unwrap(), nothing_to_do());
    }
}

#[test]
fn nothing_is_adopted_from_a_running_broker() {
    let (store, mut directory) = committed();
    store.disk.hold(Some(4711));
    for adoption in [Adoption::Take, Adoption::Overwrite] {
        let error = directory.adopt(adoption).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a broker (pid 4711) runs on the directory"
        );
    }
}

/// Each look at an unchanged directory: the lock, and one stat for each main. Nothing is read or written.
#[test]
fn a_survey_is_cheap() {
    let store = Store::new();
    let mut directory = store.open();
    for kind in KINDS {
        directory.commit(&Table::empty(kind)).unwrap();
    }
    store.disk.take_log();
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
    let log = store.disk.take_log();
    let expected = [
        "stat .locum.lock",
        "stat .locum.ledger",
        "lock_holder lock",
        "lock_holder lock",
        "stat lock",
        "stat lock",
        "resolve topics.json",
        "stat topics.json",
        "resolve consumerOffset.json",
        "stat consumerOffset.json",
        "resolve delayOffset.json",
        "stat delayOffset.json",
        "resolve subscriptionGroup.json",
        "stat subscriptionGroup.json",
    ];
    assert_eq!(log, expected);
}
