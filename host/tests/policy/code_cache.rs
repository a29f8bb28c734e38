//! Compiled code that is kept: when it is used, and that nothing that is wrong with it matters.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use components::{broken, guests};
use locum::policy::{Engine, Policy};
use locum_tables::Slot;
use tempfile::TempDir;

use crate::support::{Script, keys, tick, topics};

/// A place for a cache.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("state/code")
    }

    /// An engine as a new process would have it.
    fn engine(&self) -> Engine {
        Engine::new().unwrap().with_code_cache(self.folder())
    }

    /// Loads a guest in a new process, which ends when its code is written.
    fn load(&self, guest: &str) -> Policy {
        let engine = self.engine();
        let policy = engine.load(guests().bytes(guest)).unwrap();
        engine.wait_for_code();
        policy
    }

    /// Whether the guest's code came from the cache.
    fn hit(&self) -> bool {
        self.load("marker-v1").from_cache()
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder()).into_iter().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// The one file that is there.
    fn file(&self) -> PathBuf {
        let mut files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn a_component_is_compiled_once_and_runs_from_the_cache_as_before() {
    let place = Place::new();
    assert!(!place.hit(), "nothing is there yet");
    let first = place.file();
    assert_eq!(first.extension().unwrap(), "cwasm");
    assert_eq!((mode(&place.folder()), mode(&first)), (0o700, 0o600));

    let cached = place.load("marker-v1");
    assert!(cached.from_cache());
    assert_eq!(place.file(), first, "it is not written again");
    let master = Arc::new(Script::new().serving(topics(&["a"], 1)));
    let done = cached.run(tick(Slot::Topic, master)).await.result.unwrap();
    assert_eq!(keys(&done.drafts[0]), ["a", "marker-v1"]);

    assert!(!place.load("marker-v2").from_cache(), "another component");
    assert_eq!(place.files().len(), 2);
}

#[test]
fn one_process_uses_what_it_has_written_itself() {
    let place = Place::new();
    let engine = place.engine();
    let load = || {
        engine
            .load(guests().bytes("marker-v1"))
            .unwrap()
            .from_cache()
    };
    assert!(!load());
    engine.wait_for_code();
    assert!(load());
}

#[test]
fn what_is_no_policy_is_not_kept() {
    let place = Place::new();
    let engine = place.engine();
    let trapping = broken::describe_traps();
    assert!(engine.load(trapping).is_err());
    engine.wait_for_code();
    assert_eq!(place.files(), Vec::<PathBuf>::new());
}

#[test]
fn a_damaged_file_means_compiling_again_and_is_written_anew() {
    let place = Place::new();
    assert!(!place.hit());
    let file = place.file();
    let whole = fs::read(&file).unwrap();
    let cut = |length: usize| whole[..length].to_vec();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let last = whole.len() - 1;
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("cut in the header", cut(40)),
        ("the header only", cut(56)),
        ("cut in the code", cut(whole.len() / 2)),
        ("without its last byte", cut(last)),
        ("another magic", flipped(0)),
        ("another length", flipped(16)),
        ("another hash", flipped(24)),
        ("another first byte", flipped(56)),
        ("another byte in the middle", flipped(whole.len() / 2)),
        ("another last byte", flipped(last)),
        ("zeroes, as after a power cut", vec![0; whole.len()]),
    ] {
        fs::write(&file, bytes).unwrap();
        assert!(!place.hit(), "{what}");
        assert!(place.hit(), "{what}: it was written anew");
    }
}

#[test]
fn code_under_the_name_of_another_component_is_not_used() {
    let place = Place::new();
    assert!(!place.hit());
    let first = place.file();
    place.load("marker-v2");
    let second = place.files().into_iter().find(|file| *file != first);
    fs::rename(second.unwrap(), &first).unwrap();
    assert!(!place.hit());
}

#[test]
fn a_file_that_others_could_have_written_is_not_used() {
    let place = Place::new();
    assert!(!place.hit());
    for mode in [0o620, 0o602, 0o666] {
        set_mode(&place.file(), mode);
        assert!(!place.hit(), "mode {mode:o}");
        assert!(place.hit(), "it was written anew");
    }
    if is_root() {
        chown(place.file(), Some(65534), None).unwrap();
        assert!(!place.hit(), "another owner");
        assert!(place.hit(), "it was written anew");
    }
}

