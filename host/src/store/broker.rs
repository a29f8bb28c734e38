//! Is a broker there, was one there? It holds a POSIX record lock on `lock` in its store root, the parent of `config`
//! (`DefaultMessageStore.start`), from its start to its end. We ask and never take it: 5.5.0 that finds it taken
//! rewrites files and exits.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::disk::{Disk, FileIdentity, Holder};
use super::error::{During, StoreError};

/// A broker counts as seen for so long after its lock became free: 4.9.7 gives the lock back in `messageStore.shutdown`
/// and writes consumerOffset.json after that, with a call to its name servers between.
const FAREWELL: SignedDuration = SignedDuration::from_secs(60);

/// Who holds the lock of the broker whose metadata directory is `directory`, if anybody does.
pub fn broker_lock(disk: &dyn Disk, directory: &Path) -> Result<Option<Holder>, StoreError> {
    for lock in lock_files(directory)? {
        if let Some(holder) = disk.lock_holder(&lock).during("ask for the lock", &lock)? {
            return Ok(Some(holder));
        }
    }
    Ok(None)
}

/// Both parents of a directory that is a symbolic link: a broker may have been given either.
fn lock_files(directory: &Path) -> Result<[PathBuf; 2], StoreError> {
    let absolute = std::path::absolute(directory).during("find", directory)?;
    let named = absolute.parent().unwrap_or(&absolute).join("lock");
    Ok([named, absolute.join("../lock")])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    NotSeen,
    Running,
    LeftAt(Timestamp),
}

/// What we know of brokers on one directory.
pub(super) struct BrokerWatch {
    presence: Presence,
    locks: [PathBuf; 2],
    files: [Option<FileIdentity>; 2],
}

impl BrokerWatch {
    /// Begins to watch; `seen` if one was seen before a restart.
    pub(super) fn new(disk: &dyn Disk, directory: &Path, seen: bool) -> Result<Self, StoreError> {
        let locks = lock_files(directory)?;
        let files = identities(disk, &locks)?;
        let presence = if seen {
            Presence::LeftAt(disk.now())
        } else {
            Presence::NotSeen
        };
        Ok(Self {
            presence,
            locks,
            files,
        })
    }

    /// Looks again. A broker writes into its lock file when it starts, so one that came and went since the last look is
    /// noticed by the file.
    pub(super) fn look(
        &mut self,
        disk: &dyn Disk,
        directory: &Path,
    ) -> Result<Option<Holder>, StoreError> {
        let holder = broker_lock(disk, directory)?;
        let files = identities(disk, &self.locks)?;
        let changed = std::mem::replace(&mut self.files, files) != files;
        self.presence = match self.presence {
            _ if holder.is_some() => Presence::Running,
            Presence::Running => Presence::LeftAt(disk.now()),
            _ if changed => Presence::LeftAt(disk.now()),
            Presence::LeftAt(time) if disk.now().duration_since(time) >= FAREWELL => {
                Presence::NotSeen
            }
            unchanged => unchanged,
        };
        Ok(holder)
    }

    /// Whether a whole file that is not ours must be taken for a broker's.
    pub(super) fn seen(&self) -> bool {
        self.presence != Presence::NotSeen
    }

    /// An operator has said whose the files are.
    pub(super) fn forget(&mut self) {
        self.presence = Presence::NotSeen;
    }
}

fn identities(
    disk: &dyn Disk,
    locks: &[PathBuf; 2],
) -> Result<[Option<FileIdentity>; 2], StoreError> {
    let identity = |lock: &PathBuf| {
        Ok(disk
            .stat(lock)
            .during("look at", lock)?
            .map(|stat| stat.identity))
    };
    Ok([identity(&locks[0])?, identity(&locks[1])?])
}
