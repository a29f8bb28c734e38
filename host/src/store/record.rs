//! What a replica knows that must survive a restart and is in no table's file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use locum_tables::DataVersion;
use serde::{Deserialize, Serialize};

use super::disk::{Disk, Ownership};
use super::error::StoreError;
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
    #[serde(with = "hexadecimal")]
    pub memory: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
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

    /// Writes the record whole, with mode 0600, and makes the state directory (0700) if it is missing.
    pub fn save(&self, disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
        create_directories(disk, parent(path), &STATE_DIRECTORY)?;
        json::save(disk, path, self)?;
        Ok(())
    }
}

/// Bytes as hexadecimal text: an array of numbers would take twice the room and nobody could read it.
mod hexadecimal {
    use std::collections::BTreeMap;
    use std::fmt::Write;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Nested<T> = BTreeMap<String, BTreeMap<String, T>>;

    pub(super) fn serialize<S: Serializer>(
        memory: &Nested<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let encode = |values: &BTreeMap<String, Vec<u8>>| {
            values
                .iter()
                .map(|(key, bytes)| (key.clone(), encode(bytes)))
                .collect::<BTreeMap<_, _>>()
        };
        memory
            .iter()
            .map(|(slot, values)| (slot, encode(values)))
            .collect::<BTreeMap<_, _>>()
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Nested<Vec<u8>>, D::Error> {
        let text = Nested::<String>::deserialize(deserializer)?;
        let decode = |text: String| {
            decode(&text).ok_or_else(|| D::Error::custom("memory is not hexadecimal"))
        };
        text.into_iter()
            .map(|(slot, values)| {
                let values = values
                    .into_iter()
                    .map(|(key, text)| Ok((key, decode(text)?)));
                Ok((slot, values.collect::<Result<_, D::Error>>()?))
            })
            .collect()
    }

    fn encode(bytes: &[u8]) -> String {
        bytes
            .iter()
            .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
                text
            })
    }

    fn decode(text: &str) -> Option<Vec<u8>> {
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|digit| {
                digit
                    .to_digit(16)
                    .and_then(|value| u8::try_from(value).ok())
            })
            .collect();
        let digits = digits?;
        let pairs = digits.chunks_exact(2);
        pairs
            .remainder()
            .is_empty()
            .then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
    }
}
