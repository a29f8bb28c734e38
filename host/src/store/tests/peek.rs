//! The look that leaves no trace.

use std::fs;

use locum_tables::TOPICS;

use super::{Store, nothing_to_do, rewrite, taken_over, topics, topics_of, topics_text};
use crate::store::{LoadedFrom, OpenError, Peeked, Standing, peek};

fn two_generations() -> Store {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    directory.commit(&topics(2)).unwrap();
    store
}

/// Peeks, and sees to it that nothing happened.
fn look(store: &Store) -> Peeked {
    let before = store.everything();
    store.disk.take_log();
    let peeked = peek(&*store.disk, &store.config()).unwrap();
    let log = store.disk.take_log();
    let looks = ["stat", "read", "resolve", "lock_holder"];
    assert!(
        log.iter()
            .all(|call| looks.contains(&call.split(' ').next().unwrap())),
        "{log:?}"
    );
    assert_eq!(store.everything(), before);
    peeked
}

#[test]
fn what_is_ours_is_found_as_a_start_would() {
    let store = two_generations();
    let peeked = look(&store);
    assert_eq!(peeked.standing, nothing_to_do());
    let loaded = topics_of(peeked.loaded);
    assert!(loaded.ours && loaded.copy == LoadedFrom::Main);
    assert!(loaded.table.unwrap().same(&topics(2)));
}

#[test]
fn nothing_is_made() {
    let store = Store::new();
    let missing = store.root.path().join("none/config");
    let peeked = peek(&*store.disk, &missing).unwrap();
    assert_eq!(peeked.standing, nothing_to_do());
    assert!(peeked.loaded.iter().all(|loaded| loaded.table.is_none()));
    assert!(!missing.parent().unwrap().exists());
}

#[test]
fn nothing_is_mended() {
    let store = two_generations();
    store.write("topics.json", "garbage");
    let peeked = look(&store);
    assert_eq!(peeked.standing, rewrite(&TOPICS));
    let loaded = topics_of(peeked.loaded);
    assert!(loaded.ours && loaded.copy == LoadedFrom::Backup && loaded.table.unwrap().len() == 1);
}

#[test]
fn whose_it_is() {
    let store = two_generations();
    store.disk.hold(Some(4711));
    assert_eq!(
        look(&store).standing,
        Standing::BrokerRunning { pid: Some(4711) }
    );
    store.disk.hold(None);
    store.write("topics.json", topics_text(5));
    let peeked = look(&store);
    assert_eq!(peeked.standing, taken_over(&["topics.json"]));
    assert!(!topics_of(peeked.loaded).ours);
    fs::remove_file(store.path("topics.json")).unwrap();
    store.write("topics.json.bak", topics_text(5));
    assert_eq!(look(&store).standing, taken_over(&["topics.json.bak"]));
    // A host has noted it: no change of the files ends it.
    store.open();
    fs::remove_file(store.path("topics.json.bak")).unwrap();
    assert_eq!(look(&store).standing, taken_over(&["topics.json.bak"]));
}

#[test]
fn a_damaged_ledger_stays_where_it_is() {
    let store = two_generations();
    store.write(".locum.ledger", "{");
    let peeked = look(&store);
    assert_eq!(peeked.standing, taken_over(&["topics.json"]));
    assert_eq!(peeked.notes.len(), 1, "{:?}", peeked.notes);
}

#[test]
fn a_directory_with_metadata_in_rocksdb_is_refused() {
    let store = Store::new();
    fs::create_dir(store.path("rdb")).unwrap();
    fs::write(store.path("rdb/CURRENT"), "").unwrap();
    let error = peek(&*store.disk, &store.config()).unwrap_err();
    assert!(matches!(error, OpenError::RocksDb { .. }), "{error}");
}
