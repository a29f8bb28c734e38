//! The one way in which the store changes a file: a temporary file in the same directory, made whole and flushed, then
//! renamed. Nothing here ever writes into a file that has its final name.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::content::Place;
use super::disk::{Disk, FileIdentity, Ownership, Stat};
use super::error::{During, StoreError};

/// Begins the name of every file that is ours alone. A broker looks at none of them.
const OURS: &str = ".locum.";
/// Ends the name of a file that is not finished.
const UNFINISHED: &str = ".tmp";
/// A name that is taken is tried again with another one so many times.
pub(super) const NAME_ATTEMPTS: u32 = 100;

/// A whole, flushed file that waits for its name. Removed when dropped before that.
pub(super) struct Temporary<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
    waiting: bool,
}

impl<'a> Temporary<'a> {
    /// Writes `bytes` beside `target`, with mode and owner, and flushes it.
    pub(super) fn write(
        disk: &'a dyn Disk,
        target: &Path,
        bytes: &[u8],
        ownership: &Ownership,
    ) -> Result<(Self, FileIdentity), StoreError> {
        let (temporary, mut file) = with_free_name(target, |path| disk.create(path))
            .during("make a temporary file for", target)?;
        let temporary = Self {
            disk,
            path: temporary,
            waiting: true,
        };
        let path = &temporary.path;
        file.write(bytes).during("write", path)?;
        file.set_ownership(ownership)
            .during("set mode and owner of", path)?;
        file.sync().during("flush", path)?;
        let identity = file.stat().during("look at", path)?.identity;
        Ok((temporary, identity))
    }

    /// Gives it the name `target`, in one step over whatever had that name.
    pub(super) fn publish(mut self, target: &Path) -> Result<(), StoreError> {
        self.disk
            .rename(&self.path, target)
            .during("rename a temporary file to", target)?;
        self.waiting = false;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // The error that brought us here is the one to tell; what cannot be removed now goes at the next open.
        if self.waiting {
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// Writes a whole file and flushes its directory.
pub(super) fn write_whole(
    disk: &dyn Disk,
    target: &Path,
    bytes: &[u8],
    ownership: &Ownership,
) -> Result<FileIdentity, StoreError> {
    let (temporary, identity) = Temporary::write(disk, target, bytes, ownership)?;
    temporary.publish(target)?;
    sync_parent(disk, target)?;
    Ok(identity)
}

/// Makes `backup` the same file as `main`, without a moment in which either is missing or torn.
pub(super) fn back_up(disk: &dyn Disk, main: &Path, backup: &Path) -> Result<(), StoreError> {
    match next_backup(disk, main, backup)? {
        Some((next, _)) => next.publish(backup),
        None => Ok(()),
    }
}

/// What `main` holds, for the name `backup`: a link to it, or, where that is not possible, a copy, with the identity that
/// it has of its own. None if that name is a link to it already: rename between two names of one file does nothing and leaves both.
pub(super) fn next_backup<'a>(
    disk: &'a dyn Disk,
    main: &Path,
    backup: &Path,
) -> Result<Option<(Temporary<'a>, Option<FileIdentity>)>, StoreError> {
    if share_file(disk, main, backup)? {
        return Ok(None);
    }
    let linked = with_free_name(backup, |path| disk.link(main, path));
    let path = match linked {
        Ok((path, ())) => path,
        Err(error) if cannot_link(error.kind()) => {
            let (copy, identity) = prepare_copy(disk, main, backup)?;
            return Ok(Some((copy, Some(identity))));
        }
        Err(error) => return Err(error).during("link", main),
    };
    let next = Temporary {
        disk,
        path,
        waiting: true,
    };
    Ok(Some((next, None)))
}

/// Whether both are names of one file.
pub(super) fn share_file(disk: &dyn Disk, main: &Path, backup: &Path) -> Result<bool, StoreError> {
    let main = disk.stat(main).during("look at", main)?;
    let backup = disk.stat(backup).during("look at", backup)?;
    Ok(matches!((main, backup), (Some(main), Some(backup)) if main.same_file(&backup)))
}

/// Flushes the names in the directory of `path`. A file system that cannot do that is told of once and gone on with.
pub(super) fn sync_parent(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let directory = parent(path);
    match disk.sync_directory(directory) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            if !TOLD.swap(true, Ordering::Relaxed) {
                tracing::warn!(directory = %directory.display(), %error,
                    "this file system cannot flush a directory: a rename may be lost at a power cut");
            }
            Ok(())
        }
        result => result.during("flush the directory", directory),
    }
}

