//! What can go wrong in the store.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::Holder;

/// Why a directory was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A broker holds the lock of the store that the directory belongs to; nothing was written.
    #[error("a broker{} runs on the directory", of_pid(*.pid))]
    DirectoryInUse {
        /// The broker's process, if it is visible from here.
        pid: Option<i32>,
    },
    /// A broker that is gone left whole files that are not ours; nothing is written until they are adopted.
    #[error("a broker has taken the directory over ({})", .files.join(", "))]
    TakenOver {
        /// The files that are not ours.
        files: Vec<String>,
    },
    /// Another host keeps this directory; nothing was written.
    #[error("another host keeps {}: {holder}", .directory.display())]
    Locked {
        /// The directory.
        directory: PathBuf,
        /// What the holder wrote into its lock, such as "pid 4711".
        holder: String,
    },
    /// A call to the disk failed.
    #[error("cannot {step} {}", .path.display())]
    Io {
        /// What was being done, such as "write".
        step: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a replica's directory was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory holds a broker's metadata in RocksDB. Such a broker reads JSON only while its own data is older,
    /// or not at all (apache/rocketmq#8571), so a copy in files would look fine and be ignored.
    #[error("{} holds metadata in RocksDB ({}), and a broker with storeType=defaultRocksDB ignores the files beside it; give a directory without these folders", .directory.display(), .folders.join(", "))]
    RocksDb {
        /// The directory.
        directory: PathBuf,
        /// The folders in it that RocksDB made.
        folders: Vec<String>,
    },
    /// Another host keeps it, or the disk failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// " (pid 4711)", or nothing.
pub(super) fn of_pid(pid: Option<i32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

impl StoreError {
    pub(super) fn in_use(holder: Holder) -> Self {
        Self::DirectoryInUse { pid: holder.pid }
    }

    /// The error with its cause, where it is kept as text.
    pub(super) fn in_full(&self) -> String {
        match self {
            Self::Io { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }
}

/// Says of a failed call what was being done, and to what.
pub(super) trait During<T> {
    fn during(self, step: &'static str, path: &Path) -> Result<T, StoreError>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, step: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io {
            step,
            path: path.to_path_buf(),
            source,
        })
    }
}
