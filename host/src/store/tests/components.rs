use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::disk::TestDisk;
use super::mode_of;
use crate::hash::sha256;
use crate::store::{Components, RealDisk, StoreError};

struct Folder {
    _root: TempDir,
    path: PathBuf,
    components: Components,
}

impl Folder {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let path = root.path().join("state/components");
        Self {
            _root: root,
            components: Components::of_state(path.parent().unwrap()),
            path,
        }
    }

    fn keep(&self, bytes: &[u8]) -> String {
        let hash = sha256(bytes);
        self.components.keep(&RealDisk, &hash, bytes).unwrap();
        hash
    }

    fn load(&self, hash: &str) -> Option<Vec<u8>> {
        self.components.load(&RealDisk, hash).unwrap()
    }

    fn file(&self, hash: &str) -> PathBuf {
        self.path.join(format!("{hash}.wasm"))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn a_copy_is_kept_for_us_alone_and_read_again() {
    let folder = Folder::new();
    let hash = folder.keep(b"one");
    assert_eq!(folder.load(&hash).as_deref(), Some(&b"one"[..]));
    assert_eq!(folder.load(&sha256(b"two")), None);
    assert_eq!(folder.names(), [format!("{hash}.wasm")]);
    assert_eq!(mode_of(&folder.file(&hash)), 0o600);
    assert_eq!(mode_of(&folder.path), 0o700);
    assert_eq!(mode_of(folder.path.parent().unwrap()), 0o700);
}

#[test]
fn a_folder_that_was_never_made_holds_nothing() {
    let folder = Folder::new();
    assert_eq!(folder.load(&sha256(b"one")), None);
    folder
        .components
        .prune(&RealDisk, &BTreeSet::new())
        .unwrap();
    assert!(!folder.path.exists());
}

#[test]
fn a_copy_that_is_there_is_not_written_again() {
    let folder = Folder::new();
    let hash = folder.keep(b"one");
    let before = inode(&folder.file(&hash));
    folder.keep(b"one");
    assert_eq!(inode(&folder.file(&hash)), before);
}

#[test]
fn a_damaged_copy_counts_as_missing_and_is_written_anew() {
    let damages: [&[u8]; 4] = [b"", b"\0\0\0", b"on", b"onf"];
    for damage in damages {
        let folder = Folder::new();
        let hash = folder.keep(b"one");
        fs::write(folder.file(&hash), damage).unwrap();
        assert_eq!(folder.load(&hash), None);
        folder.keep(b"one");
        assert_eq!(folder.load(&hash).as_deref(), Some(&b"one"[..]));
    }
}

#[test]
fn a_copy_that_cannot_be_read_is_an_error_and_is_written_anew() {
    let folder = Folder::new();
    let hash = folder.keep(b"one");
    let disk = TestDisk::new();
    disk.fail_read(&format!("{hash}.wasm"), ErrorKind::PermissionDenied);
    let error = folder.components.load(&disk, &hash).unwrap_err();
    assert!(
        matches!(error, StoreError::Io { step: "read", .. }),
        "{error}"
    );
    let before = inode(&folder.file(&hash));
    folder.components.keep(&disk, &hash, b"one").unwrap();
    assert_ne!(inode(&folder.file(&hash)), before);
}

#[test]
fn a_copy_is_flushed_before_and_after_it_gets_its_name() {
    let folder = Folder::new();
    let disk = TestDisk::new();
    let hash = sha256(b"one");
    folder.components.keep(&disk, &hash, b"one").unwrap();
    let name = format!("{hash}.wasm");
    let log = disk.take_log();
    let tail = &log[log.len() - 6..];
    assert_eq!(
        tail,
        [
            "write tmp".to_owned(),
            "set_ownership tmp".to_owned(),
            "sync tmp".to_owned(),
            "stat tmp".to_owned(),
            format!("rename tmp -> {name}"),
            "sync_directory components".to_owned(),
        ]
    );
}

#[test]
fn a_copy_that_fails_at_any_call_is_whole_or_not_there() {
    for call in 0.. {
        let folder = Folder::new();
        let disk = TestDisk::new();
        disk.fail_at(call, ErrorKind::StorageFull);
        let hash = sha256(b"one");
        let failed = folder.components.keep(&disk, &hash, b"one").is_err();
        let kept = folder.load(&hash);
        assert!(kept.is_none() || kept.as_deref() == Some(b"one"));
        if folder.path.exists() {
            let unfinished = folder.names().iter().any(|name| name.ends_with(".tmp"));
            assert!(!unfinished, "call {call} leaves a temporary file");
        }
        // The first call is the look for a copy, and what it says does not matter.
        if !failed && call > 0 {
            assert!(call >= 9, "only {call} calls");
            assert!(kept.is_some());
            return;
        }
    }
}

#[test]
fn only_what_is_not_wanted_and_is_ours_is_removed() {
    let folder = Folder::new();
    let hashes = ["one", "two", "three", "fresh"].map(|text| folder.keep(text.as_bytes()));
    let copies = hashes.clone().map(|hash| format!("{hash}.wasm"));
    let old = ".locum.a.wasm.77-3.tmp";
    let new = ".locum.b.wasm.77-4.tmp";
    for name in [old, new, "README", "own.wasm"] {
        fs::write(folder.path.join(name), "").unwrap();
    }
    let hours_ago = SystemTime::now() - Duration::from_hours(2);
    let aged = copies[..3].iter().map(String::as_str);
    for name in aged.chain([old, "README", "own.wasm"]) {
        let file = File::options().write(true).open(folder.path.join(name));
        file.unwrap().set_modified(hours_ago).unwrap();
    }
    let keep = BTreeSet::from([hashes[1].clone(), sha256(b"four")]);
    folder.components.prune(&RealDisk, &keep).unwrap();
    // The record that names the last one may not be written yet.
    let mut expected = [new, "README", "own.wasm", &copies[1], &copies[3]];
    expected.sort_unstable();
    assert_eq!(folder.names(), expected);
}