#[test]
fn what_is_no_regular_file_is_not_used() {
    let place = Place::new();
    assert!(!place.hit());
    let file = place.file();
    let moved = place.0.path().join("moved");
    fs::rename(&file, &moved).unwrap();
    symlink(&moved, &file).unwrap();
    assert!(!place.hit(), "a link to good code");
    assert!(place.hit(), "it was written anew, in the link's place");
    assert!(fs::symlink_metadata(&file).unwrap().is_file());

    fs::remove_file(&file).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &file, pipe, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(!place.hit(), "a pipe");
    assert!(place.hit(), "it was written anew");

    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    for _ in 0..2 {
        assert!(!place.hit(), "a folder, which stays");
    }
    assert_eq!(place.files(), [file], "no temporary file is left");
}

#[test]
fn a_folder_that_is_not_ours_alone_is_not_used() {
    let place = Place::new();
    assert!(!place.hit());
    set_mode(&place.folder(), 0o770);
    assert!(!place.hit(), "its group may write");
    set_mode(&place.folder(), 0o700);
    assert!(place.hit());

    let moved = place.0.path().join("moved");
    fs::rename(place.folder(), &moved).unwrap();
    symlink(&moved, place.folder()).unwrap();
    assert!(!place.hit(), "a link");
    if is_root() {
        fs::remove_file(place.folder()).unwrap();
        fs::rename(&moved, place.folder()).unwrap();
        assert!(place.hit());
        chown(place.folder(), Some(65534), None).unwrap();
        assert!(!place.hit(), "another owner");
    }
}

#[test]
fn a_folder_that_cannot_be_had_means_compiling_each_time() {
    let place = Place::new();
    fs::write(place.0.path().join("state"), "a file").unwrap();
    assert!(!place.hit());
    assert!(!place.hit());

    // Nobody makes folders there, root neither.
    let nowhere = Engine::new().unwrap().with_code_cache("/proc/code".into());
    nowhere.load(guests().bytes("marker-v1")).unwrap();
    nowhere.wait_for_code();
    nowhere.prune_code(0);
}

#[test]
fn a_folder_that_cannot_be_written_is_still_read() {
    let place = Place::new();
    assert!(!place.hit());
    set_mode(&place.folder(), 0o500);
    assert!(place.hit());
    let second = place.load("marker-v2");
    assert!(!second.from_cache());
    // Root may write it all the same.
    assert_eq!(place.files().len(), if is_root() { 2 } else { 1 });
    set_mode(&place.folder(), 0o700);
}

#[test]
fn a_folder_that_is_removed_meanwhile_is_made_again() {
    let place = Place::new();
    let engine = place.engine();
    let load = || {
        engine
            .load(guests().bytes("marker-v1"))
            .unwrap()
            .from_cache()
    };
    assert!(!load());
    engine.wait_for_code();
    fs::remove_dir_all(place.folder()).unwrap();
    assert!(!load());
    engine.wait_for_code();
    assert!(load());
}

fn set_age(file: &Path, age: Duration) {
    let file = File::options().append(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn pruning_keeps_what_was_used_last() {
    let hour = Duration::from_secs(3600);
    let place = Place::new();
    place.engine().prune_code(2);
    for (guest, age) in [("marker-v1", 4), ("marker-v2", 3), ("misbehave", 2)] {
        let before = place.files();
        place.load(guest);
        let new = place
            .files()
            .into_iter()
            .find(|file| !before.contains(file));
        set_age(&new.unwrap(), hour * age);
    }
    assert!(place.hit(), "the oldest is used again");
    fs::write(place.folder().join("note.txt"), "not ours").unwrap();
    for (name, age) in [("1.0.tmp", hour), ("2.0.tmp", Duration::ZERO)] {
        fs::write(place.folder().join(name), "half of it").unwrap();
        set_age(&place.folder().join(name), age);
    }

    place.engine().prune_code(2);

    let names: Vec<_> = place
        .files()
        .iter()
        .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".cwasm"))
        .collect();
    assert_eq!(
        names,
        ["2.0.tmp", "note.txt"],
        "only a stale temporary file goes"
    );
    assert!(place.hit());
    assert!(place.load("misbehave").from_cache());
    assert!(
        !place.load("marker-v2").from_cache(),
        "the least recently used went"
    );
}

#[test]
fn using_code_is_noted_in_its_time() {
    let place = Place::new();
    assert!(!place.hit());
    set_age(&place.file(), Duration::from_secs(3600));
    let before = fs::metadata(place.file()).unwrap().mtime();
    assert!(place.hit());
    assert!(fs::metadata(place.file()).unwrap().mtime() > before + 3000);
}
