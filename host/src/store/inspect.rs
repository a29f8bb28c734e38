//! What a broker would load from a directory: the read-only look behind `locum verify`.

use std::path::{Path, PathBuf};

use locum_tables::{DataVersion, KINDS, TableKind};
use serde::Serialize;

use super::broker::broker_lock;
use super::content::{Place, parse, too_large};
use super::disk::{Disk, Holder, Stat};
use super::error::{During, StoreError};
use super::rocksdb::metadata_folders;

/// A directory as a broker would find it.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// The directory.
    pub directory: PathBuf,
    /// Whether a broker has everything that it needs: each main is whole, and no RocksDB makes it look elsewhere. A
    /// whole `.bak` does not count: a broker reads it, but it is the last one.
    pub boot_ready: bool,
    /// The broker that runs on the directory, if one does.
    pub broker: Option<Holder>,
    /// Folders with metadata in RocksDB, beside which the files are ignored.
    pub rocksdb_folders: Vec<String>,
    /// Each table.
    pub tables: Vec<TableReport>,
    /// The directory and all those above it.
    #[serde(skip)]
    way: Vec<(PathBuf, Access)>,
}

/// One table's two copies.
#[derive(Debug, Clone, Serialize)]
pub struct TableReport {
    /// The table's name.
    pub table: &'static str,
    /// The file's name.
    pub file: &'static str,
    /// What a broker does with the two copies.
    pub loads: Loads,
    /// The file itself.
    pub main: CopyReport,
    /// Its `.bak`.
    pub backup: CopyReport,
}

/// What a broker does at its start (`ConfigManager.load`), checked on 4.9.7, 5.3.3 and 5.5.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loads {
    /// It loads main.
    Main,
    /// Main is missing or damaged: it loads `.bak`.
    Backup,
    /// Main is JSON without a table (`{}`, `null`, blanks): that counts as success, the table is empty, `.bak` is not
    /// read.
    Nothing,
    /// Neither copy is there: it starts with its defaults, and says nothing.
    Defaults,
    /// Main is missing or damaged, and `.bak` is damaged: it exits, and 4.9.7 and 5.5.0 overwrite files while they do.
    Fails,
}

/// One copy.
#[derive(Debug, Clone, Serialize)]
pub struct CopyReport {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What it holds.
    #[serde(flatten)]
    pub state: CopyState,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// Who may read it.
    pub access: Option<Access>,
}

/// What a copy holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum CopyState {
    /// There is no file.
    Missing,
    /// A table.
    Whole {
        /// Number of entries.
        entries: usize,
        /// Its version, `None` if unknown.
        version: Option<DataVersion>,
    },
    /// No table.
    Bad {
        /// Why.
        error: String,
        /// Whether a broker takes it for an empty table all the same.
        counts_as_empty: bool,
    },
    /// This process may not read it, or the disk fails.
    Unreadable {
        /// What the system said.
        error: String,
    },
}

/// Mode and owner of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Access {
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// Looks at a directory and changes nothing. A directory that is not there has no files; a file that cannot be read is
/// reported as such.
pub fn inspect(disk: &dyn Disk, directory: &Path) -> Result<Inspection, StoreError> {
    let tables = KINDS
        .iter()
        .map(|kind| TableReport::of(disk, directory, kind))
        .collect::<Result<Vec<_>, _>>()?;
    let rocksdb_folders = metadata_folders(disk, directory)?;
    let whole = |table: &TableReport| matches!(table.main.state, CopyState::Whole { .. });
    Ok(Inspection {
        directory: directory.to_path_buf(),
        boot_ready: rocksdb_folders.is_empty() && tables.iter().all(whole),
        broker: broker_lock(disk, directory)?,
        rocksdb_folders,
        tables,
        way: way_to(disk, directory)?,
    })
}

impl Inspection {
    /// What of it a user could not read, by mode bits alone: the main files, and the directories on the way to them.
    /// Empty if a broker under that user could load everything that is there.
    pub fn unreadable_for(&self, uid: u32, gids: &[u32]) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for (path, access) in &self.way {
            if !access.allows(uid, gids, 0o1) {
                paths.push(path.clone());
            }
        }
        for main in self.tables.iter().map(|table| &table.main) {
            if main
                .access
                .is_some_and(|access| !access.allows(uid, gids, 0o4))
            {
                paths.push(main.path.clone());
            }
        }
        paths
    }
}

