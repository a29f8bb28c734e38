//! What a start would find in a directory, without a start: the read-only look behind a dry run without a host.

use std::path::Path;

use locum_tables::{KINDS, TableKind};

use super::broker::broker_lock;
use super::directory::Standing;
use super::disk::Disk;
use super::error::OpenError;
use super::json;
use super::ledger::{LEDGER, Ledger};
use super::load::{Copies, Loaded, LoadedFrom, strangers};
use super::rocksdb::refuse_rocksdb;

/// What a start would find.
#[derive(Debug)]
pub struct Peeked {
    /// Each table, as [`Directory::load`](super::Directory::load) would give it.
    pub loaded: Vec<Loaded>,
    /// Whose the directory is. `rewrite` has the tables that a start or the first tick would write again.
    pub standing: Standing,
    /// What an operator should know besides, such as a ledger that cannot be used.
    pub notes: Vec<String>,
}

/// Looks at a replica's directory by the rules of a start. Nothing is locked, made, mended or noted; a directory that is
/// not there has no files. A host that keeps the directory is not looked for, and may write meanwhile.
///
/// # Errors
/// As for a start, but never [`StoreError::Locked`](super::StoreError::Locked).
pub fn peek(disk: &dyn Disk, directory: &Path) -> Result<Peeked, OpenError> {
    refuse_rocksdb(disk, directory)?;
    let (ledger, warning) = json::peek::<Ledger>(disk, &directory.join(LEDGER))?;
    let mut copies = Vec::new();
    for kind in KINDS {
        copies.push(Copies::read(disk, directory, kind)?);
    }
    let loaded: Vec<Loaded> = copies.iter().map(|copies| copies.judge(&ledger)).collect();
    let standing = match broker_lock(disk, directory)? {
        Some(holder) => Standing::BrokerRunning { pid: holder.pid },
        None => standing(&ledger, &copies, &loaded),
    };
    Ok(Peeked {
        loaded,
        standing,
        notes: warning.into_iter().collect(),
    })
}

fn standing(ledger: &Ledger, copies: &[Copies], loaded: &[Loaded]) -> Standing {
    let mut files = ledger.taken_over.clone();
    if files.is_empty() {
        files = strangers(ledger, copies);
    }
    if !files.is_empty() {
        return Standing::TakenOver { files };
    }
    let must_rewrite =
        |loaded: &&Loaded| ledger.knows(loaded.kind.file) && loaded.copy != LoadedFrom::Main;
    let rewrite: Vec<&'static TableKind> = loaded
        .iter()
        .filter(must_rewrite)
        .map(|loaded| loaded.kind)
        .collect();
    Standing::Ours {
        rewrite,
        unreadable: Vec::new(),
    }
}
