//! Which files in a directory are ours, kept in the directory itself as `.locum.ledger`.
//!
//! It is written before a file gets its name. Were it written after, a host that is killed between the two would find a
//! whole main that it does not know, take it for a broker's, and wait for an operator. It lies beside the files, not in
//! the state directory, so that a lost state directory does not make strangers of our own files, and one flush of the
//! directory covers both renames.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::disk::FileIdentity;

/// The name of the ledger in a replica's directory.
pub(super) const LEDGER: &str = ".locum.ledger";

/// What is remembered of one directory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Ledger {
    /// A broker was seen, and its last word may not be on disk yet.
    pub(super) broker_seen: bool,
    /// The files by which a broker took the directory over; empty when it has not.
    pub(super) taken_over: Vec<String>,
    files: BTreeMap<String, Marks>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Marks {
    /// What was last to become main. It may not have come to that.
    current: Option<FileIdentity>,
    /// What was main before, and is `.bak` after: a link keeps inode, size and time.
    previous: Option<FileIdentity>,
    /// A whole main of somebody else that an operator gave up.
    given_up: Option<FileIdentity>,
}

impl Ledger {
    /// Whether we ever wrote this file.
    pub(super) fn knows(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Whether a file with this identity is one that we wrote, or that was adopted.
    pub(super) fn is_ours(&self, file: &str, identity: FileIdentity) -> bool {
        let of = |marks: &Marks| [marks.current, marks.previous].contains(&Some(identity));
        self.files.get(file).is_some_and(of)
    }

    /// Whether an operator gave this very file up.
    pub(super) fn is_given_up(&self, file: &str, identity: FileIdentity) -> bool {
        self.files
            .get(file)
            .is_some_and(|marks| marks.given_up == Some(identity))
    }

    /// Announces the next main; `replaced` is the one that becomes `.bak`, if one does.
    pub(super) fn announce(
        &mut self,
        file: &str,
        next: FileIdentity,
        replaced: Option<FileIdentity>,
    ) {
        let marks = self.files.entry(file.to_owned()).or_default();
        marks.current = Some(next);
        marks.previous = replaced.or(marks.previous);
    }

    /// Another file is `.bak` now.
    pub(super) fn note_backup(&mut self, file: &str, backup: FileIdentity) {
        self.files.entry(file.to_owned()).or_default().previous = Some(backup);
    }

    /// Makes somebody's files ours.
    pub(super) fn adopt(&mut self, file: &str, main: FileIdentity, backup: Option<FileIdentity>) {
        let marks = Marks {
            current: Some(main),
            previous: backup,
            given_up: None,
        };
        self.files.insert(file.to_owned(), marks);
    }

    /// Lets the next commit put this file aside.
    pub(super) fn give_up(&mut self, file: &str, main: FileIdentity) {
        self.files.entry(file.to_owned()).or_default().given_up = Some(main);
    }
}
