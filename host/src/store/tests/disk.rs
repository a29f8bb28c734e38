//! The real disk with a log, faults, a clock that stands still, and a broker that need not exist.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::{SignedDuration, Timestamp};

use crate::store::{Disk, Holder, Locking, NewFile, Ownership, RealDisk, Stat};

/// What goes wrong.
#[derive(Clone)]
enum Fault {
    /// The call with this number fails, once. A write has then written half.
    At(usize, ErrorKind),
    /// No call from this one on does anything: the process was killed, or the power went.
    DeadFrom(usize),
    /// Every call of this name fails.
    Each(&'static str, ErrorKind),
    /// A read of a file with this name fails.
    Read(String, ErrorKind),
}

#[derive(Default)]
struct State {
    log: Vec<String>,
    fault: Option<Fault>,
    holder: Option<Holder>,
    /// The file system has no hard links.
    no_links: bool,
    /// A broker comes after so many more looks at the lock.
    comes_after: Option<usize>,
    passed: SignedDuration,
    /// Inode and path of files that were written and not flushed.
    unflushed: BTreeMap<u64, PathBuf>,
}

#[derive(Default, Clone)]
pub(super) struct TestDisk(Arc<Mutex<State>>);

impl TestDisk {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// The log so far, which is emptied.
    pub(super) fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.state().log)
    }

    /// Lets one call fail, counted from now.
    pub(super) fn fail_at(&self, call: usize, kind: ErrorKind) {
        self.set_fault(Fault::At(call, kind));
    }

    /// Lets nothing happen from a call on, counted from now.
    pub(super) fn die_at(&self, call: usize) {
        self.set_fault(Fault::DeadFrom(call));
    }

    pub(super) fn fail_each(&self, name: &'static str, kind: ErrorKind) {
        self.set_fault(Fault::Each(name, kind));
    }

    pub(super) fn fail_read(&self, name: &str, kind: ErrorKind) {
        self.set_fault(Fault::Read(name.to_owned(), kind));
    }

    pub(super) fn heal(&self) {
        self.state().fault = None;
    }

    pub(super) fn without_links(&self) {
        self.state().no_links = true;
    }

    /// What a power cut leaves of files that were not flushed: their length, and zeros.
    pub(super) fn lose_what_was_not_flushed(&self, directory: &Path) {
        let lost = std::mem::take(&mut self.state().unflushed);
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::metadata(&path).unwrap();
            if lost.contains_key(&metadata.ino()) {
                fs::write(&path, vec![0; usize::try_from(metadata.len()).unwrap()]).unwrap();
            }
        }
    }

    /// A broker holds the lock, or none does.
    pub(super) fn hold(&self, pid: Option<i32>) {
        self.state().holder = pid.map(|pid| Holder { pid: Some(pid) });
    }

    /// A broker comes after so many more looks.
    pub(super) fn broker_comes_after(&self, looks: usize) {
        self.state().comes_after = Some(looks);
    }

    pub(super) fn let_pass(&self, time: SignedDuration) {
        self.state().passed += time;
    }

    fn set_fault(&self, fault: Fault) {
        let mut state = self.state();
        state.log.clear();
        state.fault = Some(fault);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Notes a call, and fails it if that is due.
    fn call(&self, name: &'static str, path: &Path, other: Option<&Path>) -> io::Result<()> {
        let mut state = self.state();
        let number = state.log.len();
        let text = match other {
            Some(other) => format!("{name} {} -> {}", short(path), short(other)),
            None => format!("{name} {}", short(path)),
        };
        state.log.push(text);
        match &state.fault {
            Some(Fault::At(at, kind)) if *at == number => Err((*kind).into()),
            Some(Fault::DeadFrom(from)) if number >= *from => Err(io::Error::other("dead")),
            Some(Fault::Each(which, kind)) if *which == name => Err((*kind).into()),
            Some(Fault::Read(file, kind)) if name == "read" && path.ends_with(file) => {
                Err((*kind).into())
            }
            _ => Ok(()),
        }
    }
}

/// The last part of a path, unfinished files all the same.
fn short(path: &Path) -> String {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    if name.ends_with(".tmp") {
        "tmp".to_owned()
    } else {
        super::without_time(&name)
    }
}

impl Disk for TestDisk {
    fn now(&self) -> Timestamp {
        "2026-12-01T00:00:00Z".parse::<Timestamp>().unwrap() + self.state().passed
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        self.call("stat", path, None)?;
        RealDisk.stat(path)
    }

    fn read(&self, path: &Path) -> io::Result<Option<(Stat, Vec<u8>)>> {
        self.call("read", path, None)?;
        RealDisk.read(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.call("list", directory, None)?;
        RealDisk.list(directory)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.call("resolve", path, None)?;
        RealDisk.resolve(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.call("create", path, None)?;
        let file = RealDisk.create(path)?;
        let inode = file.stat()?.identity.inode;
        self.state().unflushed.insert(inode, path.to_path_buf());
        Ok(Box::new(TestFile {
            file,
            path: path.to_path_buf(),
            disk: self.clone(),
        }))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("link", from, Some(to))?;
        if self.state().no_links {
            return Err(ErrorKind::Unsupported.into());
        }
        RealDisk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename", from, Some(to))?;
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call("remove", path, None)?;
        RealDisk.remove(path)
    }

    fn create_directory(&self, path: &Path, ownership: &Ownership) -> io::Result<()> {
        self.call("create_directory", path, None)?;
        RealDisk.create_directory(path, ownership)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        // Not really: no power is cut here, and thousands of commits are made.
        self.call("sync_directory", directory, None)
    }

    fn lock(&self, path: &Path, text: &str) -> io::Result<Locking> {
        self.call("lock", path, None)?;
        let _nobody_spawns = super::SPAWNING
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        RealDisk.lock(path, text)
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<Holder>> {
        self.call("lock_holder", path, None)?;
        let mut state = self.state();
        match &mut state.comes_after {
            Some(0) => state.holder = Some(Holder { pid: Some(4711) }),
            Some(looks) => *looks -= 1,
            None => {}
        }
        if state.holder.is_some() {
            return Ok(state.holder);
        }
        drop(state);
        RealDisk.lock_holder(path)
    }
}

struct TestFile {
    file: Box<dyn NewFile>,
    path: PathBuf,
    disk: TestDisk,
}

impl NewFile for TestFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.disk.call("write", &self.path, None) {
            self.file.write(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.file.write(bytes)
    }

    fn set_ownership(&mut self, ownership: &Ownership) -> io::Result<()> {
        self.disk.call("set_ownership", &self.path, None)?;
        self.file.set_ownership(ownership)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.call("sync", &self.path, None)?;
        let inode = self.file.stat()?.identity.inode;
        self.disk.state().unflushed.remove(&inode);
        Ok(())
    }

    fn stat(&self) -> io::Result<Stat> {
        self.disk.call("stat", &self.path, None)?;
        self.file.stat()
    }
}
