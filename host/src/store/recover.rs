//! The copy from a stand-in into a broker's store, behind `locum recover`.

use std::path::{Path, PathBuf};

use locum_tables::{DataVersion, Table, TableKind};
use serde::Serialize;

use super::aside::put_aside;
use super::broker::broker_lock;
use super::content::{Content, Place};
use super::disk::{Disk, Locking, Ownership};
use super::error::{During, StoreError, of_pid};
use super::kept::OWN_LOCK;
use super::load::LoadedFrom;
use super::rocksdb::metadata_folders;
use super::write::{Temporary, back_up, create_directories, ownership_for, sync_both};

/// What was copied, or would be.
#[derive(Debug, Clone, Serialize)]
pub struct Recovery {
    /// The stand-in's directory.
    pub from: PathBuf,
    /// The broker's `config`.
    pub to: PathBuf,
    /// Nothing was written.
    pub dry_run: bool,
    /// Each table's file.
    pub files: Vec<RecoveredFile>,
}

/// One file of a recovery.
#[derive(Debug, Clone, Serialize)]
pub struct RecoveredFile {
    /// The table's name.
    pub table: &'static str,
    /// The file in the broker's directory.
    pub path: PathBuf,
    /// The copy of the stand-in that it comes from.
    pub copy: LoadedFrom,
    /// Number of entries.
    pub entries: usize,
    /// The table's version, `None` if unknown.
    pub version: Option<DataVersion>,
    /// Permission bits that the file has afterwards.
    pub mode: u32,
    /// Its owner; `None` is the user of this process.
    pub owner: Option<u32>,
    /// Its group; `None` is the group of this process.
    pub group: Option<u32>,
    /// What the broker's file was before.
    pub replaced: Replaced,
}

/// What becomes of the broker's own file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replaced {
    /// There was none.
    Nothing,
    /// It was whole and is `.bak` now.
    Whole,
    /// It was damaged and is put aside.
    Damaged {
        /// Why it is no table.
        reason: String,
    },
}

/// Why nothing, or not everything, was copied.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The broker must be stopped first: it would overwrite the files with what it has in memory.
    #[error("a broker{} runs on {}; stop it first", of_pid(*.pid), .to.display())]
    BrokerRunning {
        /// The broker's `config`.
        to: PathBuf,
        /// Its process, if it is visible from here.
        pid: Option<i32>,
    },
    /// A host keeps the target as a replica's directory.
    #[error("a locum host keeps {}: {holder}", .to.display())]
    Kept {
        /// The target.
        to: PathBuf,
        /// What the holder wrote into its lock.
        holder: String,
    },
    /// The target is the source.
    #[error("{} is the stand-in itself", .to.display())]
    SameDirectory {
        /// The target.
        to: PathBuf,
    },
    /// The broker would not read the files.
    #[error("{} holds metadata in RocksDB ({}), and a broker with storeType=defaultRocksDB ignores the files beside it", .to.display(), .folders.join(", "))]
    RocksDb {
        /// The target.
        to: PathBuf,
        /// The folders that RocksDB made.
        folders: Vec<String>,
    },
    /// The stand-in lacks a table; nothing was copied.
    #[error("the stand-in {} is not whole: {}", .from.display(), .missing.join("; "))]
    NotWhole {
        /// The stand-in's directory.
        from: PathBuf,
        /// Each file that has no whole copy, with the reason.
        missing: Vec<String>,
    },
    /// The disk failed. Files copied before that stay, each of them whole.
    #[error(transparent)]
    Store(#[from] StoreError),
}

struct Source {
    kind: &'static TableKind,
    table: Table,
    copy: LoadedFrom,
}