impl Access {
    /// Whether a user has a permission (4 read, 1 enter a directory). The first class that fits decides, as in Linux.
    fn allows(&self, uid: u32, gids: &[u32], permission: u32) -> bool {
        let shift = if uid == self.uid {
            6
        } else if gids.contains(&self.gid) {
            3
        } else {
            0
        };
        uid == 0 || self.mode >> shift & permission != 0
    }
}

impl From<Stat> for Access {
    fn from(stat: Stat) -> Self {
        Self {
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
        }
    }
}

impl TableReport {
    fn of(disk: &dyn Disk, directory: &Path, kind: &'static TableKind) -> Result<Self, StoreError> {
        let place = Place::of(disk, directory, kind)?;
        let main = CopyReport::of(disk, kind, place.name);
        let backup = CopyReport::of(disk, kind, place.backup);
        Ok(Self {
            table: kind.name,
            file: kind.file,
            loads: loads(&main, &backup),
            main,
            backup,
        })
    }
}

impl CopyReport {
    fn of(disk: &dyn Disk, kind: &'static TableKind, path: PathBuf) -> Self {
        let (stat, state) = CopyState::read(disk, kind, &path);
        Self {
            path,
            state,
            bytes: stat.map(|stat| stat.identity.size),
            access: stat.map(Access::from),
        }
    }
}

impl CopyState {
    fn read(disk: &dyn Disk, kind: &'static TableKind, path: &Path) -> (Option<Stat>, Self) {
        let before = disk.stat(path).ok().flatten();
        if let Some(error) = before.as_ref().and_then(too_large) {
            let bad = Self::Bad {
                error,
                counts_as_empty: false,
            };
            return (before, bad);
        }
        match disk.read(path) {
            Ok(None) => (None, Self::Missing),
            Ok(Some((stat, text))) => (Some(stat), Self::of(kind, &text)),
            Err(error) => {
                let error = error.to_string();
                (before, Self::Unreadable { error })
            }
        }
    }

    fn of(kind: &'static TableKind, text: &[u8]) -> Self {
        match parse(kind, text) {
            Ok(table) => Self::Whole {
                entries: table.len(),
                version: table.version(),
            },
            Err(error) => Self::Bad {
                error,
                counts_as_empty: counts_as_empty(kind, text),
            },
        }
    }
}

/// Whether Java's decoder makes an object without a table of it, which `ConfigManager.load` takes for success.
fn counts_as_empty(kind: &TableKind, text: &[u8]) -> bool {
    if text.trim_ascii().is_empty() {
        return !text.is_empty();
    }
    match serde_json::from_slice::<serde_json::Value>(text) {
        Ok(serde_json::Value::Null) => true,
        Ok(serde_json::Value::Object(members)) => members
            .get(kind.entries.disk)
            .is_none_or(serde_json::Value::is_null),
        _ => false,
    }
}

fn loads(main: &CopyReport, backup: &CopyReport) -> Loads {
    match (&main.state, &backup.state) {
        (CopyState::Whole { .. }, _) => Loads::Main,
        (
            CopyState::Bad {
                counts_as_empty: true,
                ..
            },
            _,
        ) => Loads::Nothing,
        (_, CopyState::Whole { .. }) => Loads::Backup,
        (_, CopyState::Missing) => Loads::Defaults,
        (_, CopyState::Bad { .. }) if backup.bytes == Some(0) => Loads::Defaults,
        (
            _,
            CopyState::Bad {
                counts_as_empty: true,
                ..
            },
        ) => Loads::Nothing,
        (_, CopyState::Bad { .. } | CopyState::Unreadable { .. }) => Loads::Fails,
    }
}

fn way_to(disk: &dyn Disk, directory: &Path) -> Result<Vec<(PathBuf, Access)>, StoreError> {
    let absolute = std::path::absolute(directory).during("find", directory)?;
    let mut way = Vec::new();
    for path in absolute.ancestors() {
        if let Some(stat) = disk.stat(path).during("look at", path)? {
            way.push((path.to_path_buf(), Access::from(stat)));
        }
    }
    Ok(way)
}
