//! The start of a replica's directory: what is there, what of it is ours, and mending what is not right.

use std::path::Path;
use std::sync::Arc;

use locum_tables::{KINDS, Table, TableKind};
use serde::Serialize;

use super::aside::put_aside;
use super::content::{Content, Place};
use super::directory::{Directory, Found};
use super::disk::{FileIdentity, Stat};
use super::error::{During, StoreError};
use super::write::{Temporary, ownership_for, part, sync_both};

/// Which copy of a file a table came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadedFrom {
    /// The file itself.
    Main,
    /// Its `.bak`, since main was missing or damaged.
    Backup,
    /// Neither: there is none, or none is whole.
    Nothing,
}

/// What a start found of one table.
#[derive(Debug)]
pub struct Loaded {
    /// The table's kind.
    pub kind: &'static TableKind,
    /// The table, if a copy was whole.
    pub table: Option<Table>,
    /// Where it came from.
    pub copy: LoadedFrom,
    /// Whether it is a generation that this directory's host committed, or that was adopted. One that is not must not
    /// become the base of a draft.
    pub ours: bool,
    /// What was wrong and what was done about it.
    pub notes: Vec<String>,
}

/// What an operator says of a directory that a broker has taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adoption {
    /// The broker's files are the current tables.
    Take,
    /// The broker's files are put aside by the next commit of each table.
    Overwrite,
}

/// Both copies of one table, before anything is changed.
struct Copies {
    kind: &'static TableKind,
    place: Place,
    main: Content,
    /// Read only if main is not whole.
    backup: Content,
}

impl Directory {
    /// Reads all tables: main, else `.bak`, else none, with the reasons.
    ///
    /// All is read before anything is written. A whole main that is not ours means that a broker ran here while we did
    /// not: the directory is taken over, and nothing is mended. Nor is it while a broker runs. Else a table that came
    /// from `.bak` is written to main (and a damaged main put aside), and a `.bak` that shares main's file gets its own.
    /// A copy that cannot be read fails the whole load, since then nobody knows whose the directory is.
    pub fn load(&mut self) -> Result<Vec<Loaded>, StoreError> {
        let running = self.look_for_broker()?.is_some();
        let mut copies = Vec::new();
        for kind in KINDS {
            copies.push(Copies::read(self, kind)?);
        }
        if !running && self.ledger.taken_over.is_empty() {
            self.notice_strangers(&copies)?;
        }
        let free = !running && self.ledger.taken_over.is_empty();
        self.expected.clear();
        let loaded = copies
            .into_iter()
            .map(|copies| self.settle(copies, free))
            .collect::<Result<_, _>>()?;
        self.loaded = true;
        Ok(loaded)
    }

    /// Ends a take-over as the operator wishes, and loads again.
    pub fn adopt(&mut self, adoption: Adoption) -> Result<Vec<Loaded>, StoreError> {
        if let Some(holder) = self.look_for_broker()? {
            return Err(StoreError::in_use(holder));
        }
        for kind in KINDS {
            let copies = Copies::read(self, kind)?;
            match adoption {
                Adoption::Take => self.make_ours(&copies)?,
                Adoption::Overwrite => self.give_up(&copies)?,
            }
        }
        self.ledger.taken_over.clear();
        self.broker.forget();
        self.ledger.broker_seen = false;
        self.save_ledger()?;
        self.load()
    }

    fn make_ours(&mut self, copies: &Copies) -> Result<(), StoreError> {
        if let Content::Whole { stat, .. } = copies.main {
            let backup = self.stat(&copies.place.backup)?.map(|stat| stat.identity);
            self.ledger.adopt(copies.kind.file, stat.identity, backup);
        }
        Ok(())
    }

