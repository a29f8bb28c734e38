//! What a replica knows that must survive a restart and is in no table's file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use locum_tables::DataVersion;
use serde::{Deserialize, Serialize};

use super::disk::{Disk, Ownership};
use super::error::{During, StoreError};
use super::hexadecimal;
use super::json;
use super::write::{create_directories, file_name, parent, remove_unfinished};

/// The state directory is for the host alone: its socket and these records are in it.
const STATE_DIRECTORY: Ownership = Ownership {
    mode: 0o700,
    owner: None,
    group: None,
};

/// The record of one replica, one file in the state directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The role that an operator set by command, if one did.
    pub role: Option<RoleRecord>,
    /// Routines paused by command, by slot name.
    pub paused: BTreeSet<String>,
    /// The last commit of each table, by table name.
    pub tables: BTreeMap<String, CommitRecord>,
    /// What each policy keeps between its ticks, by slot name, then by key. Hexadecimal on disk.
    #[serde(with = "hexadecimal::by_slot")]
    pub memory: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// Where each slot is in exchanging its policy, by slot name.
    pub swaps: BTreeMap<String, SwapRecord>,
}

/// What a slot must know of its policies after a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SwapRecord {
    /// The last good policy: it ended a probation, or was the first of its slot and had one good tick.
    pub good: Option<GoodRecord>,
    /// The last good one before that.
    pub previous: Option<GoodRecord>,
    /// The probation that is under way, if one is.
    pub probation: Option<ProbationRecord>,
    /// The policies that are not tried again, oldest first.
    pub quarantine: Vec<QuarantineRecord>,
    /// The memory of the last good policy while another one is in probation, by key. Hexadecimal on disk.
    #[serde(with = "hexadecimal::aside")]
    pub aside: Option<BTreeMap<String, Vec<u8>>>,
}

/// A policy to return to. Its component is in [`Components`](super::Components).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GoodRecord {
    /// SHA-256 over component and settings, hexadecimal.
    pub id: String,
    /// SHA-256 of the component, hexadecimal.
    pub sha256: String,
    /// Its name for itself.
    pub name: String,
    /// Its version of itself.
    pub version: String,
    /// The file that it was read from, relative to the plugin directory.
    pub file: String,
    /// What the operator had set for it, defaults not filled in.
    pub settings: BTreeMap<String, String>,
}

/// A policy that was exchanged for another and has to show good ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbationRecord {
    /// Which policy is in probation.
    pub id: String,
    /// SHA-256 of its component, hexadecimal.
    pub sha256: String,
    /// Good ticks that it still has to show.
    pub ticks_left: u32,
    /// The keys that an operator has let it remove, by table name: guards pass these.
    pub accepted: BTreeMap<String, BTreeSet<String>>,
}

/// A policy that a slot does not try again until it is forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuarantineRecord {
    /// Which policy.
    pub id: String,
    /// SHA-256 of its component, hexadecimal.
    pub sha256: String,
    /// Why, for the operator.
    pub reason: String,
    /// Since when, in milliseconds since 1970.
    pub at: u64,
}

/// A role set by command. It holds until another command, or until the configured value changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleRecord {
    /// The role in the configuration when the command came.
    pub configured: String,
    /// The role that was commanded.
    pub commanded: String,
}

/// One committed state of a table, with who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRecord {
    /// Number of entries.
    pub entries: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// The table's version, `None` if unknown.
    pub version: Option<DataVersion>,
    /// Address of the master that it came from.
    pub source: String,
    /// The policy that drafted it.
    pub policy: PolicyId,
    /// When, in milliseconds since 1970.
    pub committed_at: u64,
}

/// Which policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyId {
    /// SHA-256 over component and settings, hexadecimal; empty in a commit of a host that had no ids yet.
    #[serde(default)]
    pub id: String,
    /// Its name for itself.
    pub name: String,
    /// Its version of itself.
    pub version: String,
    /// SHA-256 of the component, hexadecimal.
    pub sha256: String,
}

impl Record {
    /// Where the record of a replica is.
    #[must_use]
    pub fn path(state_directory: &Path, replica: &str) -> PathBuf {
        state_directory.join(format!("replica-{replica}.json"))
    }

    /// Reads a replica's record. A missing one is fresh; a damaged one, or one in a later format, is put aside, and fresh
    /// with a warning. An error if it is there and cannot be read.
    pub fn load(disk: &dyn Disk, path: &Path) -> Result<(Self, Option<String>), StoreError> {
        remove_unfinished(disk, parent(path), &format!("{}.", file_name(path)))?;
        json::load(disk, path)
    }

    /// The same, but changes nothing: a damaged record stays where it is.
    pub fn peek(disk: &dyn Disk, path: &Path) -> Result<(Self, Option<String>), StoreError> {
        json::peek(disk, path)
    }

    /// The components that the records in a state directory name, also those of replicas that no host keeps now. None if one of
    /// the records cannot tell.
    pub fn components(
        disk: &dyn Disk,
        state_directory: &Path,
    ) -> Result<Option<BTreeSet<String>>, StoreError> {
        let mut components = BTreeSet::new();
        let names = disk.list(state_directory).during("list", state_directory)?;
        let is_record = |name: &&String| name.starts_with("replica-") && name.ends_with(".json");
        for name in names.iter().filter(is_record) {
            let (record, warning) = Self::peek(disk, &state_directory.join(name))?;
            if warning.is_some() {
                return Ok(None);
            }
            let swaps = record.swaps.into_values();
            let good = swaps.flat_map(|swap| [swap.good, swap.previous]);
            components.extend(good.flatten().map(|good| good.sha256));
        }
        Ok(Some(components))
    }

    /// Writes the record whole, with mode 0600, and makes the state directory (0700) if it is missing.
    pub fn save(&self, disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
        create_directories(disk, parent(path), &STATE_DIRECTORY)?;
        json::save(disk, path, self)?;
        Ok(())
    }
}
