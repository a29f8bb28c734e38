//! This process, for tests that measure it: `cargo test` runs many tests in one.

use std::process::Stdio;

use tokio::process::Command;

const ALONE: &str = "LOCUM_TEST_ALONE";

/// Whether the test of this name, with its modules, is the only one of its process. If it is not, it has been run to its good
/// end in a process of its own.
pub(crate) async fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|only| only == test) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let command = command
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, test)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    // Its own waits have an end.
    let ran = command.output().await.unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(
        ran.status.success() && stdout.contains("1 passed"),
        "{test} failed in a process of its own:\n{stdout}\n{stderr}"
    );
    false
}

/// Bytes of memory that this process has now.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.unwrap().parse::<u64>().unwrap() * 1024
}
