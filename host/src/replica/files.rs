//! A replica's files as the replica needs them: the directory, and the record that survives a restart.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use locum_tables::{Slot, Table, TableKind};

use super::outcome::Fault;
use super::recorded::{LoadPolicy, Restored};
use super::recorder::Recorder;
use crate::clock::now_ms;
use crate::config::{ReplicaConfig, Role};
use crate::status::{ErrorKind, PolicyStatus, Time};
use crate::store::{
    Adoption, CommitRecord, Directory, Disk, Loaded, OpenError, Ownership, PolicyId, RealDisk,
    Standing, StoreError, Unreadable, peek,
};
use crate::telemetry::chain;

/// Why a replica did not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenReplicaError {
    /// The directory: kept by another host, of a broker with RocksDB, or the disk failed.
    #[error(transparent)]
    Directory(#[from] OpenError),
    /// Its files or the record could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenReplicaError {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Directory(OpenError::RocksDb { .. }) => ErrorKind::Config,
            Self::Directory(OpenError::Store(error)) | Self::Store(error) => kind_of(error),
        }
    }
}

/// Why a directory was not adopted.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// A broker runs there, or the disk failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The host itself failed.
    #[error("the host failed: {0}")]
    Host(String),
}

impl AdoptError {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => kind_of(error),
            Self::Host(_) => ErrorKind::Internal,
        }
    }
}

fn kind_of(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::DirectoryInUse { .. }
        | StoreError::TakenOver { .. }
        | StoreError::Locked { .. } => ErrorKind::InUse,
        StoreError::Io { .. } => ErrorKind::Disk,
    }
}

/// A committed table's file, for the status.
#[derive(Debug, Clone)]
pub(super) struct Committed {
    pub(super) source: String,
    pub(super) at: Time,
    pub(super) bytes: u64,
}

/// What a start found.
pub(super) struct Opened {
    pub(super) role: Role,
    pub(super) in_use: Option<String>,
    pub(super) tables: BTreeMap<&'static str, Table>,
    pub(super) committed: BTreeMap<&'static str, Committed>,
    pub(super) notes: Vec<String>,
    /// By slot, what its record says of its policies.
    pub(super) swaps: BTreeMap<Slot, Restored>,
    pub(super) recorder: Arc<Recorder>,
}

impl Opened {
    fn new(
        recorder: Recorder,
        loaded: Vec<Loaded>,
        standing: &Standing,
        mut notes: Vec<String>,
        load: &LoadPolicy<'_>,
    ) -> Self {
        let tables = own_tables(loaded, &mut notes);
        let of_table = |name: &&'static str| {
            let record = recorder.committed(name)?;
            let committed = Committed {
                source: record.source,
                at: Time(record.committed_at),
                bytes: record.bytes,
            };
            Some((*name, committed))
        };
        let swaps = Slot::ALL.map(|slot| (slot, recorder.restored(slot, load, &mut notes)));
        Self {
            role: recorder.role(),
            in_use: in_use(standing),
            committed: tables.keys().filter_map(of_table).collect(),
            tables,
            notes,
            swaps: swaps.into(),
            recorder: Arc::new(recorder),
        }
    }
}

/// Whether anything may be written, and what has to be written again.
pub(super) struct Looked {
    pub(super) in_use: Option<String>,
    pub(super) rewrite: Vec<&'static TableKind>,
    unreadable: Vec<Unreadable>,
}

impl Looked {
    /// Why the slot cannot go on, if the main of a table that it writes cannot be read. The other slots can.
    pub(super) fn fault(&self, slot: Slot) -> Option<Fault> {
        self.unreadable
            .iter()
            .find(|unreadable| unreadable.kind.slot == slot)
            .map(|unreadable| Fault::new(ErrorKind::Disk, unreadable.error.clone()))
    }
}

/// What an adoption made of the directory.
pub(super) struct Adopted {
    pub(super) tables: BTreeMap<&'static str, Table>,
    pub(super) notes: Vec<String>,
}

/// Whether the directory is ours to write.
enum Keeping {
    /// Locked for as long as this lives.
    Kept(Box<Directory>),
    /// Only looked at, once: nothing is written, not even our own lock.
    Looked(Standing),
}

/// The directory of one replica.
pub(super) struct Files {
    keeping: Keeping,
    recorder: Arc<Recorder>,
}

