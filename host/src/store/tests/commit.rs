use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use locum_tables::{CONSUMER_OFFSETS, KINDS, TOPICS, Table};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{
    Store, is_root, mode_of, nothing_to_do, rewrite, topics, topics_text, while_nobody_locks,
};
use crate::store::{Directory, OpenError, Ownership, RealDisk, Record, Standing, StoreError};

#[test]
fn a_first_commit_makes_main_readable_by_all_and_no_backup() {
    let store = Store::new();
    let commit = store.open().commit(&topics(1)).unwrap();
    assert_eq!(store.names(), ["topics.json"]);
    assert_eq!(
        fs::read(store.path("topics.json")).unwrap(),
        topics(1).to_file()
    );
    assert_eq!(commit.bytes, topics(1).to_file().len() as u64);
    assert_eq!(mode_of(&store.path("topics.json")), 0o644);
}

#[test]
fn the_backup_is_the_generation_before() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    let first = store.inode("topics.json");
    directory.commit(&topics(2)).unwrap();
    directory.commit(&topics(3)).unwrap();
    assert_eq!(store.names(), ["topics.json", "topics.json.bak"]);
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(3), Some(2))
    );
    assert_ne!(store.inode("topics.json"), first);
}

/// Field reports 13, 14: the content is flushed before it has a name, and the names after.
#[test]
fn the_order_of_a_commit() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    store.disk.take_log();
    directory.commit(&topics(2)).unwrap();
    let mut log = store.disk.take_log();
    log.retain(|call| {
        !["stat", "resolve", "lock_holder"].contains(&call.split(' ').next().unwrap())
    });
    let expected = [
        "create tmp",
        "write tmp",
        "set_ownership tmp",
        "sync tmp",
        // The ledger, so that a host killed from here on knows its own file again.
        "create tmp",
        "write tmp",
        "set_ownership tmp",
        "sync tmp",
        "rename tmp -> .locum.ledger",
        "sync_directory config",
        "link topics.json -> tmp",
        "rename tmp -> topics.json.bak",
        "rename tmp -> topics.json",
        "sync_directory config",
    ];
    assert_eq!(log, expected);
}

#[test]
fn a_new_main_has_mode_and_owner_of_the_old_one() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    let main = store.path("topics.json");
    fs::set_permissions(&main, fs::Permissions::from_mode(0o640)).unwrap();
    if is_root() {
        chown(&main, Some(12345), Some(23456)).unwrap();
    }
    directory.commit(&topics(2)).unwrap();
    directory.commit(&topics(3)).unwrap();
    for name in ["topics.json", "topics.json.bak"] {
        let metadata = fs::metadata(store.path(name)).unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o640, "{name}");
        if is_root() {
            assert_eq!((metadata.uid(), metadata.gid()), (12345, 23456), "{name}");
        }
    }
}

#[test]
fn a_first_main_and_its_directory_have_the_configured_owner() {
    if !is_root() {
        return;
    }
    let store = Store::new();
    let ownership = Ownership {
        mode: 0o664,
        owner: Some(12345),
        group: Some(23456),
    };
    let path = store.root.path().join("new/config");
    let mut directory = Directory::open(&path, ownership, store.disk.clone()).unwrap();
    directory.load().unwrap();
    directory.commit(&topics(1)).unwrap();
    let owner = |path: &Path| {
        fs::metadata(path)
            .map(|metadata| (metadata.uid(), metadata.gid()))
            .unwrap()
    };
    assert_eq!(mode_of(&path.join("topics.json")), 0o664);
    assert_eq!(owner(&path.join("topics.json")), (12345, 23456));
    assert_eq!(owner(&path), (12345, 23456));
    assert_eq!(owner(path.parent().unwrap()), (12345, 23456));
    assert_eq!(mode_of(&path), 0o755);
}

const UMASK_ROOT: &str = "LOCUM_TEST_UMASK_ROOT";

/// As systemd units set it, and a broker under another user has to get to the files. The umask is the process's, so this test
/// runs itself again in one of its own, which makes the directories.
#[test]
fn directories_have_their_mode_whatever_the_umask() {
    if let Some(root) = std::env::var_os(UMASK_ROOT) {
        return make_directories(Path::new(&root));
    }
    let store = Store::new();
    let this = format!(
        "{}::directories_have_their_mode_whatever_the_umask",
        module_path!().split_once("::").unwrap().1
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 077 && exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(this)
        .env(UMASK_ROOT, store.root.path());
    let status = while_nobody_locks(|| command.status()).unwrap();
    assert!(status.success());
    let mode = |name: &str| mode_of(&store.root.path().join(name));
    assert_eq!(
        [mode("new"), mode("new/config"), mode("state")],
        [0o755, 0o755, 0o700]
    );
}

fn make_directories(root: &Path) {
    let config = root.join("new/config");
    Directory::open(&config, Ownership::default(), Arc::new(RealDisk)).unwrap();
    Record::default()
        .save(&RealDisk, &root.join("state/a.json"))
        .unwrap();
}

/// Nobody knows what it was; it may be all that somebody has.
#[test]
fn a_backup_that_is_not_ours_is_put_aside() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    store.write("topics.json.bak", topics_text(7));
    let commit = directory.commit(&topics(2)).unwrap();
    assert!(
        commit.notes[0].contains("topics.json.bak was not ours"),
        "{:?}",
        commit.notes
    );
    assert_eq!(
        store.names(),
        [
            "topics.json",
            "topics.json.bak",
            "topics.json.bak.aside-TIME"
        ]
    );
    assert_eq!(store.generation("topics.json.bak"), Some(1));
}

