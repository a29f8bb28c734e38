//! One replica's directory while the host runs: who else is there, which files have to be written again, the commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use locum_tables::{KINDS, Table, TableKind};

use super::aside::put_aside;
use super::broker::BrokerWatch;
use super::content::{Content, Place};
use super::disk::{Disk, FileIdentity, Holder, Ownership, Stat};
use super::error::{During, OpenError, StoreError};
use super::json;
use super::kept::OwnLock;
use super::ledger::{LEDGER, Ledger, Whose};
use super::rocksdb::refuse_rocksdb;
use super::write::{
    Temporary, create_directories, next_backup, ownership_for, remove_unfinished, sync_both,
};

/// A replica's directory, kept by this host alone for as long as the value lives.
///
/// All calls block on the disk. What `survey` and `commit` know of the directory they learn from the disk each time;
/// only which file is whose is remembered.
pub struct Directory {
    pub(super) path: PathBuf,
    pub(super) ownership: Ownership,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) ledger: Ledger,
    /// The file that the ledger was last read from or written to.
    pub(super) ledger_file: Option<FileIdentity>,
    pub(super) broker: BrokerWatch,
    /// The main files that are what the replica's tables say.
    pub(super) expected: BTreeMap<&'static str, FileIdentity>,
    pub(super) loaded: bool,
    notes: Vec<String>,
    pub(super) lock: OwnLock,
}

/// Whose a directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Ours to write.
    Ours {
        /// Tables whose main is not what was committed last: missing, damaged, or changed by somebody although no broker
        /// was there. Committing the current table mends it; what somebody wrote is put aside.
        rewrite: Vec<&'static TableKind>,
        /// Tables whose main cannot be read, so that nobody knows what it is. They cannot be committed; all others can.
        unreadable: Vec<Unreadable>,
    },
    /// A broker runs on it. Nothing may be written.
    BrokerRunning {
        /// Its process, if it is visible from here.
        pid: Option<i32>,
    },
    /// A broker ran on it and left files of its own, also before a restart. Nothing may be written until `adopt`.
    TakenOver {
        /// The files that are not ours.
        files: Vec<String>,
    },
}

/// A table whose main cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The table's kind.
    pub kind: &'static TableKind,
    /// What the system said, with the file's name.
    pub error: String,
}

/// A table that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// What else an operator should know, such as where a changed file was put.
    pub notes: Vec<String>,
}

/// What is found where main should be.
pub(super) enum Found {
    Missing,
    /// What the replica's table says.
    Current(FileIdentity),
    /// A whole file of ours, but not the one expected: a commit was cut short, or somebody brought back the `.bak`.
    Earlier(FileIdentity),
    /// No table.
    Bad(String),
    /// A whole file of somebody else.
    Foreign,
    /// The same, but an operator gave it up.
    GivenUp,
}

/// All main files, by name.
pub(super) struct Mains {
    found: BTreeMap<&'static str, Found>,
    unreadable: BTreeMap<&'static str, StoreError>,
}

/// A standing with what it was seen by.
pub(super) enum Around {
    Free(Mains),
    BrokerRunning(Holder),
    TakenOver,
}

impl Directory {
    /// Opens a replica's directory, makes it if need be, and keeps it locked. Removes what a killed host left
    /// unfinished. `ownership` is for directories and files that replace nothing.
    pub fn open(path: &Path, ownership: Ownership, disk: Arc<dyn Disk>) -> Result<Self, OpenError> {
        create_directories(
            &*disk,
            path,
            &Ownership {
                mode: 0o755,
                ..ownership
            },
        )?;
        refuse_rocksdb(&*disk, path)?;
        let lock = OwnLock::take(&*disk, path)?;
        remove_unfinished(&*disk, path, "")?;
        let (ledger, warning) = json::load::<Ledger>(&*disk, &path.join(LEDGER))?;
        let broker = BrokerWatch::new(&*disk, path, ledger.broker_seen)?;
        let mut directory = Self {
            path: path.to_path_buf(),
            ownership,
            disk,
            ledger,
            ledger_file: None,
            broker,
            expected: BTreeMap::new(),
            loaded: false,
            notes: warning.into_iter().collect(),
            lock,
        };
        directory.ledger_file = directory.find_ledger()?;
        Ok(directory)
    }

