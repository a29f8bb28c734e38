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
    /// A role change cancelled a tick that had not reached commit.
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
    /// One line in the log. `repeats` counts the same event in a row; only the first and then ever fewer are told.
    pub(crate) fn log(&self, repeats: u64) {
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
            } => log_tick(replica, *slot, tick, repeats),
            Self::NotRun {
                replica,
                slot,
                state,
            } => {
                tracing::info!(%replica, routine = %slot, %state, repeats, "not run");
            }
            Self::TickCancelled { replica, slot } => {
                tracing::info!(%replica, routine = %slot, "tick cancelled by a role change");
            }
            Self::RoleChanged { replica, role } => tracing::info!(%replica, %role, "role taken"),
            Self::Noticed { replica, note } => tracing::warn!(%replica, "{note}"),
        }
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

fn log_tick(replica: &str, slot: Slot, tick: &TickStatus, repeats: u64) {
    let TickStatus {
        number,
        duration_ms,
        sha256,
        ..
    } = tick;
    match (tick.result, &tick.error) {
        (TickResult::Failed, error) => {
            let error = error.as_deref().unwrap_or("unknown");
            tracing::warn!(%replica, routine = %slot, tick = number, duration_ms, %sha256, repeats, %error, "tick failed");
        }
        (result, _) => {
            tracing::info!(%replica, routine = %slot, tick = number, duration_ms, %sha256, repeats, %result, "tick");
        }
    }
}