/// A slot whose file is not to be read keeps nobody else from theirs.
#[test]
fn a_main_that_cannot_be_read_concerns_its_own_table_alone() {
    let obstacles: [fn(&Path); 3] = [
        |path| fs::create_dir(path).unwrap(),
        |path| symlink(path, path).unwrap(),
        |path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap(),
    ];
    for obstacle in obstacles {
        let store = Store::new();
        let mut directory = store.open();
        directory.commit(&topics(1)).unwrap();
        directory.commit(&Table::empty(&CONSUMER_OFFSETS)).unwrap();
        fs::remove_file(store.path("topics.json")).unwrap();
        obstacle(&store.path("topics.json"));
        match directory.survey().unwrap() {
            Standing::Ours {
                rewrite,
                unreadable,
            } => {
                assert!(rewrite.is_empty(), "{rewrite:?}");
                assert_eq!(unreadable.len(), 1);
                assert_eq!(unreadable[0].kind, &TOPICS);
                assert!(
                    unreadable[0].error.contains("topics.json: "),
                    "{unreadable:?}"
                );
            }
            other => panic!("{other:?}"),
        }
        directory.commit(&Table::empty(&CONSUMER_OFFSETS)).unwrap();
        let error = directory.commit(&topics(2)).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        // After a broker it may be the broker's last word.
        store.disk.hold(Some(4711));
        directory.survey().unwrap();
        store.disk.hold(None);
        directory.survey().unwrap_err();
        directory
            .commit(&Table::empty(&CONSUMER_OFFSETS))
            .unwrap_err();
    }
}

/// Field report 93. Our choice: follow the link and keep it.
#[test]
fn a_linked_main_stays_a_link() {
    let store = Store::new();
    let elsewhere = store.root.path().join("elsewhere.json");
    symlink("../elsewhere.json", store.path("topics.json")).unwrap();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    directory.commit(&topics(2)).unwrap();
    assert!(
        fs::symlink_metadata(store.path("topics.json"))
            .unwrap()
            .is_symlink()
    );
    assert!(!fs::symlink_metadata(&elsewhere).unwrap().is_symlink());
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(2), Some(1))
    );
    assert_eq!(store.names(), ["topics.json", "topics.json.bak"]);
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
}

#[test]
fn a_backup_is_copied_where_a_link_is_not_possible() {
    for kind in [
        ErrorKind::CrossesDevices,
        ErrorKind::PermissionDenied,
        ErrorKind::Unsupported,
    ] {
        let store = Store::new();
        let mut directory = store.open();
        directory.commit(&topics(1)).unwrap();
        fs::set_permissions(store.path("topics.json"), fs::Permissions::from_mode(0o640)).unwrap();
        store.disk.fail_each("link", kind);
        directory.commit(&topics(2)).unwrap();
        assert_eq!(
            (
                store.generation("topics.json"),
                store.generation("topics.json.bak")
            ),
            (Some(2), Some(1))
        );
        assert_eq!(mode_of(&store.path("topics.json.bak")), 0o640);
        assert_eq!(store.names(), ["topics.json", "topics.json.bak"]);
    }
}

/// Field report 29.
#[test]
fn a_second_host_is_told_who_keeps_the_directory() {
    let store = Store::new();
    let first = store.open();
    match store.try_open().err().unwrap() {
        OpenError::Store(StoreError::Locked { directory, holder }) => {
            assert_eq!(directory, store.config());
            assert_eq!(holder, format!("pid {}", std::process::id()));
        }
        other => panic!("{other}"),
    }
    drop(first);
    store.open();
}

#[test]
fn what_a_killed_host_left_unfinished_is_removed_at_open() {
    let store = Store::new();
    store.write(".locum.topics.json.77-3.tmp", "{\"topicConf");
    store.write("topics.json.tmp", "a broker's");
    store.open();
    assert_eq!(store.names(), ["topics.json.tmp"]);
}

/// Field report 80: some file systems cannot flush a directory.
#[test]
fn a_directory_that_cannot_be_flushed_does_not_stop_a_commit() {
    for kind in [ErrorKind::InvalidInput, ErrorKind::Unsupported] {
        let store = Store::new();
        let mut directory = store.open();
        store.disk.fail_each("sync_directory", kind);
        directory.commit(&topics(1)).unwrap();
        assert_eq!(store.generation("topics.json"), Some(1));
        assert_eq!(directory.survey().unwrap(), nothing_to_do());
    }
}

