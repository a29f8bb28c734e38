//! Keeping a directory: our lock and our ledger must be the files that others find there, as long as we write.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::process;

use super::directory::Directory;
use super::disk::{Disk, FileIdentity, Locking, Stat};
use super::error::{During, StoreError};
use super::json;
use super::ledger::LEDGER;

/// Our own lock. A `flock`, so that it ends with the process, whatever ends it.
pub(super) const OWN_LOCK: &str = ".locum.lock";

/// Our lock, held as long as the value lives.
pub(super) struct OwnLock {
    stat: Stat,
    _held: Box<dyn Any + Send + Sync>,
}

impl OwnLock {
    pub(super) fn take(disk: &dyn Disk, directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(OWN_LOCK);
        let text = format!("pid {}", process::id());
        match disk.lock(&path, &text).during("lock", &path)? {
            Locking::Held { lock, stat } => Ok(Self { stat, _held: lock }),
            Locking::HeldBy(holder) => Err(StoreError::Locked {
                directory: directory.to_path_buf(),
                holder: if holder.is_empty() {
                    "it did not say who it is".to_owned()
                } else {
                    holder
                },
            }),
        }
    }
}

impl Directory {
    /// Makes sure that lock and ledger are still where others find them: somebody may have removed them, or the whole
    /// directory and made it anew. A lock that is not there any more keeps nobody away; it is taken again, unless another
    /// host has taken the new one. What the ledger of a host says that kept the directory meanwhile does not count: its
    /// files are strangers to our tables.
    pub(super) fn keep(&mut self) -> Result<(), StoreError> {
        let lock = self.stat(&self.path.join(OWN_LOCK))?;
        if !lock.is_some_and(|lock| lock.same_file(&self.lock.stat)) {
            self.lock = OwnLock::take(&*self.disk, &self.path)?;
        }
        if self.find_ledger()? != self.ledger_file {
            self.save_ledger()?;
        }
        Ok(())
    }

    pub(super) fn save_ledger(&mut self) -> Result<(), StoreError> {
        self.ledger_file = Some(json::save(&*self.disk, &self.ledger_path(), &self.ledger)?);
        Ok(())
    }

    pub(super) fn find_ledger(&self) -> Result<Option<FileIdentity>, StoreError> {
        Ok(self.stat(&self.ledger_path())?.map(|stat| stat.identity))
    }

    fn ledger_path(&self) -> PathBuf {
        self.path.join(LEDGER)
    }
}