    /// The directory's path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What an operator should know of the opening, such as a ledger that could not be read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whose the directory is now, and what has to be written again. Cheap: the broker's lock is asked for, and each
    /// main is looked at; it is read only if it is not the file that we know. Loads first if that was not done.
    ///
    /// A main that cannot be read concerns its own table alone, unless a broker was seen: then it may be the broker's.
    pub fn survey(&mut self) -> Result<Standing, StoreError> {
        Ok(match self.look_around()? {
            Around::BrokerRunning(holder) => Standing::BrokerRunning { pid: holder.pid },
            Around::TakenOver => Standing::TakenOver {
                files: self.ledger.taken_over.clone(),
            },
            Around::Free(mains) => self.standing(&mains),
        })
    }

    fn standing(&self, mains: &Mains) -> Standing {
        let must_rewrite = |kind: &TableKind| match mains.found.get(kind.file) {
            None | Some(Found::Current(_)) => false,
            Some(Found::Missing) => self.ledger.knows(kind.file),
            Some(Found::Earlier(_) | Found::Bad(_) | Found::Foreign | Found::GivenUp) => true,
        };
        let mut rewrite = KINDS.to_vec();
        rewrite.retain(|kind| must_rewrite(kind));
        let unreadable = KINDS.into_iter().filter_map(|kind| {
            let error = mains.unreadable.get(kind.file)?.in_full();
            Some(Unreadable { kind, error })
        });
        Standing::Ours {
            rewrite,
            unreadable: unreadable.collect(),
        }
    }

    /// Puts a table's file in place. After each step main or `.bak` is a whole generation, and main is never missing.
    /// Whether a broker came, and what main is, is asked before the work and again just before the rename.
    ///
    /// An error leaves main as it was, or, if only the flush of the directory failed, as a whole file that the next
    /// survey wants written again.
    pub fn commit(&mut self, table: &Table) -> Result<Commit, StoreError> {
        let kind = table.kind();
        let place = Place::of(&*self.disk, &self.path, kind)?;
        let before = self.look_before_writing(kind)?;
        let text = table.to_file();
        let disk = Arc::clone(&self.disk);
        let backup = self.stat(&place.backup)?;
        let ownership = ownership_for(self.stat(&place.main)?, backup, &self.ownership);
        let (temporary, identity) = Temporary::write(&*disk, &place.main, &text, &ownership)?;
        self.ledger.announce(
            kind.file,
            identity,
            before.becomes_backup(),
            backup.map(|backup| backup.identity),
        );
        self.save_ledger()?;
        let found = self.look_before_writing(kind)?;
        let notes = self.displace(kind, &place, &found)?;
        temporary.publish(&place.main)?;
        sync_both(&*disk, &place)?;
        self.expected.insert(kind.file, identity);
        Ok(Commit {
            bytes: identity.size,
            notes: notes.into_iter().collect(),
        })
    }

    /// Makes room for a new main: keeps the old one as `.bak`, or aside if it is not good or not ours.
    fn displace(
        &mut self,
        kind: &TableKind,
        place: &Place,
        found: &Found,
    ) -> Result<Option<String>, StoreError> {
        let (why, text) = match found {
            Found::Missing => return Ok(None),
            Found::Current(_) | Found::Earlier(_) => return self.back_up(kind, place),
            Found::Bad(reason) => ("bad", format!("was damaged ({reason})")),
            Found::Foreign => (
                "aside",
                "was changed by somebody, and no broker was seen".to_owned(),
            ),
            Found::GivenUp => ("aside", "was given up to be written again".to_owned()),
        };
        let aside = put_aside(&*self.disk, &place.main, &place.name, why)?;
        Ok(Some(told(&place.name, &text, &aside)))
    }

    /// Makes main `.bak` too. One that is there and is not ours is put aside before.
    fn back_up(&mut self, kind: &TableKind, place: &Place) -> Result<Option<String>, StoreError> {
        let disk = Arc::clone(&self.disk);
        let Some((next, copied)) = next_backup(&*disk, &place.main, &place.backup)? else {
            return Ok(None);
        };
        let old = self.stat(&place.backup)?.map(|stat| stat.identity);
        let note = match old {
            Some(old) if !self.ledger.is_ours(kind.file, old) => {
                let aside = put_aside(&*disk, &place.backup, &place.backup, "aside")?;
                Some(told(&place.backup, "was not ours", &aside))
            }
            _ => None,
        };
        if let Some(copy) = copied {
            self.ledger.announce_backup(kind.file, copy, old);
            self.save_ledger()?;
        }
        next.publish(&place.backup)?;
        Ok(note)
    }

    /// Fails unless the directory is ours to write, and says what main of `kind` is.
    fn look_before_writing(&mut self, kind: &TableKind) -> Result<Found, StoreError> {
        match self.look_around()? {
            Around::BrokerRunning(holder) => Err(StoreError::in_use(holder)),
            Around::TakenOver => Err(StoreError::TakenOver {
                files: self.ledger.taken_over.clone(),
            }),
            Around::Free(mut mains) => match mains.unreadable.remove(kind.file) {
                Some(error) => Err(error),
                None => Ok(mains.found.remove(kind.file).unwrap_or(Found::Missing)),
            },
        }
    }

