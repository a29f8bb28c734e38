//! The host's own copies of good components, so that it can return to one, also after a restart, whatever has become of the
//! file in the plugin folder.
//!
//! A copy is named by its content and never changed. What is read is checked against its name: a copy that is damaged or
//! was exchanged counts as missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::disk::{Disk, Ownership};
use super::error::{During, StoreError};
use super::write::{create_directories, is_unfinished, write_whole};
use crate::hash::sha256 as hash_of;

/// Ends the name of every copy.
const COMPONENT: &str = ".wasm";

/// What the host runs without asking again must be out of everybody else's reach.
const FOLDER: Ownership = Ownership {
    mode: 0o700,
    owner: None,
    group: None,
};
const FILE: Ownership = Ownership {
    mode: 0o600,
    owner: None,
    group: None,
};

/// A file that was begun so long ago and is not finished, or not named in a record, was left by a host that was killed; neither
/// takes longer.
const LEFT_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// The folder of copies, one file for each component, named by its hash.
#[derive(Debug, Clone)]
pub struct Components {
    folder: PathBuf,
}

impl Components {
    /// The copies of the host that has this state directory.
    pub fn of_state(state_directory: &Path) -> Self {
        Self::new(state_directory.join("components"))
    }

    /// Copies in `folder`, which is made with the first of them.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Makes sure that there is a whole, flushed copy of `bytes`, whose hash is `sha256` (hexadecimal). Nothing is written
    /// where there is one. Makes the folder, with mode 0700, if it is missing.
    pub fn keep(&self, disk: &dyn Disk, sha256: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(sha256);
        // What cannot be read is written anew: by rename, so that neither its owner nor its mode stands in the way.
        if matches!(self.load(disk, sha256), Ok(Some(_))) {
            return Ok(());
        }
        create_directories(disk, &self.folder, &FOLDER)?;
        write_whole(disk, &path, bytes, &FILE)?;
        Ok(())
    }

    /// The component with this hash. `None` if there is no copy, or what is there has another hash. An error if it is there and
    /// cannot be read.
    pub fn load(&self, disk: &dyn Disk, sha256: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(sha256);
        let Some((_, bytes)) = disk.read(&path).during("read", &path)? else {
            return Ok(None);
        };
        if hash_of(&bytes) == sha256 {
            return Ok(Some(bytes));
        }
        tracing::warn!(file = %path.display(), "this copy of a component is damaged and is not used");
        Ok(None)
    }

    /// Removes the copies whose hash is not in `keep`, and what killed hosts left unfinished. `keep` holds what every record
    /// of the state directory names. A copy that is younger than a minute stays: its record may not be written yet. What is
    /// neither is not ours to remove.
    pub fn prune(&self, disk: &dyn Disk, keep: &BTreeSet<String>) -> Result<(), StoreError> {
        let folder = &self.folder;
        if disk.stat(folder).during("look at", folder)?.is_none() {
            return Ok(());
        }
        for name in disk.list(folder).during("list", folder)? {
            let path = folder.join(&name);
            let unwanted = match name.strip_suffix(COMPONENT) {
                Some(sha256) => is_hash(sha256) && !keep.contains(sha256) && is_left(disk, &path)?,
                None => is_unfinished(&name) && is_left(disk, &path)?,
            };
            if unwanted {
                disk.remove(&path).during("remove", &path)?;
            }
        }
        Ok(())
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.folder.join(format!("{sha256}{COMPONENT}"))
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether nobody is at a file any more: another slot may be keeping a copy at this moment.
fn is_left(disk: &dyn Disk, path: &Path) -> Result<bool, StoreError> {
    let Some(stat) = disk.stat(path).during("look at", path)? else {
        return Ok(false);
    };
    let begun = Timestamp::from_nanosecond(stat.identity.mtime_ns.into());
    Ok(begun.is_ok_and(|begun| disk.now().duration_since(begun) >= LEFT_AFTER))
}