/// Copies these tables of a stand-in into a stopped broker's `config`, each file in one step, with the mode and owner of the
/// file that it replaces, else `ownership`. All tables are read and checked before the first is written. With
/// `dry_run` nothing is written at all, not even a directory.
pub fn recover(
    disk: &dyn Disk,
    from: &Path,
    to: &Path,
    kinds: &[&'static TableKind],
    ownership: Ownership,
    dry_run: bool,
) -> Result<Recovery, RecoverError> {
    refuse_unfit_target(disk, from, to)?;
    let sources = read_all(disk, from, kinds)?;
    let lock = if dry_run {
        None
    } else {
        prepare_target(disk, to, &ownership)?
    };
    let mut files = Vec::new();
    for source in &sources {
        files.push(copy_one(disk, source, to, &ownership, dry_run)?);
    }
    drop(lock);
    Ok(Recovery {
        from: from.to_path_buf(),
        to: to.to_path_buf(),
        dry_run,
        files,
    })
}

fn refuse_unfit_target(disk: &dyn Disk, from: &Path, to: &Path) -> Result<(), RecoverError> {
    refuse_running_broker(disk, to)?;
    let source = disk.stat(from).during("look at", from)?;
    let target = disk.stat(to).during("look at", to)?;
    if let (Some(source), Some(target)) = (source, target)
        && source.same_file(&target)
    {
        return Err(RecoverError::SameDirectory {
            to: to.to_path_buf(),
        });
    }
    let folders = metadata_folders(disk, to)?;
    if folders.is_empty() {
        Ok(())
    } else {
        Err(RecoverError::RocksDb {
            to: to.to_path_buf(),
            folders,
        })
    }
}

fn refuse_running_broker(disk: &dyn Disk, to: &Path) -> Result<(), RecoverError> {
    match broker_lock(disk, to)? {
        Some(holder) => Err(RecoverError::BrokerRunning {
            to: to.to_path_buf(),
            pid: holder.pid,
        }),
        None => Ok(()),
    }
}

fn read_all(
    disk: &dyn Disk,
    from: &Path,
    kinds: &[&'static TableKind],
) -> Result<Vec<Source>, RecoverError> {
    let mut sources = Vec::new();
    let mut missing = Vec::new();
    for kind in kinds.iter().copied() {
        let place = Place::of(disk, from, kind)?;
        let main = Content::read(disk, kind, &place.main)?;
        match main {
            Content::Whole { table, .. } => sources.push(Source {
                kind,
                table,
                copy: LoadedFrom::Main,
            }),
            bad => match Content::read(disk, kind, &place.backup)? {
                Content::Whole { table, .. } => sources.push(Source {
                    kind,
                    table,
                    copy: LoadedFrom::Backup,
                }),
                _ => missing.push(format!("{} {}", kind.file, bad.complaint())),
            },
        }
    }
    if missing.is_empty() {
        Ok(sources)
    } else {
        Err(RecoverError::NotWhole {
            from: from.to_path_buf(),
            missing,
        })
    }
}

/// Makes the directory if need be, and keeps a host away from it where one has been before.
fn prepare_target(
    disk: &dyn Disk,
    to: &Path,
    ownership: &Ownership,
) -> Result<Option<Locking>, RecoverError> {
    create_directories(
        disk,
        to,
        &Ownership {
            mode: 0o755,
            ..*ownership
        },
    )?;
    let lock = to.join(OWN_LOCK);
    if disk.stat(&lock).during("look at", &lock)?.is_none() {
        return Ok(None);
    }
    match disk
        .lock(&lock, &format!("pid {}", std::process::id()))
        .during("lock", &lock)?
    {
        Locking::HeldBy(holder) => Err(RecoverError::Kept {
            to: to.to_path_buf(),
            holder,
        }),
        held @ Locking::Held { .. } => Ok(Some(held)),
    }
}

fn copy_one(
    disk: &dyn Disk,
    source: &Source,
    to: &Path,
    ownership: &Ownership,
    dry_run: bool,
) -> Result<RecoveredFile, RecoverError> {
    let place = Place::of(disk, to, source.kind)?;
    let old = Content::read(disk, source.kind, &place.main)?;
    let backup = disk.stat(&place.backup).during("look at", &place.backup)?;
    let ownership = ownership_for(old.stat(), backup, ownership);
    if !dry_run {
        replace(disk, source, to, &place, &old, &ownership)?;
    }
    Ok(RecoveredFile {
        table: source.kind.name,
        path: place.name,
        copy: source.copy,
        entries: source.table.len(),
        version: source.table.version(),
        mode: ownership.mode,
        owner: ownership.owner,
        group: ownership.group,
        replaced: match old {
            Content::Missing => Replaced::Nothing,
            Content::Whole { .. } => Replaced::Whole,
            Content::Bad { reason, .. } => Replaced::Damaged { reason },
        },
    })
}

fn replace(
    disk: &dyn Disk,
    source: &Source,
    to: &Path,
    place: &Place,
    old: &Content,
    ownership: &Ownership,
) -> Result<(), RecoverError> {
    let (temporary, _) = Temporary::write(disk, &place.main, &source.table.to_file(), ownership)?;
    refuse_running_broker(disk, to)?;
    match old {
        Content::Missing => {}
        Content::Whole { .. } => back_up(disk, &place.main, &place.backup)?,
        Content::Bad { .. } => {
            put_aside(disk, &place.main, &place.name, "bad")?;
        }
    }
    temporary.publish(&place.main)?;
    if !matches!(old, Content::Whole { .. }) {
        put_stale_backup_aside(disk, place)?;
    }
    sync_both(disk, place)?;
    Ok(())
}

/// A `.bak` that is not of the main beside it is older than all that we know: a broker that ever needed it would go back to it.
fn put_stale_backup_aside(disk: &dyn Disk, place: &Place) -> Result<(), StoreError> {
    let backup = &place.backup;
    if disk.stat(backup).during("look at", backup)?.is_none() {
        return Ok(());
    }
    put_aside(disk, backup, backup, "aside")?;
    disk.remove(backup).during("remove", backup)
}
