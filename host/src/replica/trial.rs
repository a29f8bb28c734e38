//! A trial: a candidate and the policy that runs, on the same answers, tables, memory and tick, and what each would leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use locum_tables::{Slot, Table, difference};

use super::asked::Asked;
use super::live::Live;
use super::outcome::TableChange;
use crate::config::{ReplicaConfig, TrialConfig};
use crate::policy::{Done, Failure, Fetch, Limits, Memory, Ran, RunError, Tick};
use crate::status::Time;
use crate::swap::{Accepted, Verdict};
use crate::telemetry::chain;

/// What a tick works on: enough to run another policy on the very same.
#[derive(Clone)]
pub(super) struct Basis {
    pub(super) number: u64,
    pub(super) started: Time,
    pub(super) current: BTreeMap<&'static str, Table>,
    pub(super) memory: Memory,
    pub(super) asked: Arc<Asked>,
    pub(super) limits: Limits,
    pub(super) replica: String,
    pub(super) slot: Slot,
}

impl Basis {
    /// Runs a policy on it.
    pub(super) async fn run(&self, live: &Live) -> Ran {
        let tick = Tick {
            number: self.number,
            started_at: self.started.0,
            current: self.current.clone(),
            settings: live.settings.clone(),
            memory: self.memory.clone(),
            fetch: Arc::clone(&self.asked) as Arc<dyn Fetch>,
            limits: self.limits.clone(),
            replica: self.replica.clone(),
            slot: self.slot,
        };
        live.policy.run(tick).await
    }

    /// Lets a candidate prove itself against what the policy that runs left.
    pub(super) async fn try_out(
        &self,
        candidate: &Live,
        against: &Left,
        config: &ReplicaConfig,
    ) -> Verdict {
        let ran = self.run(candidate).await;
        let remedy = match &ran.result {
            Err(RunError::Limit { .. } | RunError::Deadline { .. }) => {
                "mend it, or raise that limit"
            }
            Err(RunError::Failure(_)) => "mend what it says",
            _ => "mend it and build again",
        };
        match self.compare(&Left::of(candidate, &ran.result), against) {
            Ok(comparison) => match comparison.verdict(&config.trial(self.slot)) {
                Verdict::Differs { reason, removed } => Verdict::Differs {
                    reason: self.held(&reason),
                    removed,
                },
                verdict => verdict,
            },
            Err(Verdict::Failed(reason)) => {
                let file = candidate.file().display();
                Verdict::Failed(format!("{file} cannot end a tick; {remedy}: {reason}"))
            }
            Err(verdict) => verdict,
        }
    }

    /// What an operator can do about a held candidate.
    fn held(&self, reason: &str) -> String {
        let Self { replica, slot, .. } = self;
        format!(
            "{reason}. `locum plugin accept {replica} {slot}` lets it in, `locum plugin reject {replica} {slot}` turns it away"
        )
    }

    /// How what the one leaves differs from what the other leaves; a verdict where there is nothing to compare.
    pub(super) fn compare(&self, candidate: &Left, against: &Left) -> Result<Comparison, Verdict> {
        let theirs = match candidate {
            Left::Drafts(drafts) => drafts,
            Left::Nothing(reason) => return Err(Verdict::Nothing(reason.clone())),
            Left::Failed(reason) => return Err(Verdict::Failed(reason.clone())),
        };
        let ours: &[Table] = match against {
            Left::Drafts(drafts) => drafts,
            Left::Nothing(reason) => return Err(Verdict::Nothing(reason.clone())),
            // A policy that fails leaves everything as it is; the candidate may well be there to mend that.
            Left::Failed(_) => &[],
        };
        let left = |drafts: &[Table], name: &str| {
            let draft = drafts.iter().find(|draft| draft.kind().name == name);
            draft.or_else(|| self.current.get(name)).cloned()
        };
        let names: BTreeSet<_> = theirs
            .iter()
            .chain(ours)
            .map(|draft| draft.kind().name)
            .collect();
        let tables = names.into_iter().filter_map(|name| {
            let (before, after) = (left(ours, name), left(theirs, name)?);
            TableComparison::new(before, &after)
        });
        Ok(Comparison {
            tables: tables.collect(),
        })
    }
}

/// What a run would leave behind.
pub(super) enum Left {
    /// These tables; every other stays as it is.
    Drafts(Vec<Table>),
    /// Nothing, since no table came from the master: that is not the policy's doing.
    Nothing(String),
    /// Nothing, since the policy failed.
    Failed(String),
}

