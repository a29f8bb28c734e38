//! Is a directory that of a broker which keeps its metadata in RocksDB?

use std::path::Path;

use super::disk::Disk;
use super::error::{During, OpenError, StoreError};

/// Folders in a broker's `config` that hold metadata in RocksDB: one for each of three tables (5.1.4 on), one for all
/// (`useSingleRocksDBForAllConfigs`, 5.4.0 on), and that of `configManagerVersion=v2` (5.3.2 on).
const FOLDERS: [&str; 5] = [
    "topics",
    "subscriptionGroups",
    "consumerOffsets",
    "metadata",
    "rdb",
];

/// The file that every RocksDB has.
const MARK: &str = "CURRENT";

/// Fails on such a directory: a broker would not read what we write there.
pub(super) fn refuse_rocksdb(disk: &dyn Disk, directory: &Path) -> Result<(), OpenError> {
    let folders = metadata_folders(disk, directory)?;
    if folders.is_empty() {
        return Ok(());
    }
    Err(OpenError::RocksDb {
        directory: directory.to_path_buf(),
        folders,
    })
}

/// Those that are there. A broker that finds them reads our files only while its own data is older, or not at all.
pub(super) fn metadata_folders(
    disk: &dyn Disk,
    directory: &Path,
) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let mark = directory.join(folder).join(MARK);
        if disk.stat(&mark).during("look at", &mark)?.is_some() {
            found.push(folder.to_owned());
        }
    }
    Ok(found)
}
