//! Damaged and foreign files are evidence, and perhaps all that somebody has: they are kept, within bounds.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::disk::Disk;
use super::error::{During, StoreError};
use super::write::{NAME_ATTEMPTS, cannot_link, copy, file_name, parent};

/// So many copies are kept of each file, for each reason.
const KEPT: usize = 5;

/// Keeps what is in `main` under a name that says why and when, and drops the oldest such copies. Main stays.
pub(super) fn put_aside(
    disk: &dyn Disk,
    main: &Path,
    name: &Path,
    why: &str,
) -> Result<PathBuf, StoreError> {
    let base = format!("{}.{why}-", file_name(name));
    let now = disk.now();
    for attempt in 0..NAME_ATTEMPTS {
        let time = now + SignedDuration::from_millis(i64::from(attempt));
        let aside = name.with_file_name(format!("{base}{}", in_name(time)));
        match disk.link(main, &aside) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) if cannot_link(error.kind()) => copy(disk, main, &aside)?,
            Err(error) => return Err(error).during("put aside", main),
        }
        keep_newest(disk, parent(name), &base)?;
        return Ok(aside);
    }
    Err(ErrorKind::AlreadyExists.into()).during("put aside", main)
}

fn keep_newest(disk: &dyn Disk, directory: &Path, base: &str) -> Result<(), StoreError> {
    let mut names = disk.list(directory).during("list", directory)?;
    names.retain(|name| name.starts_with(base));
    names.sort_unstable();
    for name in names.iter().rev().skip(KEPT) {
        let path = directory.join(name);
        disk.remove(&path).during("remove", &path)?;
    }
    Ok(())
}

/// UTC, to the millisecond, so that names sort by time.
fn in_name(time: Timestamp) -> String {
    time.strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}