impl Left {
    pub(super) fn of(live: &Live, result: &Result<Done, RunError>) -> Self {
        let done = match result {
            Ok(done) => done,
            Err(error) if is_outside(error) => return Self::Nothing(chain(error)),
            Err(error) => return Self::Failed(chain(error)),
        };
        let missed = done
            .failed_fetches
            .iter()
            .find(|(kind, error)| live.depends_on(kind, error));
        match missed {
            Some((_, error)) => Self::Nothing(error.to_string()),
            None => Self::Drafts(done.drafts.clone()),
        }
    }
}

/// Whether a policy failed for something that is not its doing.
pub(super) fn is_outside(error: &RunError) -> bool {
    matches!(
        error,
        RunError::Failure(Failure::Fetch(_))
            | RunError::Host(_)
            | RunError::Deadline {
                waiting_for: Some(_),
                ..
            }
    )
}

/// How two policies' tables differ.
pub(super) struct Comparison {
    tables: Vec<TableComparison>,
}

struct TableComparison {
    change: TableChange,
    entries: usize,
    user_entries: usize,
    user_removed: usize,
}

/// So many keys are named in a reason.
const EXAMPLES: usize = 3;

impl TableComparison {
    /// None where they are the same.
    fn new(before: Option<Table>, after: &Table) -> Option<Self> {
        let difference = difference(before.as_ref(), after);
        if difference.is_same() {
            return None;
        }
        let removed: BTreeSet<&str> = difference.removed.iter().map(String::as_str).collect();
        let of_users = |table: &Table| {
            let goes = |key: &&str| removed.contains(key);
            (table.user_len(), table.user_keys().filter(goes).count())
        };
        let (user_entries, user_removed) = before.as_ref().map_or((0, 0), of_users);
        Some(Self {
            entries: before.as_ref().map_or(0, Table::len),
            user_entries,
            user_removed,
            change: TableChange::new(after, before.as_ref(), difference),
        })
    }

    /// What an operator has to agree to, if anything.
    fn finding(&self, config: &TrialConfig) -> Option<String> {
        let TableChange {
            removed, changed, ..
        } = &self.change;
        let over = |count: usize, share: f64| count as f64 > share * self.entries as f64;
        if self.user_removed * 2 > self.user_entries {
            return Some("that is more than half of its own entries".to_owned());
        }
        if removed.len() > config.min_removed && over(removed.len(), config.max_removed) {
            return Some(format!(
                "that is over `max-removed` of {} % and `min-removed` of {}",
                config.max_removed * 100.0,
                config.min_removed
            ));
        }
        over(changed.len(), config.max_changed).then(|| {
            format!(
                "that is over `max-changed` of {} %",
                config.max_changed * 100.0
            )
        })
    }

    fn text(&self) -> String {
        let TableChange {
            table,
            added,
            removed,
            changed,
            ..
        } = &self.change;
        let entries = self.entries;
        let part = |keys: &[String], what: &str| {
            let examples: Vec<_> = keys.iter().take(EXAMPLES).map(|key| short(key)).collect();
            let such_as = if examples.is_empty() {
                String::new()
            } else {
                format!(" (such as {})", examples.join(", "))
            };
            format!("{} {what}{such_as}", keys.len())
        };
        format!(
            "{table}, against what runs: {} of {entries} entries, {}, {}",
            part(removed, "removed"),
            part(changed, "changed"),
            part(added, "added")
        )
    }
}

/// As much of a key as a line has room for: a policy may make long ones.
fn short(key: &str) -> &str {
    &key[..key.floor_char_boundary(100)]
}

impl Comparison {
    /// What differs, table by table.
    pub(super) fn changes(&self) -> Vec<TableChange> {
        self.tables
            .iter()
            .map(|table| table.change.clone())
            .collect()
    }

    /// Whether an operator has to say yes.
    pub(super) fn verdict(&self, config: &TrialConfig) -> Verdict {
        let found = self.tables.iter().filter_map(|table| {
            let finding = table.finding(config)?;
            Some(format!("{}; {finding}", table.text()))
        });
        let found: Vec<_> = found.collect();
        if found.is_empty() {
            return Verdict::Passed;
        }
        Verdict::Differs {
            reason: found.join(". "),
            removed: self.removed(),
        }
    }

    fn removed(&self) -> Accepted {
        let removed = self.tables.iter().map(|table| {
            let keys = table.change.removed.iter().cloned();
            (table.change.table.clone(), keys.collect())
        });
        removed.collect()
    }
}
