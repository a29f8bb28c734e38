use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use jiff::SignedDuration;
use locum_tables::{KINDS, TOPICS, Table};

use super::{Store, mode_of, nothing_to_do, taken_over, topics, topics_text};
use crate::store::{Adoption, LoadedFrom, StoreError};

/// A closed store with generations 1 (`.bak`) and 2 (main).
fn two_generations() -> Store {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    directory.commit(&topics(2)).unwrap();
    store
}

#[test]
fn main_is_loaded() {
    let store = two_generations();
    let (_directory, loaded) = store.load_topics();
    assert!(loaded.table.unwrap().same(&topics(2)));
    assert!(loaded.ours && loaded.copy == LoadedFrom::Main && loaded.notes.is_empty());
}

/// Field report 15: an empty directory stays empty.
#[test]
fn nothing_is_made_of_nothing() {
    let store = Store::new();
    let (_directory, loaded) = store.load_topics();
    assert!(loaded.table.is_none() && !loaded.ours && loaded.copy == LoadedFrom::Nothing);
    assert!(loaded.notes.is_empty() && store.names().is_empty());
}

/// Field report 13, and what a broker would or would not load (`{}` and blanks make it forget all its topics).
#[test]
fn a_damaged_main_is_put_aside_and_made_again_from_the_backup() {
    let whole = topics_text(2);
    let damages: [&[u8]; 8] = [
        b"",
        &[0; 4096],
        &whole.as_bytes()[..whole.len() / 2],
        b"{}",
        b"null",
        b" \n",
        b"{\"topicConfigTable\":null}",
        b"[1,2]",
    ];
    for damage in damages {
        let store = two_generations();
        store.write("topics.json", damage);
        let backup = store.inode("topics.json.bak");
        let (mut directory, loaded) = store.load_topics();
        let what = String::from_utf8_lossy(damage);
        assert!(loaded.table.unwrap().same(&topics(1)), "{what}");
        assert!(loaded.ours && loaded.copy == LoadedFrom::Backup, "{what}");
        assert_eq!(loaded.notes.len(), 2, "{what}: {:?}", loaded.notes);
        assert_eq!(
            store.names(),
            ["topics.json", "topics.json.bad-TIME", "topics.json.bak"],
            "{what}"
        );
        assert_eq!(
            (
                store.generation("topics.json"),
                store.inode("topics.json.bak")
            ),
            (Some(1), backup),
            "{what}"
        );
        assert_ne!(store.inode("topics.json"), backup, "{what}");
        assert_eq!(store.aside("bad"), [damage], "{what}");
        assert_eq!(directory.survey().unwrap(), nothing_to_do(), "{what}");
    }
}

#[test]
fn the_notes_say_what_was_wrong_and_where_it_is_kept() {
    let store = two_generations();
    store.write("topics.json", [0; 16]);
    let (_directory, loaded) = store.load_topics();
    let config = store.config().display().to_string();
    let notes: Vec<String> = loaded
        .notes
        .iter()
        .map(|note| note.replace(&config, ""))
        .collect();
    let expected = [
        "/topics.json is damaged (it holds nothing but NUL bytes, as a power cut leaves a file that was not flushed); \
         its .bak is used",
        "what it held is in /topics.json.bad-20261201T000000.000Z",
    ];
    assert_eq!(notes, expected);
}

/// Field report 14.
#[test]
fn after_a_restore_and_one_commit_main_is_new_and_the_backup_is_the_old_good_one() {
    let store = two_generations();
    store.write("topics.json", "garbage");
    let mut directory = store.open();
    directory.commit(&topics(3)).unwrap();
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(3), Some(1))
    );
    assert_eq!(store.aside("bad"), [b"garbage"]);
}

#[test]
fn a_missing_main_is_made_again_from_the_backup_with_its_mode() {
    let store = two_generations();
    fs::remove_file(store.path("topics.json")).unwrap();
    fs::set_permissions(
        store.path("topics.json.bak"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    let (_directory, loaded) = store.load_topics();
    assert!(loaded.table.unwrap().same(&topics(1)));
    assert_eq!(store.names(), ["topics.json", "topics.json.bak"]);
    assert_eq!(mode_of(&store.path("topics.json")), 0o640);
}

/// A broker that finds a damaged `.bak` and no main does not start, which is better than one that starts empty.
#[test]
fn two_damaged_copies_are_no_table() {
    let store = two_generations();
    store.write("topics.json", "garbage");
    store.write("topics.json.bak", "more garbage");
    let (mut directory, loaded) = store.load_topics();
    assert!(loaded.table.is_none() && loaded.copy == LoadedFrom::Nothing);
    assert_eq!(loaded.notes.len(), 3, "{:?}", loaded.notes);
    assert_eq!(store.names(), ["topics.json.bad-TIME", "topics.json.bak"]);
    directory.commit(&topics(3)).unwrap();
    directory.commit(&topics(4)).unwrap();
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(4), Some(3))
    );
}

#[test]
fn the_newest_five_damaged_copies_are_kept() {
    let store = two_generations();
    for n in 0..8 {
        store.write("topics.json", format!("garbage {n}"));
        store.disk.let_pass(SignedDuration::from_secs(1));
        store.open();
    }
    let kept: Vec<String> = (3..8).map(|n| format!("garbage {n}")).collect();
    assert_eq!(
        store.aside("bad"),
        kept.iter().map(|text| text.as_bytes()).collect::<Vec<_>>()
    );
}