/// Flushes the names of a table's files: where main is, and where its name and `.bak` are.
pub(super) fn sync_both(disk: &dyn Disk, place: &Place) -> Result<(), StoreError> {
    if place.main != place.name {
        sync_parent(disk, &place.main)?;
    }
    sync_parent(disk, &place.name)
}

/// Removes what a killed host left unfinished in a directory: temporary files for names that begin with `of`. Only for
/// who alone writes these.
pub(super) fn remove_unfinished(
    disk: &dyn Disk,
    directory: &Path,
    of: &str,
) -> Result<(), StoreError> {
    if disk.stat(directory).during("look at", directory)?.is_none() {
        return Ok(());
    }
    let begin = format!("{OURS}{of}");
    for name in disk.list(directory).during("list", directory)? {
        if name.starts_with(&begin) && name.ends_with(UNFINISHED) {
            let path = directory.join(name);
            disk.remove(&path).during("remove", &path)?;
        }
    }
    Ok(())
}

/// Whether a file of this name is one that was never finished, or is being written.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.starts_with(OURS) && name.ends_with(UNFINISHED)
}

/// Makes a directory and those above it that are missing.
pub(super) fn create_directories(
    disk: &dyn Disk,
    path: &Path,
    ownership: &Ownership,
) -> Result<(), StoreError> {
    if path.as_os_str().is_empty() || disk.stat(path).during("look at", path)?.is_some() {
        return Ok(());
    }
    create_directories(disk, parent(path), ownership)?;
    match disk.create_directory(path, ownership) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result.during("make the directory", path),
    }
}

/// The directory of a file; the empty path stands for the current one.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Copies a file whole, with its mode and owner.
pub(super) fn copy(disk: &dyn Disk, from: &Path, to: &Path) -> Result<(), StoreError> {
    let (copy, _) = prepare_copy(disk, from, to)?;
    copy.publish(to)
}

/// A copy of a file that waits for the name `to`.
pub(super) fn prepare_copy<'a>(
    disk: &'a dyn Disk,
    from: &Path,
    to: &Path,
) -> Result<(Temporary<'a>, FileIdentity), StoreError> {
    let Some((stat, bytes)) = disk.read(from).during("read", from)? else {
        return Err(ErrorKind::NotFound.into()).during("copy", from);
    };
    Temporary::write(disk, to, &bytes, &Ownership::from(stat))
}

/// Whether a second name is refused for a reason that a copy gets around: main is a link to another file system, the
/// file system has no hard links, or `fs.protected_hardlinks` forbids one to a file of somebody else.
pub(super) fn cannot_link(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::CrossesDevices
            | ErrorKind::PermissionDenied
            | ErrorKind::Unsupported
            | ErrorKind::TooManyLinks
    )
}

/// Does `make` with an unused temporary name in the directory of `target`.
fn with_free_name<T>(
    target: &Path,
    mut make: impl FnMut(&Path) -> std::io::Result<T>,
) -> std::io::Result<(PathBuf, T)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    for _ in 0..NAME_ATTEMPTS {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(
            "{OURS}{}.{}-{number}{UNFINISHED}",
            file_name(target),
            process::id()
        );
        let path = target.with_file_name(name);
        match make(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            result => return result.map(|made| (path, made)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Mode and owner for what takes the place of `main`: those of main, else of its `.bak`, else as configured.
pub(super) fn ownership_for(
    main: Option<Stat>,
    backup: Option<Stat>,
    configured: &Ownership,
) -> Ownership {
    main.or(backup).map_or(*configured, Ownership::from)
}
