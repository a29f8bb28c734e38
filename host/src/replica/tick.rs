//! One tick of one slot: is anything in the way, ask, decide, compare, commit.

use std::sync::Arc;

use locum_tables::{Slot, Table, TableKind, difference};

use super::Inner;
use super::asked::Asked;
use super::files::{self, Looked};
use super::finding::NoWay;
use super::live::Live;
use super::outcome::{Begun, Ended, Fault, Mode, TableChange};
use super::trial::{Basis, is_outside};
use crate::clock::{now, now_ms};
use crate::policy::{Done, Failure, Limits, Memory, RunError};
use crate::status::{ErrorKind, RoutineState, TickResult, Time};
use crate::swap::Entrant;
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
            let live = state.way.live().cloned();
            (live, state.next_number(mode == Mode::Commit))
        });
        let begun = Begun {
            number,
            started: Time(now_ms()),
            at: now(),
            ident: live.as_ref().map(|live| live.ident().clone()),
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
    pub(super) async fn run(mut self) -> Ended {
        let (began, mut term) = (self.term, self.replica.term.subscribe());
        let term_ended = async {
            // The sender lives in the replica that this holds.
            let _ = term.wait_for(|term| *term != began).await;
        };
        let (live, rewritten, asked) = match self.prepare().await {
            Ok(prepared) => prepared,
            Err(ended) => return ended,
        };
        let basis = self.basis(&asked);
        let ran = tokio::select! {
            biased;
            () = term_ended => return Ended::Cancelled,
            ran = self.decide(&live, &basis) => ran,
        };
        match ran {
            Decided::Done(live, done) => self.leave(&live, done, rewritten, &asked).await,
            Decided::Failed(error) => self.begun.clone().failed(fault(&error, &asked)),
        }
    }

    /// Runs the policy, and whatever the slot's way of swapping wants beside it.
    async fn decide(&mut self, live: &Live, basis: &Basis) -> Decided {
        let ran = basis.run(live).await;
        if self.mode == Mode::Commit {
            self.replica.try_beside(self.slot, live, basis, &ran.result);
        }
        match ran.result {
            Ok(done) => Decided::Done(live.clone(), done),
            Err(error) if self.mode == Mode::Commit && !is_outside(&error) => {
                self.measure(live, basis, error).await
            }
            Err(error) => Decided::Failed(error),
        }
    }

    /// In probation: would the last good policy have failed too, on the same answers? If not, it runs again from this tick on.
    async fn measure(&mut self, live: &Live, basis: &Basis, error: RunError) -> Decided {
        let (good, aside) = self.replica.slot(self.slot, |state| {
            let measure = state.way.measure().cloned();
            (measure, state.aside.clone().unwrap_or_default())
        });
        let Some(good) = good else {
            return Decided::Failed(error);
        };
        let basis = Basis {
            memory: aside,
            ..basis.clone()
        };
        let Ok(done) = basis.run(&good).await.result else {
            // It is the master's doing.
            return Decided::Failed(error);
        };
        let reason = format!(
            "tick {} failed, and the last good policy managed it on the same answers: {}",
            self.begun.number,
            chain(&error)
        );
        if !self.replica.did_worse(self.slot, &live.ident().id, reason) {
            return Decided::Failed(error);
        }
        self.begun.ident = Some(good.ident().clone());
        Decided::Done(good, done)
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
        self.find_master().await?;
        let way = self
            .replica
            .way_to_master()
            .map_err(|no_way| match no_way {
                NoWay::State(state) => Ended::NotRun(state),
                NoWay::Fault(fault) => self.begun.clone().failed(fault),
            })?;
        let asked = Asked::new(way, &self.replica.config);
        Ok((live, rewritten, Arc::new(asked)))
    }

    /// Nothing that takes its time outlives the term.
    async fn find_master(&self) -> Result<(), Ended> {
        let mut term = self.replica.term.subscribe();
        tokio::select! {
            biased;
            _ = term.wait_for(|term| *term != self.term) => Err(Ended::Cancelled),
            () = self.replica.find_master() => Ok(()),
        }
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

    fn basis(&self, asked: &Arc<Asked>) -> Basis {
        let Begun {
            number, started, ..
        } = self.begun;
        let limits = self.replica.config.limits(self.slot);
        basis(
            &self.replica,
            self.slot,
            number,
            started,
            limits,
            Arc::clone(asked),
        )
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
            .find(|(kind, error)| live.depends_on(kind, error));
        let begun = self.begun.clone();
        let committed = match self.mode {
            Mode::DryRun => Ok(()),
            Mode::Commit => {
                let source = Some(asked.master().to_owned());
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
        let policy = live.status(self.begun.started);
        let (slot, term, adoptions) = (self.slot, self.term, self.adoptions);
        let memory = memory.filter(|memory| replica.slot(slot, |state| state.memory != *memory));
        if drafts.is_empty() && memory.is_none() {
            return Ok(());
        }
        if memory.is_some() {
            // The record must not hold what a policy remembers without the exchange by which it came to remember it. What goes
            // wrong is in the status.
            let _ = replica.record_swaps().await;
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
                replica.slot(slot, |state| {
                    let is_of = |live: &Live| live.ident().id == policy.id;
                    if state.way.live().is_some_and(is_of) {
                        replica.recorder.note_memory(slot, memory.clone());
                        state.memory = memory;
                    } else if state.way.measure().is_some_and(is_of) {
                        // What came into the slot meanwhile has a memory of its own; this one comes back with its policy.
                        state.aside = Some(memory);
                    }
                });
            }
            Ok(Ok(()))
        };
        let committed = self
            .with_files(run)
            .await
            .unwrap_or_else(|fault| Err(Stop::Failed(fault)));
        // Told in the status if it fails: the tables are safe all the same.
        let _ = self.replica.save_record().await;
        committed
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

/// What a tick of the slot works on, with the tables and the memory of now.
pub(super) fn basis(
    replica: &Inner,
    slot: Slot,
    number: u64,
    started: Time,
    limits: Limits,
    asked: Arc<Asked>,
) -> Basis {
    let (current, memory) = {
        let state = replica.state();
        (state.tables.clone(), state.slots.of(slot).memory.clone())
    };
    Basis {
        number,
        started,
        current,
        memory,
        asked,
        limits,
        replica: replica.name.clone(),
        slot,
    }
}

/// What came of running the policy.
enum Decided {
    /// This one's drafts are the tick's.
    Done(Live, Done),
    Failed(RunError),
}

/// Why a commit went no further.
enum Stop {
    Cancelled,
    Failed(Fault),
}