#[test]
fn copies_put_aside_in_one_instant_do_not_overwrite_each_other() {
    let store = two_generations();
    for n in 0..3 {
        store.write("topics.json", format!("garbage {n}"));
        store.open();
    }
    assert_eq!(
        store.aside("bad"),
        [b"garbage 0", b"garbage 1", b"garbage 2"]
    );
}

/// Field report 14: "permission denied" is no corruption.
#[test]
fn a_copy_that_cannot_be_read_is_an_error_and_no_restore() {
    for kind in [ErrorKind::PermissionDenied, ErrorKind::Other] {
        let store = two_generations();
        let before = store.names();
        let main = store.inode("topics.json");
        let mut directory = store.try_open().unwrap();
        store.disk.fail_read("topics.json", kind);
        let error = directory.load().unwrap_err();
        assert!(
            matches!(&error, StoreError::Io { step: "read", source, .. } if source.kind() == kind),
            "{error}"
        );
        store.disk.heal();
        assert_eq!((store.names(), store.inode("topics.json")), (before, main));
        // It goes on by itself when it can be read again.
        directory.load().unwrap();
        assert_eq!(directory.survey().unwrap(), nothing_to_do());
    }
}

/// A file beyond the limit for tables is not read: it would cost the host its memory.
#[test]
fn a_file_of_three_gigabytes_is_bad() {
    let store = two_generations();
    let file = fs::File::create(store.path("topics.json")).unwrap();
    file.set_len(3 << 30).unwrap();
    store.disk.take_log();
    let (_directory, loaded) = store.load_topics();
    let log = store.disk.take_log();
    assert!(!log.contains(&"read topics.json".to_owned()), "{log:?}");
    assert!(loaded.copy == LoadedFrom::Backup && loaded.ours);
    assert!(
        loaded.notes[0]
            .contains("it has 3221225472 bytes, over the limit of 2147483647 for a table"),
        "{:?}",
        loaded.notes
    );
}

/// Brokers up to 5.3.3 write main in place, and would tear both.
#[test]
fn a_backup_that_shares_main_s_file_gets_its_own() {
    let store = two_generations();
    fs::remove_file(store.path("topics.json.bak")).unwrap();
    fs::hard_link(store.path("topics.json"), store.path("topics.json.bak")).unwrap();
    let main = store.inode("topics.json");
    let mut directory = store.open();
    assert_eq!(store.inode("topics.json"), main);
    assert_ne!(store.inode("topics.json.bak"), main);
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(2), Some(2))
    );
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
}

/// Field report 48.
#[test]
fn ten_restarts_change_no_byte() {
    let store = Store::new();
    let mut directory = store.open();
    for kind in KINDS {
        directory.commit(&Table::empty(kind)).unwrap();
        directory.commit(&Table::empty(kind)).unwrap();
    }
    drop(directory);
    let without_lock = || {
        let mut files = store.everything();
        files.remove(&store.path(".locum.lock"));
        files
    };
    let before = without_lock();
    assert_eq!(before.len(), 9);
    for _ in 0..10 {
        let mut directory = store.open();
        assert_eq!(directory.survey().unwrap(), nothing_to_do());
    }
    assert_eq!(without_lock(), before);
}

#[test]
fn a_ledger_that_is_damaged_makes_strangers_of_the_files() {
    for text in ["{\"form", "{\"format\":2,\"content\":{}}", ""] {
        let store = two_generations();
        store.write(".locum.ledger", text);
        let mut directory = store.open();
        assert_eq!(directory.notes().len(), 1, "{:?}", directory.notes());
        assert_eq!(directory.survey().unwrap(), taken_over(&["topics.json"]));
        assert!(store.names().contains(&".locum.ledger.bad-TIME".to_owned()));
        directory.adopt(Adoption::Take).unwrap();
        assert_eq!(directory.survey().unwrap(), nothing_to_do());
    }
}

/// What brokers themselves wrote can be adopted, and is then base and `.bak` of what we write.
#[test]
fn files_of_real_brokers() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for (version, topics, groups) in [("4.9.7", 15, 12), ("5.5.0", 23, 13)] {
        let store = Store::new();
        for kind in KINDS {
            let from = fixtures
                .join(format!("{version}-persisted-master"))
                .join(kind.file);
            fs::copy(from, store.path(kind.file)).unwrap();
        }
        let mut directory = store.open();
        let all = [
            "topics.json",
            "consumerOffset.json",
            "delayOffset.json",
            "subscriptionGroup.json",
        ];
        assert_eq!(directory.survey().unwrap(), taken_over(&all), "{version}");
        let tables = directory.adopt(Adoption::Take).unwrap();
        assert!(
            tables
                .iter()
                .all(|loaded| loaded.ours && loaded.copy == LoadedFrom::Main),
            "{version}"
        );
        let lengths: Vec<usize> = tables
            .iter()
            .map(|loaded| loaded.table.as_ref().unwrap().len())
            .collect();
        assert_eq!((lengths[0], lengths[3]), (topics, groups), "{version}");
        let written = fs::read(store.path("topics.json")).unwrap();
        directory.commit(tables[0].table.as_ref().unwrap()).unwrap();
        assert_eq!(
            fs::read(store.path("topics.json.bak")).unwrap(),
            written,
            "{version}"
        );
        assert_eq!(tables[0].kind, &TOPICS);
    }
}
