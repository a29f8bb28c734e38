//! What goes into a slot's way of swapping, and what comes out.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ident::Ident;
use crate::events::Transition;
use crate::status::{PolicyStatus, Stage, Time};

/// A policy that fits a slot, as far as swapping has to know it.
pub(crate) trait Entrant: Clone {
    /// What swapping goes by.
    fn ident(&self) -> &Ident;
    /// What a status tells of it.
    fn status(&self, since: Time) -> PolicyStatus;
}

/// By table, the keys that a policy removes and that an operator has agreed to.
pub(crate) type Accepted = BTreeMap<String, BTreeSet<String>>;

/// What happened, seen from one slot.
pub(crate) enum Event<P> {
    /// The slot's file holds this now.
    Found(Ident),
    /// What the file holds was checked, compiled and held against the slot.
    Judged {
        /// Of what was judged.
        id: String,
        /// The policy, or why there is none.
        verdict: Result<P, Refused>,
    },
    /// The file is not there.
    Missing(String),
    /// The file is there and cannot be read.
    Unreadable(String),
    /// A trial ended.
    Tried {
        /// The candidate.
        id: String,
        /// What ran beside it.
        against: String,
        /// What came of it.
        verdict: Verdict,
    },
    /// A tick that commits ended.
    Ticked {
        /// The policy that ran.
        id: String,
        /// How.
        outcome: Outcome,
    },
}

/// Why a file is not taken, and how far it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// How far it came.
    pub(crate) stage: Stage,
    /// What is wrong and what to do.
    pub(crate) reason: String,
}

/// What a trial came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It leaves much the same.
    Passed,
    /// Nothing can be said: no table came from the master, or the slot does not tick.
    Nothing(String),
    /// It leaves something else: an operator has to say yes.
    Differs {
        /// How.
        reason: String,
        /// What its guards shall let pass if he does.
        removed: Accepted,
    },
    /// It did not come to an end that could be committed.
    Failed(String),
}

/// What a tick says about the policy that ran it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It ended well.
    Good,
    /// It failed, and the last good policy did not, on the same answers.
    Worse(String),
}

/// What an operator wants.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// The held candidate is let in.
    Accept,
    /// The candidate is turned away, and quarantined.
    Reject,
    /// Back to the last good policy; the one that runs is quarantined.
    RollBack,
    /// What is quarantined, by the beginning of its id or of its component's hash, may be tried again.
    Forget(String),
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Tell it, and count it.
    Tell(Transition),
    /// Keep what the slot remembers for the policy that is left.
    SetMemoryAside,
    /// What was set aside is what the slot remembers again.
    BringMemoryBack,
    /// What was set aside is not needed any more.
    DropMemoryAside,
    /// Try the candidate: with the next tick if that is near, else by itself.
    Try,
    /// Put [`Way::lasting`](super::Way::lasting) on disk.
    Record,
}

/// The first ticks of a policy after a swap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probation {
    /// Whose.
    pub(crate) ident: Ident,
    /// Good ticks that it still has to show.
    pub(crate) ticks_left: u32,
    /// What an operator agreed to.
    pub(crate) accepted: Accepted,
}

/// What must not run again, unless an operator says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quarantined {
    /// What.
    pub(crate) ident: Ident,
    /// Why.
    pub(crate) reason: String,
    /// Since when.
    pub(crate) at: Time,
}

/// What outlives a restart.
#[derive(Debug, Clone)]
pub(crate) struct Lasting<P> {
    /// Where a rollback goes.
    pub(crate) good: Option<P>,
    /// Where it goes if that is what runs.
    pub(crate) previous: Option<P>,
    /// The probation of what runs.
    pub(crate) probation: Option<Probation>,
    /// What must not run.
    pub(crate) quarantine: Vec<Quarantined>,
}

impl<P> Default for Lasting<P> {
    fn default() -> Self {
        Self {
            good: None,
            previous: None,
            probation: None,
            quarantine: Vec::new(),
        }
    }
}
