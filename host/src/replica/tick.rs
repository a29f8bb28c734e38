//! One tick of one slot: is anything in the way, ask, decide, compare, commit.

use std::sync::Arc;

use locum_tables::{Slot, Table, TableKind, difference};

use super::Inner;
use super::asked::Asked;
use super::files::{self, Looked};
use super::live::Live;
use super::outcome::{Begun, Ended, Fault, Mode, TableChange};
use crate::clock::{now, now_ms};
use crate::policy::{Done, Failure, Fetch, FetchError, Limits, Memory, RunError, Tick};
use crate::status::{ErrorKind, RoutineState, TickResult, Time};
use crate::telemetry::chain;

/// A tick that is about to run.
pub(super) struct Attempt {
    replica: Arc<Inner>,
    slot: Slot,
    mode: Mode,
    term: u64,
    /// The directory's adoptions when it began: what it drafts from is of that time.
    adoptions: u64,
    live: Option<Live>,
    begun: Begun,
}

impl Attempt {
    pub(super) fn new(replica: Arc<Inner>, slot: Slot, mode: Mode, term: u64) -> Self {
        let (live, number) = replica.slot(slot, |state| {
            (state.live.clone(), state.next_number(mode == Mode::Commit))
        });
        let sha256 = live
            .as_ref()
            .map(|live| live.policy.sha256().to_owned())
            .unwrap_or_default();
        let begun = Begun {
            number,
            started: Time(now_ms()),
            at: now(),
            sha256,
        };
        let adoptions = replica.state().adoptions;
        Self {
            replica,
            slot,
            mode,
            term,
            adoptions,
            live,
            begun,
        }
    }

    pub(super) fn begun(&self) -> Begun {
        self.begun.clone()
    }

    /// Runs on the pool.
    pub(super) async fn run(self) -> Ended {
        let mut term = self.replica.term.subscribe();
        let term_ended = async {
            // The sender lives in the replica that this holds.
            let _ = term.wait_for(|term| *term != self.term).await;
        };
        let (live, rewritten, asked) = match self.prepare().await {
            Ok(prepared) => prepared,
            Err(ended) => return ended,
        };
        let ran = tokio::select! {
            biased;
            () = term_ended => return Ended::Cancelled,
            ran = live.policy.run(self.tick(&live, &asked)) => ran,
        };
        match ran.result {
            Ok(done) => self.leave(&live, done, rewritten, &asked).await,
            Err(error) => self.begun.clone().failed(fault(&error, &asked)),
        }
    }

    /// Everything that may be in the way, in the order of the states.
    async fn prepare(&self) -> Result<(Live, Vec<TableChange>, Arc<Asked>), Ended> {
        if let Some(state) = self.replica.held_back(self.slot) {
            return Err(Ended::NotRun(state));
        }
        let Some(live) = self.live.clone() else {
            return Err(Ended::NotRun(RoutineState::NoPolicy));
        };
        let looked = self.survey().await?;
        let rewritten = self.heal(&live, &looked.rewrite).await?;
        let (master, fetch) = self.replica.way_to_master().map_err(Ended::NotRun)?;
        let asked = Asked::new(master, fetch, self.replica.config.request_timeout);
        Ok((live, rewritten, Arc::new(asked)))
    }

    async fn survey(&self) -> Result<Looked, Ended> {
        match self.with_files(files::Files::look).await {
            Ok(looked) => {
                self.replica.set_in_use(looked.in_use.clone());
                if looked.in_use.is_some() {
                    return Err(Ended::NotRun(RoutineState::DirectoryInUse));
                }
                match looked.fault(self.slot) {
                    Some(fault) => Err(self.begun.clone().failed(fault)),
                    None => Ok(looked),
                }
            }
            Err(fault) => Err(self.begun.clone().failed(fault)),
        }
    }

    fn tick(&self, live: &Live, asked: &Arc<Asked>) -> Tick {
        let (current, memory) = {
            let state = self.replica.state();
            let memory = state
                .slots
                .get(&self.slot)
                .map(|slot| slot.memory.clone())
                .unwrap_or_default();
            (state.tables.clone(), memory)
        };
        let config = &self.replica.config;
        let limits = Limits::default();
        Tick {
            number: self.begun.number,
            started_at: self.begun.started.0,
            current,
            settings: live.settings.clone(),
            memory,
            fetch: Arc::clone(asked) as Arc<dyn Fetch>,
            // A tick may wait for its one or two answers, each within its own deadline.
            limits: Limits {
                tick_time: limits
                    .tick_time
                    .max(config.request_timeout.saturating_mul(3)),
                ..limits
            },
            replica: self.replica.name.clone(),
            slot: self.slot,
        }
    }

