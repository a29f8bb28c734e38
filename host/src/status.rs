//! What the host tells about itself: the JSON of `locum status`, and the same as values for an embedder.

use std::collections::BTreeMap;

use locum_tables::{DataVersion, Slot};
use serde::{Deserialize, Serialize};

use crate::config::Role;

/// Milliseconds since 1970 as an RFC 3339 time in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

impl Time {
    /// Milliseconds from then until `now`; 0 for a time to come.
    pub fn age_ms(self, now: std::time::SystemTime) -> u64 {
        let since = now
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_millis()).map_or(u64::MAX, |now| now.saturating_sub(self.0))
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = i64::try_from(self.0)
            .ok()
            .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        match time {
            Some(time) => write!(f, "{time:.3}"),
            None => write!(f, "{} ms", self.0),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        u64::try_from(time.as_millisecond())
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

/// Everything: `locum status --output json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// By name.
    pub replicas: Vec<ReplicaStatus>,
}

/// One replica.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplicaStatus {
    /// As in the configuration.
    pub name: String,
    /// What it does now.
    pub role: Role,
    /// The master's address, where one is known.
    pub master: Option<String>,
    /// How it came to be known: for people.
    #[serde(default)]
    pub master_source: Option<String>,
    /// The directory that it fills.
    pub directory: String,
    /// Why it cannot write, what was noticed at load: for people, empty when all is well.
    pub notes: Vec<String>,
    /// The four routines.
    pub routines: Vec<RoutineStatus>,
}

/// The state of a routine: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutineState {
    /// The replica's role is master.
    Stopped,
    /// By command.
    Paused,
    /// No component was loaded yet.
    NoPolicy,
    /// A broker runs on the directory, or ran there and left its own files.
    DirectoryInUse,
    /// No master is known.
    NoMaster,
    /// The master is this replica's own broker.
    OwnAddress,
    /// A guard holds the last draft.
    Held,
    /// The last tick failed.
    Failing,
    /// No tick yet.
    Waiting,
    /// The last tick was updated or unchanged.
    Active,
}

impl std::fmt::Display for RoutineState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stopped => "stopped",
            Self::Paused => "paused",
            Self::NoPolicy => "no-policy",
            Self::DirectoryInUse => "directory-in-use",
            Self::NoMaster => "no-master",
            Self::OwnAddress => "own-address",
            Self::Held => "held",
            Self::Failing => "failing",
            Self::Waiting => "waiting",
            Self::Active => "active",
        })
    }
}

/// One routine of a replica.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RoutineStatus {
    /// The slot: `topic`, `offset`, `delay`, `subgroup`.
    #[serde(with = "slot_name")]
    pub name: Slot,
    /// What it is in.
    pub state: RoutineState,
    /// What runs, where anything was loaded.
    pub policy: Option<PolicyStatus>,
    /// What is on its way into the slot.
    pub candidate: Option<CandidateStatus>,
    /// Why the last candidate that did not get in, or did not stay in, did not.
    pub last_refusal: Option<RefusalStatus>,
    /// What runs is still being watched.
    pub probation: Option<ProbationStatus>,
    /// What is not tried again until somebody says `locum plugin forget`, oldest first.
    pub quarantine: Vec<QuarantineStatus>,
    /// What to know of its file, such as that it is missing: for people, none when all is well.
    pub note: Option<String>,
    /// How often each transition of the slot's policies came since the start, by its name.
    pub transitions: BTreeMap<String, u64>,
    /// Ticks since the start.
    pub ticks: u64,
    /// Ticks that failed.
    pub failures: u64,
    /// Times that were due and passed without a tick.
    pub missed: u64,
    /// The last tick.
    pub last_tick: Option<TickStatus>,
    /// When the last updated or unchanged tick began, since the start.
    pub last_success: Option<Time>,
    /// What this slot may write.
    pub tables: Vec<TableStatus>,
}

impl RoutineStatus {
    /// A routine of a replica that could not be opened.
    pub(crate) fn of_closed(slot: Slot, state: RoutineState) -> Self {
        Self {
            name: slot,
            state,
            policy: None,
            candidate: None,
            last_refusal: None,
            probation: None,
            quarantine: Vec::new(),
            note: None,
            transitions: BTreeMap::new(),
            ticks: 0,
            failures: 0,
            missed: 0,
            last_tick: None,
            last_success: None,
            tables: Vec::new(),
        }
    }
}