    fn look_around(&mut self) -> Result<Around, StoreError> {
        self.keep()?;
        // Only a load knows strangers that were there before us.
        if !self.loaded {
            self.load()?;
        }
        if let Some(holder) = self.look_for_broker()? {
            return Ok(Around::BrokerRunning(holder));
        }
        if !self.ledger.taken_over.is_empty() {
            return Ok(Around::TakenOver);
        }
        let mut mains = self.look_at_mains();
        if self.broker.seen() {
            let files = self.left_by_broker(&mains.found)?;
            if !files.is_empty() {
                self.take_over(files)?;
                return Ok(Around::TakenOver);
            }
            if let Some((_, error)) = mains.unreadable.pop_first() {
                return Err(error);
            }
        }
        Ok(Around::Free(mains))
    }

    fn look_at_mains(&self) -> Mains {
        let mut mains = Mains {
            found: BTreeMap::new(),
            unreadable: BTreeMap::new(),
        };
        for kind in KINDS {
            match self.find(kind) {
                Ok(found) => drop(mains.found.insert(kind.file, found)),
                Err(error) => drop(mains.unreadable.insert(kind.file, error)),
            }
        }
        mains
    }

    /// Who holds the broker's lock. That one was seen is remembered over a restart.
    pub(super) fn look_for_broker(&mut self) -> Result<Option<Holder>, StoreError> {
        let holder = self.broker.look(&*self.disk, &self.path)?;
        if self.ledger.broker_seen != self.broker.seen() {
            self.ledger.broker_seen = self.broker.seen();
            self.save_ledger()?;
        }
        Ok(holder)
    }

    pub(super) fn take_over(&mut self, files: Vec<String>) -> Result<(), StoreError> {
        self.ledger.taken_over = files;
        self.save_ledger()
    }

    pub(super) fn stat(&self, path: &Path) -> Result<Option<Stat>, StoreError> {
        self.disk.stat(path).during("look at", path)
    }

    fn find(&self, kind: &'static TableKind) -> Result<Found, StoreError> {
        let main = Place::of(&*self.disk, &self.path, kind)?.main;
        let Some(stat) = self.stat(&main)? else {
            return Ok(Found::Missing);
        };
        if self.expected.get(kind.file) == Some(&stat.identity) {
            return Ok(Found::Current(stat.identity));
        }
        Ok(match Content::read(&*self.disk, kind, &main)? {
            Content::Missing => Found::Missing,
            Content::Bad { reason, .. } => Found::Bad(reason),
            Content::Whole { stat, .. } => match self.ledger.whose(kind.file, stat.identity) {
                Whose::Ours => Found::Earlier(stat.identity),
                Whose::GivenUp => Found::GivenUp,
                Whose::Foreign => Found::Foreign,
            },
        })
    }

    /// Files that hold a broker's last word: a whole main, or, where it was killed between moving main to `.bak` and
    /// writing a new one (5.5.0 does that), a whole `.bak`.
    fn left_by_broker(
        &self,
        found: &BTreeMap<&'static str, Found>,
    ) -> Result<Vec<String>, StoreError> {
        let mut files = Vec::new();
        for kind in KINDS {
            match found.get(kind.file) {
                Some(Found::Foreign) => files.push(kind.file.to_owned()),
                Some(Found::Missing | Found::Bad(_)) if self.backup_is_foreign(kind)? => {
                    files.push(format!("{}.bak", kind.file));
                }
                _ => {}
            }
        }
        Ok(files)
    }

    fn backup_is_foreign(&self, kind: &'static TableKind) -> Result<bool, StoreError> {
        let place = Place::of(&*self.disk, &self.path, kind)?;
        let Some(stat) = self.stat(&place.backup)? else {
            return Ok(false);
        };
        if self.ledger.is_ours(kind.file, stat.identity) {
            return Ok(false);
        }
        Ok(Content::read(&*self.disk, kind, &place.backup)?
            .table()
            .is_some())
    }
}

impl Found {
    /// Only good content of ours becomes `.bak`.
    fn becomes_backup(&self) -> Option<FileIdentity> {
        match self {
            Self::Current(identity) | Self::Earlier(identity) => Some(*identity),
            _ => None,
        }
    }
}

fn told(name: &Path, text: &str, aside: &Path) -> String {
    format!(
        "{} {text}; what it held is in {}",
        name.display(),
        aside.display()
    )
}