    /// Main stays until the next commit takes its place; a `.bak` that would be loaded instead of it goes at once.
    fn give_up(&mut self, copies: &Copies) -> Result<(), StoreError> {
        let file = copies.kind.file;
        let backup = &copies.place.backup;
        match (&copies.main, &copies.backup) {
            (Content::Whole { stat, .. }, _) if !self.ledger.is_ours(file, stat.identity) => {
                self.ledger.give_up(file, stat.identity);
            }
            (Content::Missing | Content::Bad { .. }, Content::Whole { stat, .. })
                if !self.ledger.is_ours(file, stat.identity) =>
            {
                put_aside(&*self.disk, backup, backup, "aside")?;
                self.disk.remove(backup).during("remove", backup)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn notice_strangers(&mut self, copies: &[Copies]) -> Result<(), StoreError> {
        let is_foreign = |copies: &&Copies| match &copies.main {
            Content::Whole { stat, .. } => {
                matches!(self.whose(copies.kind, stat.identity), Found::Foreign)
            }
            _ => false,
        };
        let files: Vec<String> = copies
            .iter()
            .filter(is_foreign)
            .map(|copies| copies.kind.file.to_owned())
            .collect();
        if files.is_empty() {
            Ok(())
        } else {
            self.take_over(files)
        }
    }

    fn settle(&mut self, copies: Copies, free: bool) -> Result<Loaded, StoreError> {
        match (&copies.main, &copies.backup) {
            (Content::Whole { stat, table }, _) => {
                self.settle_on_main(&copies, stat.identity, table, free)
            }
            (_, Content::Whole { stat, table }) => {
                self.settle_on_backup(&copies, *stat, table, free)
            }
            _ => self.settle_on_nothing(&copies, free),
        }
    }

    fn settle_on_main(
        &mut self,
        copies: &Copies,
        identity: FileIdentity,
        table: &Table,
        free: bool,
    ) -> Result<Loaded, StoreError> {
        let Copies { kind, place, .. } = copies;
        match self.whose(kind, identity) {
            // The next commit puts it aside, whatever it says: no base for a draft.
            Found::GivenUp => return Ok(Loaded::nothing(kind)),
            Found::Foreign => {
                let note = format!("{} was not written by this host", place.name.display());
                return Ok(Loaded::of(LoadedFrom::Main, table, false, vec![note]));
            }
            _ => {}
        }
        self.expected.insert(kind.file, identity);
        if free && let Some(backup) = part(&*self.disk, &place.main, &place.backup)? {
            self.ledger.note_backup(kind.file, backup);
            self.save_ledger()?;
        }
        Ok(Loaded::of(LoadedFrom::Main, table, true, Vec::new()))
    }

    fn settle_on_backup(
        &mut self,
        copies: &Copies,
        backup: Stat,
        table: &Table,
        free: bool,
    ) -> Result<Loaded, StoreError> {
        let Copies {
            kind, place, main, ..
        } = copies;
        let mut notes = vec![format!(
            "{} {}; its .bak is used",
            place.name.display(),
            main.complaint()
        )];
        if free {
            notes.extend(self.mend(copies, backup, table)?);
        }
        let ours = free || self.ledger.is_ours(kind.file, backup.identity);
        Ok(Loaded::of(LoadedFrom::Backup, table, ours, notes))
    }

    fn settle_on_nothing(&mut self, copies: &Copies, free: bool) -> Result<Loaded, StoreError> {
        let Copies {
            kind,
            place,
            main,
            backup,
        } = copies;
        let mut notes = Vec::new();
        if let Content::Bad { .. } = main {
            notes.push(format!("{} {}", place.name.display(), main.complaint()));
            if free {
                notes.push(self.remove_bad(place)?);
            }
        }
        if let Content::Bad { .. } = backup {
            notes.push(format!("{} {}", place.backup.display(), backup.complaint()));
        }
        Ok(Loaded {
            notes,
            ..Loaded::nothing(kind)
        })
    }

    /// Writes a table that came from `.bak` to main, and leaves `.bak` alone.
    fn mend(
        &mut self,
        copies: &Copies,
        backup: Stat,
        table: &Table,
    ) -> Result<Option<String>, StoreError> {
        let Copies {
            kind, place, main, ..
        } = copies;
        let disk = Arc::clone(&self.disk);
        let ownership = ownership_for(main.stat(), Some(backup), &self.ownership);
        let (temporary, identity) =
            Temporary::write(&*disk, &place.main, &table.to_file(), &ownership)?;
        self.ledger
            .announce(kind.file, identity, Some(backup.identity));
        self.save_ledger()?;
        if let Some(holder) = self.look_for_broker()? {
            return Err(StoreError::in_use(holder));
        }
        let aside = match main {
            Content::Bad { .. } => Some(put_aside(&*disk, &place.main, &place.name, "bad")?),
            _ => None,
        };
        temporary.publish(&place.main)?;
        sync_both(&*disk, place)?;
        self.expected.insert(kind.file, identity);
        Ok(aside.map(|aside| kept(&aside)))
    }

    /// A damaged main without a good `.bak` helps nobody where it is, but somebody may want to look at it.
    fn remove_bad(&self, place: &Place) -> Result<String, StoreError> {
        let aside = put_aside(&*self.disk, &place.main, &place.name, "bad")?;
        self.disk
            .remove(&place.main)
            .during("remove", &place.main)?;
        sync_both(&*self.disk, place)?;
        Ok(kept(&aside))
    }
}

impl Loaded {
    fn nothing(kind: &'static TableKind) -> Self {
        Self {
            kind,
            table: None,
            copy: LoadedFrom::Nothing,
            ours: false,
            notes: Vec::new(),
        }
    }

    fn of(copy: LoadedFrom, table: &Table, ours: bool, notes: Vec<String>) -> Self {
        Self {
            kind: table.kind(),
            table: Some(table.clone()),
            copy,
            ours,
            notes,
        }
    }
}

impl Copies {
    fn read(directory: &Directory, kind: &'static TableKind) -> Result<Self, StoreError> {
        let disk = &*directory.disk;
        let place = Place::of(disk, directory.path(), kind)?;
        let main = Content::read(disk, kind, &place.main)?;
        let backup = match main {
            Content::Whole { .. } => Content::Missing,
            _ => Content::read(disk, kind, &place.backup)?,
        };
        Ok(Self {
            kind,
            place,
            main,
            backup,
        })
    }
}

fn kept(aside: &Path) -> String {
    format!("what it held is in {}", aside.display())
}
