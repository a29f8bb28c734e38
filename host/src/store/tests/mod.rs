//! The store on real directories, through a disk that records, fails and lies on demand.

mod broker;
mod commit;
mod components;
mod disk;
mod faults;
mod kept;
mod load;
mod peek;
mod records;
mod recover;
mod taken_over;
mod verify;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use locum_tables::{ReadLimits, TOPICS, Table, TableKind};
use tempfile::TempDir;

use self::disk::TestDisk;
use super::{Directory, Loaded, OpenError, Ownership, Standing};

/// Until it runs another program, a child has a copy of all our open files, and so of our locks. No lock is asked for in
/// that time: the last test's could still be held.
static SPAWNING: RwLock<()> = RwLock::new(());

/// Starts a child and returns when it certainly runs that program; that `spawn` has returned does not say so.
fn while_nobody_locks<T>(start: impl FnOnce() -> T) -> T {
    let _guard = SPAWNING.write().unwrap_or_else(PoisonError::into_inner);
    start()
}

/// A broker's store root with a `config` directory in it, and the disk under it.
struct Store {
    root: TempDir,
    disk: Arc<TestDisk>,
}

impl Store {
    fn new() -> Self {
        let store = Self {
            root: TempDir::new().unwrap(),
            disk: Arc::new(TestDisk::new()),
        };
        fs::create_dir(store.config()).unwrap();
        store
    }

    fn config(&self) -> PathBuf {
        self.root.path().join("config")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.config().join(name)
    }

    fn try_open(&self) -> Result<Directory, OpenError> {
        Directory::open(&self.config(), Ownership::default(), self.disk.clone())
    }

    /// Opened and loaded, as a replica does at its start.
    fn open(&self) -> Directory {
        let mut directory = self.try_open().unwrap();
        directory.load().unwrap();
        directory
    }

    /// Opened, with what was found of the topics.
    fn load_topics(&self) -> (Directory, Loaded) {
        let mut directory = self.try_open().unwrap();
        let loaded = topics_of(directory.load().unwrap());
        (directory, loaded)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn inode(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).unwrap().ino()
    }

    /// Names in `config`, without our lock and ledger, times in names made `TIME`.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.config())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| ![".locum.lock", ".locum.ledger"].contains(&name.as_str()))
            .map(|name| without_time(&name))
            .collect();
        names.sort_unstable();
        names
    }

    /// The number of topics in a file, which tells generations apart; `None` if it is not whole.
    fn generation(&self, name: &str) -> Option<usize> {
        let text = fs::read(self.path(name)).ok()?;
        Table::from_file(&TOPICS, &text, &ReadLimits::default())
            .ok()
            .map(|table| table.len())
    }

    /// The text that was put aside for the reason, oldest first.
    fn aside(&self, why: &str) -> Vec<Vec<u8>> {
        let begin = format!("topics.json.{why}-");
        let mut paths: Vec<PathBuf> = fs::read_dir(self.config())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.retain(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(&begin)
        });
        paths.sort_unstable();
        paths.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    /// Every file with its bytes, inode and time.
    fn everything(&self) -> BTreeMap<PathBuf, (Vec<u8>, u64, i64, i64)> {
        fs::read_dir(self.config())
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let metadata = fs::metadata(&path).unwrap();
                let state = (
                    fs::read(&path).unwrap(),
                    metadata.ino(),
                    metadata.mtime(),
                    metadata.mtime_nsec(),
                );
                (path, state)
            })
            .collect()
    }
}

/// Generation `count` of the topics: that many of them.
fn topics(count: usize) -> Table {
    Table::from_file(
        &TOPICS,
        topics_text(count).as_bytes(),
        &ReadLimits::default(),
    )
    .unwrap()
}

fn topics_text(count: usize) -> String {
    let entries: Vec<String> = (0..count)
        .map(|n| format!("\"T{n}\":{{\"topicName\":\"T{n}\",\"perm\":6}}"))
        .collect();
    let version = format!("{{\"stateVersion\":0,\"timestamp\":1,\"counter\":{count}}}");
    format!(
        "{{\"dataVersion\":{version},\"topicConfigTable\":{{{}}}}}",
        entries.join(",")
    )
}

fn topics_of(loaded: Vec<Loaded>) -> Loaded {
    loaded
        .into_iter()
        .find(|loaded| *loaded.kind == TOPICS)
        .unwrap()
}

/// The standing in which all is as it should be.
fn nothing_to_do() -> Standing {
    Standing::Ours {
        rewrite: Vec::new(),
        unreadable: Vec::new(),
    }
}

fn rewrite(kind: &'static TableKind) -> Standing {
    Standing::Ours {
        rewrite: vec![kind],
        unreadable: Vec::new(),
    }
}

fn taken_over(files: &[&str]) -> Standing {
    Standing::TakenOver {
        files: files.iter().map(|file| (*file).to_owned()).collect(),
    }
}

fn without_time(name: &str) -> String {
    match name.rsplit_once('-') {
        Some((begin, time)) if time.ends_with('Z') => format!("{begin}-TIME"),
        _ => name.to_owned(),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}
