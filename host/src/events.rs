//! What happens in a host, as values: the event stream of the library, and the log.

use locum_tables::Slot;

use crate::config::Role;
use crate::status::{PolicyStatus, RoutineState, TickResult, TickStatus};

/// Something that happened. New kinds may come.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A policy fills a slot from the next tick on.
    PolicyLoaded {
        /// Of which replica.
        replica: String,
        /// Which slot.
        slot: Slot,
        /// What runs now.
        policy: PolicyStatus,
    },
    /// A file was refused; what ran before goes on.
    PolicyRefused {
        /// Of which replica.
        replica: String,
        /// Which slot.
        slot: Slot,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A routine's tick ended.
    TickEnded {
        /// Of which replica.
        replica: String,
        /// Which slot.
        slot: Slot,
        /// What came of it.
        tick: TickStatus,
    },
    /// A routine was due and did not run.
    NotRun {
        /// Of which replica.
        replica: String,
        /// Which slot.
        slot: Slot,
        /// Why.
        state: RoutineState,
    },
    /// A role change, or an adoption of the directory, cancelled a tick that had not reached commit.
    TickCancelled {
        /// Of which replica.
        replica: String,
        /// Which slot.
        slot: Slot,
    },
    /// A replica took a role.
    RoleChanged {
        /// Which replica.
        replica: String,
        /// What it does now.
        role: Role,
    },
    /// A replica noticed something that an operator should know.
    Noticed {
        /// Which replica.
        replica: String,
        /// What.
        note: String,
    },
}

impl Event {
    /// One line in the log. Of the same event in a row only the first is told, and then ever fewer.
    pub(crate) fn log(&self, telling: Telling) {
        let repeats = telling.repeats;
        if repeats > 0 && !(repeats + 1).is_power_of_two() {
            return;
        }
        match self {
            Self::PolicyLoaded {
                replica,
                slot,
                policy,
            } => {
                tracing::info!(%replica, routine = %slot, policy = %policy.name, version = %policy.version, sha256 = %policy.sha256, "policy loaded");
            }
            Self::PolicyRefused {
                replica,
                slot,
                reason,
            } => {
                tracing::warn!(%replica, routine = %slot, %reason, "policy refused");
            }
            Self::TickEnded {
                replica,
                slot,
                tick,
            } => log_tick(replica, *slot, tick, telling),
            Self::NotRun {
                replica,
                slot,
                state,
            } => {
                tracing::info!(%replica, routine = %slot, %state, repeats, "not run");
            }
            Self::TickCancelled { replica, slot } => {
                tracing::info!(%replica, routine = %slot, "tick cancelled: the role changed, or the directory was adopted");
            }
            Self::RoleChanged { replica, role } => tracing::info!(%replica, %role, "role taken"),
            Self::Noticed { replica, note } => tracing::warn!(%replica, "{note}"),
        }
    }

    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::TickEnded { tick, .. } if tick.result == TickResult::Failed)
    }

    /// What makes two events in a row "the same" for the log.
    pub(crate) fn sameness(&self) -> String {
        match self {
            Self::TickEnded { tick, .. } => format!("{} {:?}", tick.result, tick.error),
            Self::NotRun { state, .. } => state.to_string(),
            _ => String::new(),
        }
    }
}

/// How an event stands to the one before it of the same slot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Telling {
    /// How often the same was told before, in a row.
    pub(crate) repeats: u64,
    /// The one before was a failure, and this is none.
    pub(crate) recovered: bool,
}

/// An unchanged tick is no news, unless the one before it failed.
fn log_tick(replica: &str, slot: Slot, tick: &TickStatus, telling: Telling) {
    let TickStatus {
        number,
        duration_ms,
        result,
        ..
    } = tick;
    let repeats = telling.repeats;
    let policy = tick.sha256.get(..8).unwrap_or_default();
    match (result, &tick.error) {
        (TickResult::Failed, error) => {
            let error = error.as_deref().unwrap_or("unknown");
            tracing::warn!(%replica, routine = %slot, tick = number, duration_ms, policy, repeats, %error, "tick failed");
        }
        (result, _) if telling.recovered => {
            tracing::info!(%replica, routine = %slot, tick = number, duration_ms, policy, %result, "tick succeeded again");
        }
        (TickResult::Unchanged, _) => {
            tracing::debug!(%replica, routine = %slot, tick = number, duration_ms, policy, repeats, "tick unchanged");
        }
        (result, _) => {
            tracing::info!(%replica, routine = %slot, tick = number, duration_ms, policy, repeats, %result, "tick");
        }
    }
}
