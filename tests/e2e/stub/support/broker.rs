//! A process that holds a broker's lock as a broker does: a POSIX record lock is not seen by the process that holds it.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use locum::store::{RealDisk, broker_lock};
use rustix::fs::{FlockOperation, fcntl_lock};

const LOCK: &str = "LOCUM_TEST_BROKER_LOCK";
const HOLDS: &str = "holds the lock";
const TEST: &str = "a_brokers_lock_is_seen_from_outside_and_ends_with_its_process";

/// Ends when dropped.
pub(crate) struct Broker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Broker {
    /// On a store root. Returns when the lock is held.
    pub(crate) fn start(store: &Path) -> Self {
        let test = format!("{}::{TEST}", module_path!().split_once("::").unwrap().1);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test, "--nocapture"])
            .env(LOCK, store.join("lock"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let lines = stdout.by_ref().lines();
        let held = lines.map(Result::unwrap).any(|line| line.contains(HOLDS));
        assert!(held, "the broker's process ended early");
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            stdout,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Its last words, so that it can say them.
        self.stdout.read_to_end(&mut Vec::new()).unwrap();
        self.child.wait().unwrap();
    }
}

/// Also what every [`Broker`] runs in its process.
#[test]
fn a_brokers_lock_is_seen_from_outside_and_ends_with_its_process() {
    if let Some(path) = std::env::var_os(LOCK) {
        return hold(Path::new(&path));
    }
    let root = tempfile::tempdir().unwrap();
    let config = root.path().join("config");
    std::fs::create_dir(&config).unwrap();
    let holder = || broker_lock(&RealDisk, &config).unwrap();
    assert_eq!(holder(), None);
    let broker = Broker::start(root.path());
    let pid = i32::try_from(broker.pid()).unwrap();
    assert_eq!(holder().unwrap().pid, Some(pid));
    drop(broker);
    assert_eq!(holder(), None);
}

/// As `DefaultMessageStore.start`: takes the lock, writes into the file. Until its input ends.
fn hold(path: &Path) {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path).unwrap();
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    file.write_all(b"lock").unwrap();
    let mut told = std::io::stdout().lock();
    told.write_all(format!("{HOLDS}\n").as_bytes()).unwrap();
    told.flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
