//! Files of results: locked while somebody builds, and only touched when they change.

use std::fs::{self, File};
use std::path::Path;

use crate::Error;

/// Waits until nobody else builds in a folder, and keeps others out until the file is dropped.
pub(crate) fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    fs::create_dir_all(folder).map_err(|source| io("create", folder, source))?;
    let file = File::create(&path).map_err(|source| io("create", &path, source))?;
    file.lock().map_err(|source| io("lock", &path, source))?;
    Ok(file)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| io("read", path, source))
}

/// Leaves `bytes` at `path`: by rename, so that a reader sees the old file or the new one, and not at all if they are
/// there already. Folders are created. Whether anything was written.
///
/// # Errors
/// [`Error::Io`] with what failed.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<bool, Error> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    let new = path.with_extension("new");
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| io("create", folder, source))?;
    }
    fs::write(&new, bytes).map_err(|source| io("write", &new, source))?;
    fs::rename(&new, path).map_err(|source| io("replace", path, source))?;
    Ok(true)
}

pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