/// The policy that fills a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyStatus {
    /// Its own name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// Of the component's hash and the operator's settings, in hex: what swapping goes by.
    pub id: String,
    /// Of the component's bytes, in hex.
    pub sha256: String,
    /// The file, relative to the plugin directory.
    pub file: String,
    /// When it came into the slot.
    pub since: Time,
}

/// Where a policy was on its way into a slot, and in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Its file was read.
    Read,
    /// It was checked as far as it goes without compiling.
    Check,
    /// It was compiled and linked.
    Compile,
    /// It was asked what it is, and held against the slot and its settings.
    Describe,
    /// It ran beside the live policy, without a commit.
    Trial,
    /// It waits for an operator, since its trial differs too much.
    Held,
    /// Its first ticks in the slot.
    Probation,
    /// It had proved itself, and an operator rolled it back.
    Live,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Check => "check",
            Self::Compile => "compile",
            Self::Describe => "describe",
            Self::Trial => "trial",
            Self::Held => "held",
            Self::Probation => "probation",
            Self::Live => "live",
        })
    }
}

/// A policy on its way into a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateStatus {
    /// Of the component's hash and the operator's settings, in hex.
    pub id: String,
    /// Of the component's bytes, in hex.
    pub sha256: String,
    /// `check`, `trial` or `held`.
    pub stage: Stage,
    /// When it came to that stage.
    pub since: Time,
    /// What it waits for, where it waits.
    pub reason: Option<String>,
}

/// Why a candidate did not get in, or did not stay in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalStatus {
    /// Of the component's bytes, in hex; none where the file could not even be read.
    pub sha256: Option<String>,
    /// How far it came.
    pub stage: Stage,
    /// What is wrong and what to do.
    pub reason: String,
    /// When.
    pub at: Time,
}

/// A policy that is not tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineStatus {
    /// Of the component's hash and the operator's settings, in hex.
    pub id: String,
    /// Of the component's bytes, in hex.
    pub sha256: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub at: Time,
}

/// The first ticks of a policy in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbationStatus {
    /// Good ticks that it still has to show.
    pub ticks_left: u32,
}

/// How a tick ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TickResult {
    /// Something was committed.
    Updated,
    /// Nothing differed.
    Unchanged,
    /// A guard holds the draft.
    Held,
    /// See the error.
    Failed,
}

impl std::fmt::Display for TickResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Held => "held",
            Self::Failed => "failed",
        })
    }
}

/// What kind of failure it was; an exit code and a hint follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// No connection to the master, or no answer in time.
    Unreachable,
    /// The master refused.
    Refused,
    /// What came is not what the protocol says, or makes no sense to the policy.
    BadData,
    /// Writing or reading the files failed.
    Disk,
    /// A broker runs on the directory, or the routine is busy or stopped.
    InUse,
    /// No policy, no master, or settings that do not fit.
    Config,
    /// The policy trapped or passed a limit, or the host itself failed.
    Internal,
}

/// One tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TickStatus {
    /// Counts up since the start.
    pub number: u64,
    /// When it began.
    pub started: Time,
    /// How long it took.
    pub duration_ms: f64,
    /// How it ended.
    pub result: TickResult,
    /// Why it failed, with the whole cause.
    pub error: Option<String>,
    /// What kind of failure it was.
    pub error_kind: Option<ErrorKind>,
    /// The policy that ran; of a tick that was run again, the one whose draft counts.
    pub id: String,
    /// Its component.
    pub sha256: String,
}

/// One table of a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableStatus {
    /// Such as `consumer-offsets`.
    pub name: String,
    /// Entries in memory, where there is a table.
    pub entries: Option<u64>,
    /// What the table states; null when unknown.
    pub version: Option<DataVersion>,
    /// Where the committed table came from.
    pub source: Option<String>,
    /// When it was committed.
    pub committed: Option<Time>,
    /// Its file in the directory.
    pub file: String,
    /// Of the file.
    pub bytes: Option<u64>,
}

mod slot_name {
    use locum_tables::Slot;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde's `with` asks for a reference"
    )]
    pub(super) fn serialize<S: Serializer>(slot: &Slot, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(slot.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Slot, D::Error> {
        let name = String::deserialize(deserializer)?;
        Slot::from_name(&name).ok_or_else(|| D::Error::custom(format!("no slot is named `{name}`")))
    }
}
