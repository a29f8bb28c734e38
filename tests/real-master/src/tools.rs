//! Whether this machine can run real brokers at all.

use std::env;
use std::io::{self, Write};

/// Programs that real brokers need and this machine lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("real RocketMQ brokers need {} in PATH", programs.join(" and "))]
pub struct Missing {
    /// Their names.
    pub programs: Vec<&'static str>,
}

/// Whether Java and Maven are there.
///
/// # Errors
///
/// Names the programs that are not in `PATH`.
pub fn available() -> Result<(), Missing> {
    let programs: Vec<_> = ["java", "mvn"]
        .into_iter()
        .filter(|program| !in_path(program))
        .collect();
    if programs.is_empty() {
        return Ok(());
    }
    Err(Missing { programs })
}

/// Whether a test must be skipped for want of Java or Maven. It says so on the terminal even when the test runner
/// captures output, so that nobody takes a skipped test for a passed one.
///
/// # Panics
///
/// Where `CI` is set: there nothing is skipped.
#[must_use]
pub fn skipped(test: &str) -> bool {
    let Err(missing) = available() else {
        return false;
    };
    assert!(env::var_os("CI").is_none(), "{test}: {missing}");
    // The handle itself is not captured, unlike `eprintln!`. Nothing can be done when stderr is closed.
    let _ = writeln!(io::stderr(), "SKIPPED {test}: {missing}");
    true
}

fn in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