impl Files {
    /// Opens and loads. Blocking, as everything here is.
    pub(super) fn open(
        name: &str,
        config: &ReplicaConfig,
        state_directory: &Path,
        load: &LoadPolicy<'_>,
    ) -> Result<(Self, Opened), OpenReplicaError> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let ownership = Ownership {
            mode: config.file_mode,
            owner: config.file_owner,
            group: config.file_group,
        };
        let mut directory = Directory::open(&config.directory, ownership, Arc::clone(&disk))?;
        let (recorder, warning) = Recorder::open(name, config.role, state_directory, disk)?;
        let loaded = directory.load()?;
        let standing = directory.survey()?;
        let notes = directory.notes().iter().cloned().chain(warning).collect();
        let mut opened = Opened::new(recorder, loaded, &standing, notes, load);
        // The state directory is made, private, before anything else of ours goes there.
        let unsaved = opened.recorder.save().err();
        opened.notes.extend(unsaved.as_ref().map(unrecorded));
        let files = Self {
            keeping: Keeping::Kept(Box::new(directory)),
            recorder: Arc::clone(&opened.recorder),
        };
        Ok((files, opened))
    }

    /// Looks, and changes nothing: for a dry run without a host.
    pub(super) fn peek(
        name: &str,
        config: &ReplicaConfig,
        state_directory: &Path,
        load: &LoadPolicy<'_>,
    ) -> Result<(Self, Opened), OpenReplicaError> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let peeked = peek(&*disk, &config.directory)?;
        let (recorder, warning) = Recorder::peek(name, config.role, state_directory, disk)?;
        let notes = peeked.notes.into_iter().chain(warning).collect();
        let opened = Opened::new(recorder, peeked.loaded, &peeked.standing, notes, load);
        let files = Self {
            keeping: Keeping::Looked(peeked.standing),
            recorder: Arc::clone(&opened.recorder),
        };
        Ok((files, opened))
    }

    fn directory(&mut self) -> Result<&mut Directory, StoreError> {
        match &mut self.keeping {
            Keeping::Kept(directory) => Ok(directory),
            Keeping::Looked(_) => Err(StoreError::Io {
                step: "write for a dry run beside",
                path: self.recorder.path().to_owned(),
                source: std::io::ErrorKind::ReadOnlyFilesystem.into(),
            }),
        }
    }

    /// Before every tick and every commit: is a broker here, and are the files still ours.
    pub(super) fn look(&mut self) -> Result<Looked, Fault> {
        let standing = match &mut self.keeping {
            Keeping::Kept(directory) => directory.survey().map_err(|error| fault_of(&error))?,
            Keeping::Looked(standing) => standing.clone(),
        };
        let in_use = in_use(&standing);
        let (rewrite, unreadable) = match standing {
            Standing::Ours {
                rewrite,
                unreadable,
            } => (rewrite, unreadable),
            Standing::BrokerRunning { .. } | Standing::TakenOver { .. } => Default::default(),
        };
        Ok(Looked {
            in_use,
            rewrite,
            unreadable,
        })
    }

    /// Puts a table's file in place, and notes who wrote it; without a `source` it is written again, and who wrote it first
    /// stays. What to tell is among the notes.
    pub(super) fn commit(
        &mut self,
        table: &Table,
        source: Option<&str>,
        policy: &PolicyStatus,
    ) -> Result<(Committed, Vec<String>), StoreError> {
        let commit = self.directory()?.commit(table)?;
        let name = table.kind().name;
        let (source, policy) = match (source, self.recorder.committed(name)) {
            (None, Some(before)) => (before.source, before.policy),
            (source, _) => (source.unwrap_or_default().to_owned(), policy_id(policy)),
        };
        let committed_at = now_ms();
        let record = CommitRecord {
            entries: table.len() as u64,
            bytes: commit.bytes,
            version: table.version(),
            source: source.clone(),
            policy,
            committed_at,
        };
        self.recorder.note_commit(name, record);
        Ok((
            Committed {
                source,
                at: Time(committed_at),
                bytes: commit.bytes,
            },
            commit.notes,
        ))
    }

    /// Takes a directory back from a broker that took it over.
    pub(super) fn adopt(&mut self, overwrite: bool) -> Result<Adopted, StoreError> {
        let adoption = if overwrite {
            Adoption::Overwrite
        } else {
            Adoption::Take
        };
        let loaded = self.directory()?.adopt(adoption)?;
        let mut notes = Vec::new();
        let tables = own_tables(loaded, &mut notes);
        Ok(Adopted { tables, notes })
    }
}

/// The tables are safe all the same: the record only tells who wrote them, and what commands and policies want remembered.
pub(super) fn unrecorded(error: &StoreError) -> String {
    format!(
        "the record in the state directory is not up to date, and a restart would not know the latest: {}",
        chain(error)
    )
}

pub(super) fn fault_of(error: &StoreError) -> Fault {
    Fault::new(kind_of(error), chain(error))
}

/// Only what we committed, or adopted, may be the base of a draft.
fn own_tables(loaded: Vec<Loaded>, notes: &mut Vec<String>) -> BTreeMap<&'static str, Table> {
    let mut tables = BTreeMap::new();
    for Loaded {
        kind,
        table,
        ours,
        notes: found,
        ..
    } in loaded
    {
        notes.extend(found);
        if let Some(table) = table.filter(|_| ours) {
            tables.insert(kind.name, table);
        }
    }
    tables
}

/// Why nothing may be written, if so.
fn in_use(standing: &Standing) -> Option<String> {
    match standing {
        Standing::Ours { .. } => None,
        Standing::BrokerRunning { pid } => {
            let pid = pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            Some(format!(
                "a broker{pid} runs on the directory: nothing is written while it does"
            ))
        }
        Standing::TakenOver { files } => Some(format!(
            "the directory holds files that this host did not write ({}): a broker has taken it over, or they were there before. \
             Nothing is written until `locum adopt REPLICA` takes them, or `locum adopt REPLICA --overwrite` puts them aside",
            files.join(", ")
        )),
    }
}

fn policy_id(policy: &PolicyStatus) -> PolicyId {
    PolicyId {
        id: policy.id.clone(),
        name: policy.name.clone(),
        version: policy.version.clone(),
        sha256: policy.sha256.clone(),
    }
}