    /// The policy is content: commits what differs, or only tells it.
    async fn leave(
        &self,
        live: &Live,
        done: Done,
        rewritten: Vec<TableChange>,
        asked: &Asked,
    ) -> Ended {
        let (drafts, mut changes) = self.differing(done.drafts);
        changes.extend(rewritten);
        let unmet = done
            .failed_fetches
            .into_iter()
            .find(|(kind, error)| counts_as_failure(live, kind, error));
        let begun = self.begun.clone();
        let committed = match self.mode {
            Mode::DryRun => Ok(()),
            Mode::Commit => {
                let source = Some(asked.master.clone());
                match self.commit(live, drafts, source, Some(done.memory)).await {
                    Err(Stop::Cancelled) => return Ended::Cancelled,
                    Err(Stop::Failed(fault)) => Err(fault),
                    Ok(()) => Ok(()),
                }
            }
        };
        let answer_time = asked.answer_time();
        let unmet = unmet.map(|(_, error)| asked.fault(&error));
        let result = if changes.is_empty() {
            TickResult::Unchanged
        } else {
            TickResult::Updated
        };
        match committed.err().or(unmet) {
            Some(fault) => begun.ended(TickResult::Failed, Some(fault), changes, answer_time),
            None => begun.ended(result, None, changes, answer_time),
        }
    }

    /// The drafts that are to be committed, and how they differ.
    fn differing(&self, drafts: Vec<Table>) -> (Vec<Table>, Vec<TableChange>) {
        let current = self.replica.state().tables.clone();
        let compare = |draft: Table| {
            let before = current.get(draft.kind().name);
            let difference = difference(before, &draft);
            (!difference.is_same()).then(|| (TableChange::new(&draft, before, difference), draft))
        };
        let (changes, drafts) = drafts.into_iter().filter_map(compare).unzip();
        (drafts, changes)
    }

    /// Files that are not ours any more are written again as they were, whatever the master says or does not say.
    async fn heal(
        &self,
        live: &Live,
        rewrite: &[&'static TableKind],
    ) -> Result<Vec<TableChange>, Ended> {
        let tables: Vec<Table> = {
            let state = self.replica.state();
            let of_slot = rewrite.iter().filter(|kind| kind.slot == self.slot);
            of_slot
                .filter_map(|kind| state.tables.get(kind.name).cloned())
                .collect()
        };
        let changes = tables.iter().map(TableChange::rewritten).collect();
        if self.mode == Mode::DryRun {
            return Ok(changes);
        }
        match self.commit(live, tables, None, None).await {
            Ok(()) => Ok(changes),
            Err(Stop::Cancelled) => Err(Ended::Cancelled),
            Err(Stop::Failed(fault)) => Err(self.begun.clone().failed(fault)),
        }
    }

    /// Each table for itself: the file, then memory. What was committed before a failure stays. The record comes last: it tells
    /// who wrote what, and nothing depends on it. Without a `source` the tables are written again as they were.
    async fn commit(
        &self,
        live: &Live,
        drafts: Vec<Table>,
        source: Option<String>,
        memory: Option<Memory>,
    ) -> Result<(), Stop> {
        let replica = Arc::clone(&self.replica);
        let (slot, term, adoptions, policy) = (self.slot, self.term, self.adoptions, live.status());
        let memory = memory.filter(|memory| replica.slot(slot, |state| state.memory != *memory));
        if drafts.is_empty() && memory.is_none() {
            return Ok(());
        }
        let run = move |files: &mut files::Files| {
            if *replica.term.borrow() != term || replica.state().adoptions != adoptions {
                return Ok(Err(Stop::Cancelled));
            }
            for table in drafts {
                let (committed, notes) = match files.commit(&table, source.as_deref(), &policy) {
                    Ok(committed) => committed,
                    Err(error) => return Err(files::fault_of(&error)),
                };
                replica.committed(table, committed);
                notes.into_iter().for_each(|note| replica.emit_note(note));
            }
            if let Some(memory) = memory {
                files.remember(slot, memory.clone());
                replica.slot(slot, |state| state.memory = memory);
            }
            replica.set_unrecorded(files.save().err());
            Ok(Ok(()))
        };
        self.with_files(run)
            .await
            .unwrap_or_else(|fault| Err(Stop::Failed(fault)))
    }

    async fn with_files<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut files::Files) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let ran = self.replica.with_files(run).await;
        ran.unwrap_or_else(|error| Err(Fault::new(ErrorKind::Internal, error)))
    }
}

fn fault(error: &RunError, asked: &Asked) -> Fault {
    match error {
        RunError::Failure(Failure::Fetch(error)) => asked.fault(error),
        RunError::Failure(Failure::Invalid(_)) => Fault::new(ErrorKind::BadData, chain(error)),
        _ => Fault::new(ErrorKind::Internal, chain(error)),
    }
}

/// A policy may go on without a table that the master does not have; anything else is told, although its drafts stand.
fn counts_as_failure(live: &Live, kind: &'static TableKind, error: &FetchError) -> bool {
    let writes = &live.policy.description().writes;
    writes.contains(&kind) && !matches!(error, FetchError::NotServed | FetchError::NothingThere(_))
}

/// Why a commit went no further.
enum Stop {
    Cancelled,
    Failed(Fault),
}
