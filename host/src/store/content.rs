//! What a copy of a table's file holds.

use std::path::{Path, PathBuf};

use locum_tables::{ReadLimits, Table, TableKind};

use super::disk::{Disk, Stat};
use super::error::{During, StoreError};

/// One copy, read whole. A copy that cannot be read at all is an error instead: "permission denied" is no corruption,
/// and must not lead to a restore.
pub(super) enum Content {
    /// There is no file.
    Missing,
    /// There is a file that is no table.
    Bad {
        /// The file.
        stat: Stat,
        /// Why it is no table.
        reason: String,
    },
    /// A table.
    Whole {
        /// The file.
        stat: Stat,
        /// What is in it.
        table: Table,
    },
}

impl Content {
    /// Reads the copy at `path`. One that is too large for a table is bad, and not read.
    pub(super) fn read(
        disk: &dyn Disk,
        kind: &'static TableKind,
        path: &Path,
    ) -> Result<Self, StoreError> {
        let Some(stat) = disk.stat(path).during("look at", path)? else {
            return Ok(Self::Missing);
        };
        if let Some(reason) = too_large(&stat) {
            return Ok(Self::Bad { stat, reason });
        }
        let Some((stat, text)) = disk.read(path).during("read", path)? else {
            return Ok(Self::Missing);
        };
        Ok(match parse(kind, &text) {
            Ok(table) => Self::Whole { stat, table },
            Err(reason) => Self::Bad { stat, reason },
        })
    }

    /// The file, if there is one.
    pub(super) fn stat(&self) -> Option<Stat> {
        match self {
            Self::Missing => None,
            Self::Bad { stat, .. } | Self::Whole { stat, .. } => Some(*stat),
        }
    }

    /// What to say of it, after the file's name.
    pub(super) fn complaint(&self) -> String {
        match self {
            Self::Missing => "is missing".to_owned(),
            Self::Bad { reason, .. } => format!("is damaged ({reason})"),
            Self::Whole { .. } => "is whole".to_owned(),
        }
    }

    /// The table, if it is whole.
    pub(super) fn table(&self) -> Option<&Table> {
        match self {
            Self::Whole { table, .. } => Some(table),
            _ => None,
        }
    }
}

/// Why a file is not even read, if it is not: nobody may make the host take memory without bound.
pub(super) fn too_large(stat: &Stat) -> Option<String> {
    let (size, limit) = (stat.identity.size, ReadLimits::default().bytes);
    (size > limit as u64)
        .then(|| format!("it has {size} bytes, over the limit of {limit} for a table"))
}

/// The table in a file's text, or why there is none.
pub(super) fn parse(kind: &'static TableKind, text: &[u8]) -> Result<Table, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.iter().all(|byte| *byte == 0) {
        return Err(
            "it holds nothing but NUL bytes, as a power cut leaves a file that was not flushed"
                .to_owned(),
        );
    }
    Table::from_file(kind, text, &ReadLimits::default()).map_err(|error| error.to_string())
}

/// The names under which one table is kept.
pub(super) struct Place {
    /// Where main is looked for, perhaps a symbolic link.
    pub(super) name: PathBuf,
    /// Where main is: the link is followed and kept (dotfile managers and volume mounts make such links on purpose).
    pub(super) main: PathBuf,
    /// Beside the name, where a broker looks for it.
    pub(super) backup: PathBuf,
}

impl Place {
    pub(super) fn of(
        disk: &dyn Disk,
        directory: &Path,
        kind: &TableKind,
    ) -> Result<Self, StoreError> {
        let name = directory.join(kind.file);
        let main = disk.resolve(&name).during("follow the link", &name)?;
        let backup = directory.join(format!("{}.bak", kind.file));
        Ok(Self { name, main, backup })
    }
}
