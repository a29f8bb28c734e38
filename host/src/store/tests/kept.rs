//! Lock and ledger are removed under a running host.

use std::fs;

use locum_tables::TOPICS;

use super::{Store, nothing_to_do, rewrite, topics};
use crate::store::{Directory, OpenError, StoreError};

fn committed() -> (Store, Directory) {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    directory.commit(&topics(2)).unwrap();
    (store, directory)
}

fn assert_kept(store: &Store) {
    let error = store.try_open().err().unwrap();
    assert!(
        matches!(error, OpenError::Store(StoreError::Locked { .. })),
        "{error}"
    );
}

#[test]
fn a_lock_that_was_removed_or_replaced_is_taken_again() {
    for replace in [false, true] {
        let (store, mut directory) = committed();
        let lock = store.path(".locum.lock");
        fs::remove_file(&lock).unwrap();
        if replace {
            fs::write(&lock, "").unwrap();
        }
        assert_eq!(directory.survey().unwrap(), nothing_to_do());
        assert_kept(&store);
        let text = fs::read_to_string(&lock).unwrap();
        assert_eq!(text, format!("pid {}", std::process::id()));
    }
}

/// Two hosts must not write for ever because somebody tidied up.
#[test]
fn a_lock_that_another_host_has_taken_stops_this_one() {
    let (store, mut directory) = committed();
    fs::remove_file(store.path(".locum.lock")).unwrap();
    let mut other = store.open();
    other.commit(&topics(5)).unwrap();
    let before = store.everything();
    let errors = [
        directory.survey().unwrap_err(),
        directory.commit(&topics(3)).unwrap_err(),
        directory.load().unwrap_err(),
    ];
    for error in errors {
        match error {
            StoreError::Locked { directory, holder } => {
                assert_eq!(directory, store.config());
                assert_eq!(holder, format!("pid {}", std::process::id()));
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(store.everything(), before);
    // The other one goes on as if nothing were.
    other.commit(&topics(6)).unwrap();
    drop(other);
    // Its file is not what this host's tables say.
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    directory.commit(&topics(2)).unwrap();
    assert_eq!(store.generation("topics.json"), Some(2));
    assert_eq!(store.aside("aside").len(), 1);
    assert_kept(&store);
    drop(directory);
    assert_eq!(store.open().survey().unwrap(), nothing_to_do());
}

#[test]
fn another_host_that_comes_during_a_commit_stops_it() {
    let (store, mut directory) = committed();
    fs::remove_file(store.path(".locum.lock")).unwrap();
    let other = store.open();
    directory.commit(&topics(3)).unwrap_err();
    assert_eq!(store.generation("topics.json"), Some(2));
    assert_eq!(store.names(), ["topics.json", "topics.json.bak"]);
    drop(other);
}

#[test]
fn a_directory_that_was_made_anew_is_filled_again() {
    let (store, mut directory) = committed();
    fs::remove_dir_all(store.config()).unwrap();
    assert!(matches!(
        directory.survey().unwrap_err(),
        StoreError::Io { step: "lock", .. }
    ));
    fs::create_dir(store.config()).unwrap();
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    directory.commit(&topics(2)).unwrap();
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
    assert_kept(&store);
    drop(directory);
    let (mut directory, loaded) = store.load_topics();
    assert!(loaded.ours);
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
}

#[test]
fn a_ledger_that_was_removed_or_changed_is_written_again() {
    for text in [None, Some("{}")] {
        let (store, mut directory) = committed();
        let ledger = store.path(".locum.ledger");
        let before = fs::read(&ledger).unwrap();
        fs::remove_file(&ledger).unwrap();
        if let Some(text) = text {
            fs::write(&ledger, text).unwrap();
        }
        assert_eq!(directory.survey().unwrap(), nothing_to_do());
        assert_eq!(fs::read(&ledger).unwrap(), before);
        drop(directory);
        assert_eq!(store.open().survey().unwrap(), nothing_to_do());
    }
}