#[test]
fn a_directory_flush_that_fails_fails_the_commit_and_the_next_one_writes() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    store.disk.take_log();
    directory.commit(&topics(2)).unwrap();
    let last = store.disk.take_log().len() - 1;
    store.disk.fail_at(last, ErrorKind::Other);
    assert_eq!(
        directory.commit(&topics(3)).unwrap_err().to_string(),
        format!("cannot flush the directory {}", store.config().display())
    );
    store.disk.heal();
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    directory.commit(&topics(2)).unwrap();
    assert_eq!(store.generation("topics.json"), Some(2));
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
}

#[test]
fn a_deleted_main_is_written_again() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
    fs::remove_file(store.path("topics.json")).unwrap();
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    directory.commit(&topics(1)).unwrap();
    assert_eq!(store.generation("topics.json"), Some(1));
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
}

#[test]
fn a_main_that_was_never_committed_is_not_missed() {
    let store = Store::new();
    assert_eq!(store.open().survey().unwrap(), nothing_to_do());
    assert!(store.names().is_empty());
}

#[test]
fn a_damaged_main_is_put_aside_and_the_backup_stays_good() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    directory.commit(&topics(2)).unwrap();
    store.write("topics.json", "{\"topicConf");
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    let commit = directory.commit(&topics(3)).unwrap();
    assert_eq!(
        store.names(),
        ["topics.json", "topics.json.bad-TIME", "topics.json.bak"]
    );
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(3), Some(1))
    );
    assert_eq!(store.aside("bad"), [b"{\"topicConf"]);
    assert_eq!(commit.notes.len(), 1);
}

#[test]
fn a_whole_main_that_somebody_changed_is_put_aside_and_written_again() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    store.write("topics.json", topics_text(7));
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    let commit = directory.commit(&topics(1)).unwrap();
    assert_eq!(store.names(), ["topics.json", "topics.json.aside-TIME"]);
    assert_eq!(store.generation("topics.json"), Some(1));
    assert_eq!(store.aside("aside"), [topics_text(7).as_bytes()]);
    assert!(
        commit.notes[0].contains("was changed by somebody, and no broker was seen"),
        "{:?}",
        commit.notes
    );
}

#[test]
fn a_backup_that_somebody_renamed_to_main_is_ours_but_not_current() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    directory.commit(&topics(2)).unwrap();
    fs::rename(store.path("topics.json.bak"), store.path("topics.json")).unwrap();
    assert_eq!(directory.survey().unwrap(), rewrite(&TOPICS));
    assert!(directory.commit(&topics(2)).unwrap().notes.is_empty());
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(2), Some(1))
    );
}

/// rename(2) between two names of one file does nothing and would leave the temporary name.
#[test]
fn a_backup_that_is_main_already_leaves_no_second_name() {
    let store = Store::new();
    let mut directory = store.open();
    directory.commit(&topics(1)).unwrap();
    fs::hard_link(store.path("topics.json"), store.path("topics.json.bak")).unwrap();
    directory.commit(&topics(2)).unwrap();
    assert_eq!(store.names(), ["topics.json", "topics.json.bak"]);
    assert_eq!(
        (
            store.generation("topics.json"),
            store.generation("topics.json.bak")
        ),
        (Some(2), Some(1))
    );
}

#[test]
fn every_kind_has_its_own_file() {
    let store = Store::new();
    let mut directory = store.open();
    for kind in KINDS {
        directory.commit(&Table::empty(kind)).unwrap();
    }
    let names = [
        "consumerOffset.json",
        "delayOffset.json",
        "subscriptionGroup.json",
        "topics.json",
    ];
    assert_eq!(store.names(), names);
    assert_eq!(directory.survey().unwrap(), nothing_to_do());
}

/// Field report 43.
#[test]
fn a_directory_with_metadata_in_rocksdb_is_refused() {
    for folder in [
        "topics",
        "subscriptionGroups",
        "consumerOffsets",
        "metadata",
        "rdb",
    ] {
        let store = Store::new();
        fs::create_dir(store.path(folder)).unwrap();
        store.open();
        fs::write(store.path(folder).join("CURRENT"), "MANIFEST-000001\n").unwrap();
        let error = store.try_open().err().unwrap();
        assert!(matches!(&error, OpenError::RocksDb { folders, .. } if folders == &[folder]));
        assert!(
            error.to_string().contains("ignores the files beside it"),
            "{error}"
        );
    }
}

#[test]
fn the_real_disk_says_what_is_there() {
    use crate::store::Disk;
    let store = Store::new();
    assert!(RealDisk.read(&store.path("nothing")).unwrap().is_none());
    assert!(
        RealDisk
            .stat(&store.path("nothing/below"))
            .unwrap()
            .is_none()
    );
    assert_eq!(
        RealDisk.read(&store.config()).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    symlink("b", store.path("a")).unwrap();
    symlink("a", store.path("b")).unwrap();
    assert!(RealDisk.resolve(&store.path("a")).is_err());
}
