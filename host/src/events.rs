//! What happens in a host, as values: the event stream of the library, and the log.

use locum_tables::Slot;

use crate::config::Role;
use crate::status::{PolicyStatus, RoutineState, Stage, TickResult, TickStatus};

/// Something that happened. New kinds may come.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A slot's policies: a candidate went on, or stopped, on its way; another policy runs.
    Swap {
        /// Of which replica.
        replica: String,
        /// Which slot.
        slot: Slot,
        /// What happened.
        transition: Transition,
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
    /// A replica's master is another, or there is one again, or none any more. The next tick goes there.
    MasterChanged {
        /// Which replica.
        replica: String,
        /// The address before, where there was one.
        from: Option<String>,
        /// The address now, where there is one.
        to: Option<String>,
        /// How that is known: for people.
        how: String,
    },
    /// A replica noticed something that an operator should know.
    Noticed {
        /// Which replica.
        replica: String,
        /// What.
        note: String,
    },
}

/// What happens to a slot's policies. Each is one line in the log, and counted by its name. New ones may come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transition {
    /// The file holds something that is not what runs: its way begins.
    Noticed {
        /// What swapping goes by.
        id: String,
        /// Its component.
        sha256: String,
    },
    /// The candidate is not there any more: its file holds what runs, or what is quarantined, or nothing.
    Withdrawn {
        /// The candidate's component.
        sha256: String,
    },
    /// The candidate is not taken; what runs goes on.
    Refused {
        /// Its component, where there was one to read.
        sha256: Option<String>,
        /// How far it came.
        stage: Stage,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The candidate passed its checks and is tried beside what runs.
    TrialBegan {
        /// The candidate's component.
        sha256: String,
    },
    /// A trial proved nothing; the next tick is tried again.
    TrialProvedNothing {
        /// The candidate's component.
        sha256: String,
        /// Why not.
        reason: String,
    },
    /// The candidate waits for an operator.
    Held {
        /// The candidate's component.
        sha256: String,
        /// How its drafts differ from those of what runs.
        reason: String,
    },
    /// An operator let the candidate in.
    Accepted {
        /// The candidate's component.
        sha256: String,
    },
    /// An operator turned the candidate away; it is quarantined.
    Rejected {
        /// The candidate's component.
        sha256: String,
    },
    /// A policy fills the slot from the next tick on.
    Live {
        /// What runs now.
        policy: PolicyStatus,
    },
    /// What runs has ended its probation, or a first load has shown a good tick: it is what a rollback goes to.
    Proved {
        /// Its component.
        sha256: String,
    },
    /// The last good policy runs again; the one that ran is quarantined.
    RolledBack {
        /// The component that ran.
        from: String,
        /// What runs again.
        policy: PolicyStatus,
        /// Why.
        reason: String,
    },
    /// A quarantine was lifted.
    Forgotten {
        /// What may be tried again.
        id: String,
    },
    /// The file is not there, or cannot be used, and something else runs than what it holds.
    Noted {
        /// What to know.
        note: String,
    },
}

impl Transition {
    /// By what it is counted.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Noticed { .. } => "noticed",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Refused { .. } => "refused",
            Self::TrialBegan { .. } => "trial-began",
            Self::TrialProvedNothing { .. } => "trial-proved-nothing",
            Self::Held { .. } => "held",
            Self::Accepted { .. } => "accepted",
            Self::Rejected { .. } => "rejected",
            Self::Live { .. } => "live",
            Self::Proved { .. } => "proved",
            Self::RolledBack { .. } => "rolled-back",
            Self::Forgotten { .. } => "forgotten",
            Self::Noted { .. } => "noted",
        }
    }

    fn log(&self, replica: &str, slot: Slot) {
        let transition = self.name();
        match self {
            Self::Noticed { id, sha256 } => {
                tracing::info!(%replica, routine = %slot, transition, %sha256, %id, "a candidate was noticed");
            }
            Self::Withdrawn { sha256 } => {
                tracing::info!(%replica, routine = %slot, transition, %sha256, "the candidate is withdrawn");
            }
            Self::Refused {
                sha256,
                stage,
                reason,
            } => {
                let sha256 = sha256.as_deref().unwrap_or_default();
                tracing::warn!(%replica, routine = %slot, transition, sha256, %stage, %reason, "the candidate is refused");
            }
            Self::TrialBegan { sha256 } => {
                tracing::info!(%replica, routine = %slot, transition, %sha256, "the candidate is tried");
            }
            Self::TrialProvedNothing { sha256, reason } => {
                tracing::info!(%replica, routine = %slot, transition, %sha256, %reason, "the trial proved nothing");
            }
            Self::Held { sha256, reason } => {
                tracing::warn!(%replica, routine = %slot, transition, %sha256, %reason, "the candidate is held");
            }
            Self::Accepted { sha256 } => {
                tracing::info!(%replica, routine = %slot, transition, %sha256, "the candidate is accepted");
            }
            Self::Rejected { sha256 } => {
                tracing::info!(%replica, routine = %slot, transition, %sha256, "the candidate is rejected");
            }
            Self::Live { policy } => {
                let PolicyStatus {
                    name,
                    version,
                    sha256,
                    id,
                    ..
                } = policy;
                tracing::info!(%replica, routine = %slot, transition, policy = %name, %version, %sha256, %id, "policy live");
            }
            Self::Proved { sha256 } => {
                tracing::info!(%replica, routine = %slot, transition, %sha256, "the policy has proved itself");
            }
            Self::RolledBack {
                from,
                policy,
                reason,
            } => {
                tracing::error!(%replica, routine = %slot, transition, %from, to = %policy.sha256, policy = %policy.name, %reason, "rolled back to the last good policy");
            }
            Self::Forgotten { id } => {
                tracing::info!(%replica, routine = %slot, transition, %id, "the quarantine is lifted");
            }
            Self::Noted { note } => {
                tracing::warn!(%replica, routine = %slot, transition, "{note}");
            }
        }
    }
}

impl Event {
    /// One line in the log. Of the same event in a row only the first is told, and then ever fewer.
    pub(crate) fn log(&self, telling: Telling) {
        let repeats = telling.repeats;
        if repeats > 0 && !(repeats + 1).is_power_of_two() {
            return;
        }
        match self {
            Self::Swap {
                replica,
                slot,
                transition,
            } => transition.log(replica, *slot),
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
            Self::MasterChanged {
                replica,
                from,
                to,
                how,
            } => log_master(replica, from.as_deref(), to.as_deref(), how),
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

fn log_master(replica: &str, from: Option<&str>, to: Option<&str>, how: &str) {
    match (from, to) {
        (None, Some(to)) => tracing::info!(%replica, %to, %how, "master found"),
        (Some(from), Some(to)) => {
            tracing::warn!(%replica, %from, %to, %how, "the master has changed");
        }
        (from, None) => {
            let from = from.unwrap_or_default();
            tracing::warn!(%replica, %from, %how, "there is no master any more");
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
