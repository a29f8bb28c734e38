//! Every call of a commit and of a load fails once, or is the last one that the host makes.

use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::sync::Arc;

use locum_tables::{KINDS, TOPICS};

use super::{Store, nothing_to_do, topics, topics_of, while_nobody_locks};
use crate::store::{Directory, LoadedFrom, Ownership, RealDisk, Standing};

/// A store with two generations, and its directory.
fn two_generations() -> (Store, Directory) {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    directory.commit(&topics(2)).unwrap();
    (store, directory)
}

fn calls_of_a_commit() -> usize {
    let (store, mut directory) = two_generations();
    store.disk.take_log();
    directory.commit(&topics(3)).unwrap();
    store.disk.take_log().len()
}

/// Field reports 30, 47, 80.
#[test]
fn a_call_that_fails_leaves_whole_generations_and_the_next_commit_heals() {
    let kinds = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::Other,
        ErrorKind::ReadOnlyFilesystem,
    ];
    for kind in kinds {
        for call in 0..calls_of_a_commit() {
            let (store, mut directory) = two_generations();
            store.disk.fail_at(call, kind);
            let failed = directory.commit(&topics(3)).is_err();
            let failing = store.disk.take_log().swap_remove(call);
            store.disk.heal();
            let what = format!("call {call} ({failing}), {kind}");
            // A look at another table's main is that table's concern.
            assert_eq!(failed, !names_another_table(&failing), "{what}");
            assert_eq!(store.names(), ["topics.json", "topics.json.bak"], "{what}");
            let files = (
                store.generation("topics.json").unwrap(),
                store.generation("topics.json.bak").unwrap(),
            );
            assert!(
                [(2, 1), (2, 2), (3, 2)].contains(&files),
                "{what}: {files:?}"
            );
            match directory.survey().unwrap() {
                Standing::Ours { rewrite, .. } if failed && files.0 == 3 => {
                    assert_eq!(rewrite, [&TOPICS], "{what}")
                }
                standing => assert_eq!(standing, nothing_to_do(), "{what}"),
            }
            directory.commit(&topics(4)).unwrap();
            assert_eq!(store.generation("topics.json"), Some(4), "{what}");
            assert_eq!(store.generation("topics.json.bak"), Some(files.0), "{what}");
            assert_eq!(store.names(), ["topics.json", "topics.json.bak"], "{what}");
            assert_eq!(directory.survey().unwrap(), nothing_to_do(), "{what}");
        }
    }
}

fn names_another_table(call: &str) -> bool {
    KINDS
        .iter()
        .any(|kind| **kind != TOPICS && call.ends_with(kind.file))
}

#[test]
fn a_host_killed_at_any_call_finds_its_own_files_again() {
    for power_cut in [false, true] {
        for call in 0..=calls_of_a_commit() {
            let (store, mut directory) = two_generations();
            store.disk.die_at(call);
            let died = directory.commit(&topics(3)).is_err();
            drop(directory);
            if power_cut {
                store.disk.lose_what_was_not_flushed(&store.config());
            }
            store.disk.heal();
            let main = store.generation("topics.json").unwrap();
            assert!(store.generation("topics.json.bak").is_some());
            let (mut directory, loaded) = store.load_topics();
            let what = format!("call {call}, power cut {power_cut}: {:?}", loaded.notes);
            assert!(if died { main >= 2 } else { main == 3 }, "{what}");
            assert_eq!(loaded.table.unwrap().len(), main, "{what}");
            assert!(loaded.ours && loaded.copy == LoadedFrom::Main, "{what}");
            assert_eq!(directory.survey().unwrap(), nothing_to_do(), "{what}");
            assert_eq!(store.names(), ["topics.json", "topics.json.bak"], "{what}");
            assert_ne!(
                store.inode("topics.json"),
                store.inode("topics.json.bak"),
                "{what}"
            );
        }
    }
}

/// A start with its master away commits nothing, and may be killed too. After that as well every file is known for ours,
/// also the `.bak`, once main is lost.
#[test]
fn our_files_stay_ours_over_starts_without_a_commit() {
    for links in [true, false] {
        for call in 0..=calls_of_a_commit() {
            // Over the calls of the commit, each call of the start has its turn.
            let calls_of_start = (call % 8..48).step_by(8).map(Some);
            for call_of_start in calls_of_start.chain([None]) {
                let (store, mut directory) = two_generations();
                if !links {
                    store.disk.without_links();
                }
                store.disk.die_at(call);
                let _ = directory.commit(&topics(3));
                drop(directory);
                store.disk.heal();
                if let Some(call) = call_of_start {
                    store.disk.die_at(call);
                    let _ = store
                        .try_open()
                        .map(|mut directory| directory.load().is_ok());
                    store.disk.heal();
                }
                let what = format!("links {links}, call {call}, start {call_of_start:?}");
                for _ in 0..2 {
                    let mut directory = store.open();
                    assert_eq!(directory.survey().unwrap(), nothing_to_do(), "{what}");
                }
                fs::remove_file(store.path("topics.json")).unwrap();
                let (mut directory, loaded) = store.load_topics();
                assert!(loaded.ours && loaded.copy == LoadedFrom::Backup, "{what}");
                assert_eq!(directory.survey().unwrap(), nothing_to_do(), "{what}");
                directory.commit(&topics(4)).unwrap();
                assert_eq!(store.names(), ["topics.json", "topics.json.bak"], "{what}");
            }
        }
    }
}

#[test]
fn a_host_killed_while_it_mends_a_main_mends_it_the_next_time() {
    for call in 0.. {
        let (store, directory) = two_generations();
        drop(directory);
        store.write("topics.json", [0; 4096]);
        let mut directory = store.try_open().unwrap();
        store.disk.die_at(call);
        let died = directory.load().is_err();
        drop(directory);
        store.disk.lose_what_was_not_flushed(&store.config());
        store.disk.heal();
        let (mut directory, loaded) = store.load_topics();
        assert_eq!(loaded.table.unwrap().len(), 1, "call {call}");
        assert!(loaded.ours, "call {call}");
        assert_eq!(store.generation("topics.json"), Some(1), "call {call}");
        assert_eq!(store.generation("topics.json.bak"), Some(1), "call {call}");
        assert_eq!(store.aside("bad")[0], [0; 4096], "call {call}");
        assert_eq!(directory.survey().unwrap(), nothing_to_do(), "call {call}");
        if !died {
            assert!(call > 10, "only {call} calls");
            return;
        }
    }
}

/// Field report 30, on a file system that is really full.
#[test]
fn a_full_disk() {
    let root = tempfile::TempDir::new().unwrap();
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", "size=64k", "locum"])
        .arg(root.path())
        .stderr(Stdio::null());
    if !while_nobody_locks(|| mount.status()).is_ok_and(|status| status.success()) {
        eprintln!(
            "SKIPPED: a tmpfs cannot be mounted here; the scripted disk is full in the test above"
        );
        return;
    }
    // Declared before what is in it, so unmounted after that is closed, also if an assertion fails.
    let _mounted = Mounted(root.path().to_owned());
    let config = root.path().join("config");
    let mut directory = Directory::open(&config, Ownership::default(), Arc::new(RealDisk)).unwrap();
    directory.load().unwrap();
    directory.commit(&topics(100)).unwrap();
    directory.commit(&topics(2000)).unwrap_err();
    let names: Vec<_> = fs::read_dir(&config)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
    directory.commit(&topics(101)).unwrap();
    assert_eq!(
        topics_of(directory.load().unwrap()).table.unwrap().len(),
        101
    );
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = while_nobody_locks(|| Command::new("umount").arg(&self.0).status());
    }
}
