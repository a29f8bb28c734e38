//! The start of a replica's directory: what is there, what of it is ours, and mending what is not right.

use std::path::Path;
use std::sync::Arc;

use locum_tables::{KINDS, Table, TableKind};
use serde::Serialize;

use super::aside::put_aside;
use super::content::{Content, Place};
use super::directory::Directory;
use super::disk::{Disk, Stat};
use super::error::{During, StoreError};
use super::ledger::{Ledger, Whose};
use super::write::{Temporary, ownership_for, prepare_copy, share_file, sync_both, sync_parent};

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
pub(super) struct Copies {
    kind: &'static TableKind,
    place: Place,
    main: Content,
    /// Read only if main is not whole.
    backup: Content,
}

impl Directory {
    /// Reads all tables: main, else `.bak`, else none, with the reasons.
    ///
    /// All is read before anything is written. A whole main that is not ours, or such a `.bak` where main is missing or
    /// damaged (5.5.0 moves main there before it writes a new one), means that a broker ran here while we did not: the
    /// directory is taken over, and nothing is mended. Nor is it while a broker runs. Else a table that came from `.bak` is
    /// written to main (and a damaged main put aside), and a `.bak` that shares main's file gets its own.
    /// A copy that cannot be read fails the whole load, since then nobody knows whose the directory is.
    pub fn load(&mut self) -> Result<Vec<Loaded>, StoreError> {
        self.keep()?;
        let running = self.look_for_broker()?.is_some();
        let mut copies = Vec::new();
        for kind in KINDS {
            copies.push(Copies::read(&*self.disk, &self.path, kind)?);
        }
        if !running && self.ledger.taken_over.is_empty() {
            let strangers = strangers(&self.ledger, &copies);
            if !strangers.is_empty() {
                self.take_over(strangers)?;
            }
        }
        let free = !running && self.ledger.taken_over.is_empty();
        self.expected.clear();
        let loaded = copies
            .iter()
            .map(|copies| self.settle(copies, free))
            .collect::<Result<_, _>>()?;
        self.loaded = true;
        Ok(loaded)
    }

    /// Ends a take-over as the operator wishes, and loads again.
    ///
    /// # Errors
    /// Nothing is adopted then: the directory is as taken over as before, so that no later commit writes over the broker's files.
    pub fn adopt(&mut self, adoption: Adoption) -> Result<Vec<Loaded>, StoreError> {
        let before = self.ledger.clone();
        let adopted = self.adopt_as(adoption);
        if adopted.is_err() {
            self.ledger = before;
        }
        adopted
    }

    fn adopt_as(&mut self, adoption: Adoption) -> Result<Vec<Loaded>, StoreError> {
        self.keep()?;
        if let Some(holder) = self.look_for_broker()? {
            return Err(StoreError::in_use(holder));
        }
        for kind in KINDS {
            let copies = Copies::read(&*self.disk, &self.path, kind)?;
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

    /// What is whole, with the `.bak` beside it.
    fn make_ours(&mut self, copies: &Copies) -> Result<(), StoreError> {
        let main = copies.main.table().and(copies.main.stat());
        let backup = match main {
            Some(_) => self.stat(&copies.place.backup)?,
            None => copies.backup.table().and(copies.backup.stat()),
        };
        let identity = |stat: Option<Stat>| stat.map(|stat| stat.identity);
        if main.or(backup).is_some() {
            self.ledger
                .adopt(copies.kind.file, identity(main), identity(backup));
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

    /// What the table is; if the directory is `free` to write, its files are put in order.
    fn settle(&mut self, copies: &Copies, free: bool) -> Result<Loaded, StoreError> {
        let mut loaded = copies.judge(&self.ledger);
        match (&copies.main, &copies.backup) {
            (Content::Whole { stat, .. }, _) if loaded.ours => {
                self.expected.insert(copies.kind.file, stat.identity);
                if free {
                    self.part(copies)?;
                }
            }
            (Content::Whole { .. }, _) => {}
            (_, Content::Whole { stat, table }) if free => {
                loaded.notes.extend(self.mend(copies, *stat, table)?);
            }
            (Content::Bad { .. }, _) if free => loaded.notes.push(self.remove_bad(&copies.place)?),
            _ => {}
        }
        Ok(loaded)
    }

    /// Gives `.bak` a file of its own if it shares main's: brokers up to 5.3.3 write main in place, and would tear both.
    fn part(&mut self, copies: &Copies) -> Result<(), StoreError> {
        let Copies { kind, place, .. } = copies;
        let disk = Arc::clone(&self.disk);
        if !share_file(&*disk, &place.main, &place.backup)? {
            return Ok(());
        }
        let (copy, identity) = prepare_copy(&*disk, &place.main, &place.backup)?;
        let shared = copies.main.stat().map(|stat| stat.identity);
        self.ledger.announce_backup(kind.file, identity, shared);
        self.save_ledger()?;
        copy.publish(&place.backup)?;
        sync_parent(&*disk, &place.backup)
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
            .announce(kind.file, identity, None, Some(backup.identity));
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
    pub(super) fn read(
        disk: &dyn Disk,
        directory: &Path,
        kind: &'static TableKind,
    ) -> Result<Self, StoreError> {
        let place = Place::of(disk, directory, kind)?;
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

    /// The table as the ledger has it, before anything is mended.
    pub(super) fn judge(&self, ledger: &Ledger) -> Loaded {
        let (main, file) = (self.place.name.display(), self.kind.file);
        match (&self.main, &self.backup) {
            (Content::Whole { stat, table }, _) => match ledger.whose(file, stat.identity) {
                Whose::Ours => Loaded::of(LoadedFrom::Main, table, true, Vec::new()),
                // The next commit puts it aside, whatever it says: no base for a draft.
                Whose::GivenUp => Loaded::nothing(self.kind),
                Whose::Foreign => {
                    let note = format!("{main} was not written by this host");
                    Loaded::of(LoadedFrom::Main, table, false, vec![note])
                }
            },
            (bad, Content::Whole { stat, table }) => {
                let note = format!("{main} {}; its .bak is used", bad.complaint());
                let ours = ledger.is_ours(file, stat.identity);
                Loaded::of(LoadedFrom::Backup, table, ours, vec![note])
            }
            _ => Loaded {
                notes: self.damages(),
                ..Loaded::nothing(self.kind)
            },
        }
    }

    fn damages(&self) -> Vec<String> {
        let copies = [
            (&self.place.name, &self.main),
            (&self.place.backup, &self.backup),
        ];
        copies
            .into_iter()
            .filter(|(_, content)| matches!(content, Content::Bad { .. }))
            .map(|(path, content)| format!("{} {}", path.display(), content.complaint()))
            .collect()
    }

    /// The file that a broker would load, if it is somebody else's.
    fn stranger(&self, ledger: &Ledger) -> Option<String> {
        let file = self.kind.file;
        match (&self.main, &self.backup) {
            (Content::Whole { stat, .. }, _) => {
                (ledger.whose(file, stat.identity) == Whose::Foreign).then(|| file.to_owned())
            }
            (_, Content::Whole { stat, .. }) => {
                (!ledger.is_ours(file, stat.identity)).then(|| format!("{file}.bak"))
            }
            _ => None,
        }
    }
}

/// The files by which a broker has taken a directory over.
pub(super) fn strangers(ledger: &Ledger, copies: &[Copies]) -> Vec<String> {
    copies
        .iter()
        .filter_map(|copies| copies.stranger(ledger))
        .collect()
}

fn kept(aside: &Path) -> String {
    format!("what it held is in {}", aside.display())
}
