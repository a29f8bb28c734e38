//! A replica's record: what is to survive a restart and is in no table's file.
//!
//! Noting something holds up nobody, and writing it down holds up only who writes too: neither waits for the directory, nor
//! does the directory wait for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use locum_tables::Slot;
use parking_lot::Mutex;

use super::live::Live;
use super::recorded::{LoadPolicy, Restored, Source, record, restored};
use crate::config::Role;
use crate::policy::Memory;
use crate::store::{CommitRecord, Components, Disk, Record, RoleRecord, StoreError};
use crate::swap::Lasting;

/// The record in memory, and its one file.
pub(super) struct Recorder {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    components: Components,
    configured_role: Role,
    record: Mutex<Record>,
    /// By slot, the components of the record that are known to be in place.
    kept: Mutex<BTreeMap<Slot, BTreeSet<String>>>,
    /// Held while the file is written.
    writing: Mutex<Writing>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    Allowed,
    /// The record is only looked at.
    Never,
    /// The replica has stopped, and the file may be another host's.
    Over,
}

impl Recorder {
    /// Reads the record, or begins one; what there is to tell of that. Blocking, as everything here that touches the disk.
    pub(super) fn open(
        name: &str,
        configured_role: Role,
        state_directory: &Path,
        disk: Arc<dyn Disk>,
    ) -> Result<(Self, Option<String>), StoreError> {
        let path = Record::path(state_directory, name);
        let (record, warning) = Record::load(&*disk, &path)?;
        let recorder = Self::new(record, path, configured_role, state_directory, disk);
        Ok((recorder, warning))
    }

    /// Reads the record, and never writes it.
    pub(super) fn peek(
        name: &str,
        configured_role: Role,
        state_directory: &Path,
        disk: Arc<dyn Disk>,
    ) -> Result<(Self, Option<String>), StoreError> {
        let path = Record::path(state_directory, name);
        let (record, warning) = Record::peek(&*disk, &path)?;
        let recorder = Self::new(record, path, configured_role, state_directory, disk);
        *recorder.writing.lock() = Writing::Never;
        Ok((recorder, warning))
    }

    fn new(
        mut record: Record,
        path: PathBuf,
        configured_role: Role,
        state_directory: &Path,
        disk: Arc<dyn Disk>,
    ) -> Self {
        // A command is forgotten when the configured value changes, also if that comes back later.
        let configured = configured_role.to_string();
        record.role.take_if(|role| role.configured != configured);
        Self {
            disk,
            path,
            components: Components::of_state(state_directory),
            configured_role,
            record: Mutex::new(record),
            kept: Mutex::default(),
            writing: Mutex::new(Writing::Allowed),
        }
    }

    /// Writes down what was noted, unless nothing is to be written any more.
    pub(super) fn save(&self) -> Result<(), StoreError> {
        let writing = self.writing.lock();
        match *writing {
            Writing::Allowed => {
                let record = self.record.lock().clone();
                record.save(&*self.disk, &self.path)
            }
            Writing::Never => Ok(()),
            Writing::Over => Err(StoreError::Io {
                step: "write, since the replica has stopped,",
                path: self.path.clone(),
                source: std::io::ErrorKind::ReadOnlyFilesystem.into(),
            }),
        }
    }

    /// Nothing is written any more.
    pub(super) fn close(&self) {
        *self.writing.lock() = Writing::Over;
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The role that holds: a command outlives restarts.
    pub(super) fn role(&self) -> Role {
        let record = self.record.lock();
        let commanded = record.role.as_ref().and_then(|role| {
            [Role::Slave, Role::Master]
                .into_iter()
                .find(|known| known.to_string() == role.commanded)
        });
        commanded.unwrap_or(self.configured_role)
    }

    /// Whether a command paused the slot.
    pub(super) fn is_paused(&self, slot: Slot) -> bool {
        self.record.lock().paused.contains(slot.name())
    }

    /// What the slot's policies remembered.
    pub(super) fn memory(&self, slot: Slot) -> Memory {
        let record = self.record.lock();
        record.memory.get(slot.name()).cloned().unwrap_or_default()
    }

    /// What a slot ran and would go back to. What cannot be had any more is told in `notes`.
    pub(super) fn restored(
        &self,
        slot: Slot,
        load: &LoadPolicy<'_>,
        notes: &mut Vec<String>,
    ) -> Restored {
        let source = Source {
            components: &self.components,
            disk: &*self.disk,
            load,
        };
        let swap = self.record.lock().swaps.get(slot.name()).cloned();
        swap.map(|swap| restored(slot, &swap, &source, notes))
            .unwrap_or_default()
    }

    /// Who committed a table last.
    pub(super) fn committed(&self, table: &str) -> Option<CommitRecord> {
        self.record.lock().tables.get(table).cloned()
    }

    pub(super) fn note_commit(&self, table: &str, commit: CommitRecord) {
        self.record.lock().tables.insert(table.to_owned(), commit);
    }

    pub(super) fn note_role(&self, role: Role) {
        self.record.lock().role = Some(RoleRecord {
            configured: self.configured_role.to_string(),
            commanded: role.to_string(),
        });
    }

    pub(super) fn note_paused(&self, slot: Slot, paused: bool) {
        let mut record = self.record.lock();
        if paused {
            record.paused.insert(slot.name().to_owned());
        } else {
            record.paused.remove(slot.name());
        }
    }

    /// What the ticks of a slot want to remember.
    pub(super) fn note_memory(&self, slot: Slot, memory: BTreeMap<String, Vec<u8>>) {
        let mut record = self.record.lock();
        if memory.is_empty() {
            record.memory.remove(slot.name());
        } else {
            record.memory.insert(slot.name().to_owned(), memory);
        }
    }

    /// What a slot runs and would go back to. The components are on disk first.
    ///
    /// # Errors
    /// A component could not be kept: what was noted before stays.
    pub(super) fn note_swap(
        &self,
        slot: Slot,
        swap: impl FnOnce() -> (Lasting<Live>, Option<Memory>),
    ) -> Result<(), StoreError> {
        // Held from the look at the slot on, so that an older one is never noted over a newer.
        let writing = self.writing.lock();
        if *writing != Writing::Allowed {
            return Ok(());
        }
        let (lasting, aside) = swap();
        self.keep(slot, &lasting)?;
        let swap = record(&lasting, aside);
        self.record
            .lock()
            .swaps
            .insert(slot.name().to_owned(), swap);
        Ok(())
    }

    /// Puts the components that the record would name in place. One that this process has put there for the slot, and that the
    /// record has named since, is not looked at again: it may be large.
    fn keep(&self, slot: Slot, lasting: &Lasting<Live>) -> Result<(), StoreError> {
        let mut kept = self.kept.lock();
        let of_slot = kept.entry(slot).or_default();
        let wanted = lasting.good.iter().chain(&lasting.previous);
        let mut in_place = BTreeSet::new();
        for live in wanted {
            let sha256 = live.policy.sha256();
            if !of_slot.contains(sha256) {
                self.components
                    .keep(&*self.disk, sha256, live.policy.component())?;
            }
            in_place.insert(sha256.to_owned());
        }
        *of_slot = in_place;
        Ok(())
    }
}
