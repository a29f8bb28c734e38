//! What a tick comes to, as values: its record, its failure, its report.

use std::time::{Duration, Instant};

use locum_tables::{Difference, Slot, Table};
use serde::{Deserialize, Serialize};
use tokio::task::JoinError;

use crate::clock::{now, now_ms};
use crate::status::{ErrorKind, RoutineState, TickResult, TickStatus, Time};
use crate::swap::Ident;

/// Whether a tick commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// As by schedule.
    Commit,
    /// Only compares.
    DryRun,
}

/// What one pass of a routine came to: `locum sync`. With neither `not_run` nor `tick` it was cancelled: a role change came, or
/// the replica stopped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncReport {
    /// Which replica.
    pub replica: String,
    /// Which routine, by its slot's name.
    pub routine: String,
    /// Why it did not run, if it did not.
    pub not_run: Option<RoutineState>,
    /// What there is to say about that.
    pub note: Option<String>,
    /// The tick, if it ran.
    pub tick: Option<TickStatus>,
    /// What differs, or differed before the commit.
    pub changes: Vec<TableChange>,
}

/// How a table differs from the one before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TableChange {
    /// Such as `topics`.
    pub table: String,
    /// Keys that come.
    pub added: Vec<String>,
    /// Keys that go.
    pub removed: Vec<String>,
    /// Keys whose values differ.
    pub changed: Vec<String>,
    /// Other members of the document that differ, `dataVersion` among them.
    pub members: Vec<String>,
    /// Whether there was no table before.
    pub first: bool,
    /// Whether the file is written again as it was, since it was missing, damaged, or changed by somebody.
    pub rewritten: bool,
}

impl TableChange {
    pub(super) fn new(table: &Table, before: Option<&Table>, difference: Difference) -> Self {
        let version = difference.version.map(|_| "dataVersion".to_owned());
        Self {
            table: table.kind().name.to_owned(),
            added: difference.added,
            removed: difference.removed,
            changed: difference.changed,
            members: version.into_iter().chain(difference.members).collect(),
            first: before.is_none(),
            rewritten: false,
        }
    }

    pub(super) fn rewritten(table: &Table) -> Self {
        let same = Difference::default();
        Self {
            rewritten: true,
            ..Self::new(table, Some(table), same)
        }
    }
}

impl SyncReport {
    pub(super) fn new(replica: String, slot: Slot, ended: Ended) -> Self {
        let (not_run, tick, changes) = match ended {
            Ended::NotRun(state) => (Some(state), None, Vec::new()),
            Ended::Cancelled => (None, None, Vec::new()),
            Ended::Ran { tick, changes, .. } => (None, Some(tick), changes),
        };
        Self {
            replica,
            routine: slot.name().to_owned(),
            not_run,
            note: None,
            tick,
            changes,
        }
    }

    /// The replica could not be opened, so nothing of it ran.
    pub(crate) fn not_open(replica: &str, slot: Slot, why: &str, kind: ErrorKind) -> Self {
        let begun = Begun {
            number: 0,
            started: Time(now_ms()),
            at: now(),
            ident: None,
        };
        Self::new(
            replica.to_owned(),
            slot,
            begun.failed(Fault::new(kind, why)),
        )
    }

    pub(super) fn cancelled(replica: &str, slot: Slot) -> Self {
        Self::new(replica.to_owned(), slot, Ended::Cancelled)
    }
}

/// How an attempt at a tick ended.
pub(super) enum Ended {
    NotRun(RoutineState),
    Cancelled,
    Ran {
        tick: TickStatus,
        changes: Vec<TableChange>,
        answer_time: Option<Duration>,
    },
}

/// When and as what a tick began.
#[derive(Clone)]
pub(super) struct Begun {
    pub(super) number: u64,
    pub(super) started: Time,
    pub(super) at: Instant,
    /// The policy that runs, where there is one.
    pub(super) ident: Option<Ident>,
}

impl Begun {
    /// The tick's task ended without a result: a fault of the host, or the host is going.
    pub(super) fn panicked(self, error: JoinError) -> Ended {
        match error.try_into_panic() {
            Ok(panic) => {
                let text = panic.downcast_ref::<&str>().map(ToString::to_string);
                let text = text
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                self.failed(Fault::new(
                    ErrorKind::Internal,
                    format!("the host panicked in this tick: {text}"),
                ))
            }
            Err(_) => Ended::Cancelled,
        }
    }

    pub(super) fn failed(self, fault: Fault) -> Ended {
        self.ended(TickResult::Failed, Some(fault), Vec::new(), None)
    }

    pub(super) fn ended(
        self,
        result: TickResult,
        fault: Option<Fault>,
        changes: Vec<TableChange>,
        answer_time: Option<Duration>,
    ) -> Ended {
        let duration = now().saturating_duration_since(self.at);
        let ident = self.ident.map(|ident| (ident.id, ident.sha256));
        let (id, sha256) = ident.unwrap_or_default();
        let (error_kind, error) = fault.map(|fault| (fault.kind, fault.text)).unzip();
        let tick = TickStatus {
            number: self.number,
            started: self.started,
            duration_ms: (duration.as_secs_f64() * 1e6).round() / 1e3,
            result,
            error,
            error_kind,
            id,
            sha256,
        };
        Ended::Ran {
            tick,
            changes,
            answer_time,
        }
    }
}

/// Why a tick failed.
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) text: String,
}

impl Fault {
    pub(super) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}
