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
    /// What is main until then, and `.bak` after: a link keeps inode, size and time.
    previous: Option<FileIdentity>,
    /// What is `.bak` until then, and the copy that is to take its place where main itself cannot.
    backups: Vec<FileIdentity>,
    /// A whole main of somebody else that an operator gave up.
    given_up: Option<FileIdentity>,
}

/// Whose a whole file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// We wrote it, or it was adopted.
    Ours,
    /// Somebody else's, and an operator gave it up.
    GivenUp,
    /// Somebody else's.
    Foreign,
}

impl Ledger {
    /// Whether we ever wrote this file.
    pub(super) fn knows(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Whether a file with this identity is one that we wrote, or that was adopted.
    pub(super) fn is_ours(&self, file: &str, identity: FileIdentity) -> bool {
        self.files
            .get(file)
            .is_some_and(|marks| marks.contain(identity))
    }

    /// Whose a whole file with this identity is.
    pub(super) fn whose(&self, file: &str, identity: FileIdentity) -> Whose {
        match self.files.get(file) {
            Some(marks) if marks.contain(identity) => Whose::Ours,
            Some(marks) if marks.given_up == Some(identity) => Whose::GivenUp,
            _ => Whose::Foreign,
        }
    }

    /// Announces the next main. `main` is the one of ours that it replaces, if it does, and `backup` what is `.bak` now:
    /// whatever the next steps come to, the files that are then there are known.
    pub(super) fn announce(
        &mut self,
        file: &str,
        next: FileIdentity,
        main: Option<FileIdentity>,
        backup: Option<FileIdentity>,
    ) {
        let marks = self.files.entry(file.to_owned()).or_default();
        let backup = backup.filter(|backup| marks.contain(*backup));
        marks.backups = backup.into_iter().collect();
        marks.previous = main.or(marks.previous);
        marks.current = Some(next);
    }

    /// Announces a copy that is to become `.bak`; `backup` is what is `.bak` now. What is known as main stays known: it may be
    /// `previous`, if a host was killed before what it had announced became main.
    pub(super) fn announce_backup(
        &mut self,
        file: &str,
        next: FileIdentity,
        backup: Option<FileIdentity>,
    ) {
        let marks = self.files.entry(file.to_owned()).or_default();
        let backup = backup.filter(|backup| marks.contain(*backup));
        marks.backups = backup.into_iter().chain([next]).collect();
    }

    /// Makes somebody's files ours.
    pub(super) fn adopt(
        &mut self,
        file: &str,
        main: Option<FileIdentity>,
        backup: Option<FileIdentity>,
    ) {
        let marks = Marks {
            current: main,
            previous: backup,
            ..Marks::default()
        };
        self.files.insert(file.to_owned(), marks);
    }

    /// Lets the next commit put this file aside.
    pub(super) fn give_up(&mut self, file: &str, main: FileIdentity) {
        self.files.entry(file.to_owned()).or_default().given_up = Some(main);
    }
}

impl Marks {
    fn contain(&self, identity: FileIdentity) -> bool {
        self.current == Some(identity)
            || self.previous == Some(identity)
            || self.backups.contains(&identity)
    }
}
