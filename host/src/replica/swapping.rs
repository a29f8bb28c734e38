//! What a slot's way of swapping asks for, done: trials run, memory set aside, records written, everything told.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use locum_tables::Slot;

use super::asked::Asked;
use super::finding::NoWay;
use super::live::Live;
use super::plan::{PlanError, PlanReport, plan};
use super::slot::SlotState;
use super::tick::basis;
use super::trial::{Basis, Left};
use super::{CommandError, Inner, Replica};
use crate::clock::{now, now_ms};
use crate::events::{Event, Telling, Transition};
use crate::policy::{Done, Policy, Refusal, RunError};
use crate::status::{RoutineState, Time};
use crate::swap::{Action, Command, Entrant, Event as SwapEvent, Ident, Outcome, Refused, Verdict};
use crate::telemetry::chain;

/// What a plugin file holds now.
pub(crate) enum Offer<'a> {
    /// A component, by its hash. It is still to be judged.
    Content(&'a str),
    /// A component that was checked and compiled.
    Judged(&'a str, Result<&'a Policy, &'a Refused>),
    /// The file is not there.
    Missing(&'a str),
    /// It cannot be read.
    Unreadable(&'a str),
}

/// A tick that comes within this is waited for: a trial then needs no answers of its own.
const SOON: Duration = Duration::from_secs(1);

impl Replica {
    /// Offers what a plugin file holds now to a slot that uses the file.
    pub(crate) fn offer(&self, slot: Slot, offer: &Offer<'_>, file: &Path) {
        let given = self.0.config.settings(slot);
        match offer {
            Offer::Content(sha256) => {
                self.0
                    .step(slot, SwapEvent::Found(Ident::new(sha256, &given)));
            }
            Offer::Judged(sha256, judged) => {
                let ident = Ident::new(sha256, &given);
                let id = ident.id.clone();
                let fits = judged.map_err(Clone::clone).and_then(|policy| {
                    Live::settled(policy, slot, given, file).map_err(|refusal| Refused {
                        stage: refusal.stage(),
                        reason: self.unfit(slot, file, &refusal),
                    })
                });
                self.0.step(slot, SwapEvent::Found(ident));
                self.0.step(slot, SwapEvent::Judged { id, verdict: fits });
            }
            Offer::Missing(note) => {
                let note = self.0.and_what_runs(slot, note);
                self.0.step(slot, SwapEvent::Missing(note));
            }
            Offer::Unreadable(reason) => {
                self.0
                    .step(slot, SwapEvent::Unreadable((*reason).to_owned()));
            }
        }
    }

    /// Why a policy does not fit a slot. Of settings the operator's file is to be mended, not the policy's.
    fn unfit(&self, slot: Slot, file: &Path, refusal: &Refusal) -> String {
        let (file, why) = (file.display(), chain(refusal));
        match refusal.is_about_settings() {
            true => format!(
                "{file} does not fit its settings: {why}. Mend [replica.{}.routine.{slot}] in the configuration, and restart",
                self.name()
            ),
            false => format!("{file} is refused: {why}"),
        }
    }

    /// Lets the held candidate of a slot in.
    ///
    /// # Errors
    /// [`CommandError::NotPossible`]: nothing is held.
    pub async fn accept(&self, slot: Slot) -> Result<(), CommandError> {
        self.command(slot, Command::Accept).await
    }

    /// Turns the candidate of a slot away; it is quarantined.
    ///
    /// # Errors
    /// [`CommandError::NotPossible`]: there is no candidate.
    pub async fn reject(&self, slot: Slot) -> Result<(), CommandError> {
        self.command(slot, Command::Reject).await
    }

    /// Goes back to the last good policy; the one that runs is quarantined.
    ///
    /// # Errors
    /// [`CommandError::NotPossible`]: there is none to go back to.
    pub async fn roll_back(&self, slot: Slot) -> Result<(), CommandError> {
        self.command(slot, Command::RollBack).await
    }

    /// Lifts the quarantine of what begins with `id`, by id or component hash, in every slot. In how many there was one.
    ///
    /// # Errors
    /// [`CommandError::NotRecorded`].
    pub async fn forget(&self, id: &str) -> Result<usize, CommandError> {
        let (mut slots, mut unrecorded) = (0, None);
        for slot in Slot::ALL {
            match self.command(slot, Command::Forget(id.to_owned())).await {
                Ok(()) => slots += 1,
                Err(CommandError::NotPossible(_)) => {}
                // Lifted all the same, as it shall be in the others.
                Err(error) => unrecorded = Some(error),
            }
        }
        unrecorded.map_or(Ok(slots), Err)
    }

    async fn command(&self, slot: Slot, command: Command) -> Result<(), CommandError> {
        let actions = {
            let mut state = self.0.state();
            let in_slot = state.slots.of_mut(slot);
            let actions = in_slot
                .way
                .command(Time(now_ms()), command)
                .map_err(CommandError::NotPossible)?;
            in_slot.move_memory(&actions);
            actions
        };
        self.0.perform(slot, actions);
        self.0
            .record_swaps()
            .await
            .map_err(CommandError::NotRecorded)
    }

    /// What a component would change in a slot now, against what runs there: both run on the same answers, and nothing is
    /// written.
    ///
    /// # Errors
    /// [`PlanError`].
    pub async fn plan(&self, slot: Slot, component: Arc<[u8]>) -> Result<PlanReport, PlanError> {
        let live = self
            .0
            .slot(slot, |state| state.way.live().cloned())
            .ok_or_else(|| PlanError::NotNow(self.0.why_not(RoutineState::NoPolicy, slot)))?;
        let basis = self.0.basis(slot).await.map_err(PlanError::NotNow)?;
        let inner = Arc::clone(&self.0);
        let quarantine = inner.slot(slot, |state| state.way.quarantine().to_vec());
        let planned = self.0.shared.pool.spawn(async move {
            let (config, shared) = (&inner.config, &inner.shared);
            plan(config, shared, &live, component, &basis, &quarantine).await
        });
        planned
            .await
            .unwrap_or_else(|error| Err(PlanError::NotNow(error.to_string())))
    }
}

impl Inner {
    /// Takes in what happened to a slot's policies, and does what follows.
    pub(super) fn step(self: &Arc<Self>, slot: Slot, event: SwapEvent<Live>) {
        let actions = self.slot(slot, |state| {
            let actions = state.way.handle(Time(now_ms()), event);
            // Before a tick can see the other policy.
            state.move_memory(&actions);
            actions
        });
        self.perform(slot, actions);
    }

    fn perform(self: &Arc<Self>, slot: Slot, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Tell(transition) => self.tell(slot, transition),
                Action::Try => self.try_soon(slot),
                Action::Record => self.record_soon(),
                Action::SetMemoryAside | Action::BringMemoryBack | Action::DropMemoryAside => {}
            }
        }
    }

    fn tell(&self, slot: Slot, transition: Transition) {
        self.slot(slot, |state| {
            *state.transitions.entry(transition.name()).or_default() += 1;
        });
        let event = Event::Swap {
            replica: self.name.clone(),
            slot,
            transition,
        };
        self.emit(event, Telling::default());
    }

    /// A policy's first good tick after another, and so on.
    pub(super) fn ticked_well(self: &Arc<Self>, slot: Slot, id: &str) {
        let event = SwapEvent::Ticked {
            id: id.to_owned(),
            outcome: Outcome::Good,
        };
        self.step(slot, event);
    }

    /// What runs failed where the last good policy does not. Whether that one runs again.
    pub(super) fn did_worse(self: &Arc<Self>, slot: Slot, id: &str, reason: String) -> bool {
        let event = SwapEvent::Ticked {
            id: id.to_owned(),
            outcome: Outcome::Worse(reason),
        };
        self.step(slot, event);
        self.slot(slot, |state| {
            state.way.live().is_some_and(|live| live.ident().id != id)
        })
    }

    fn and_what_runs(&self, slot: Slot, note: &str) -> String {
        let live = self.slot(slot, |state| state.way.live_status());
        match live {
            Some(live) => format!("{note}; {} {:.8} goes on", live.name, live.sha256),
            None => note.to_owned(),
        }
    }

    /// Tries the candidate: the next tick takes it along if it comes soon, else it is tried by itself. Before the replica runs
    /// there is nothing to try it on.
    pub(super) fn try_soon(self: &Arc<Self>, slot: Slot) {
        if self.shared.read_only || !self.state().running || self.ticks_soon(slot) {
            return;
        }
        let inner = Arc::clone(self);
        self.shared.pool.spawn(async move {
            // The semaphore is never closed. While this waits for its turn, a tick may take the candidate along.
            let _turn = inner.shared.trials.acquire().await;
            if let Some(pair) = inner.begin_trial(slot) {
                let (of_trial, both) = (Arc::clone(&inner), pair.clone());
                let trial = async move {
                    match of_trial.basis(slot).await {
                        Ok(basis) => of_trial.try_alone(&basis, &both).await,
                        Err(why) => Verdict::Nothing(why),
                    }
                };
                inner.run_trial(slot, pair, trial).await;
            }
            inner.tried.send_modify(|ended| *ended += 1);
        });
    }

    /// A tick has ended. What came too late for it does not wait for the next one, if that is not near.
    pub(super) fn try_what_is_left(self: &Arc<Self>, slot: Slot) {
        if self.slot(slot, |state| state.way.is_untried()) {
            self.try_soon(slot);
        }
    }

    async fn try_alone(&self, basis: &Basis, pair: &Pair) -> Verdict {
        let ran = basis.run(&pair.live).await;
        let left = Left::of(&pair.live, &ran.result);
        basis.try_out(&pair.candidate, &left, &self.config).await
    }

    /// Tries the candidate, if there is one, on what a tick worked on, beside whatever the slot does next.
    pub(super) fn try_beside(
        self: &Arc<Self>,
        slot: Slot,
        ran: &Live,
        basis: &Basis,
        result: &Result<Done, RunError>,
    ) {
        let Some(pair) = self.begin_trial(slot) else {
            return;
        };
        let left = (pair.live.ident() == ran.ident()).then(|| Left::of(ran, result));
        let (inner, basis, both) = (Arc::clone(self), basis.clone(), pair.clone());
        let trial = async move {
            match left {
                Some(left) => basis.try_out(&both.candidate, &left, &inner.config).await,
                None => Verdict::Nothing("another policy came to run meanwhile".to_owned()),
            }
        };
        let inner = Arc::clone(self);
        self.shared
            .pool
            .spawn(async move { inner.run_trial(slot, pair, trial).await });
    }

    /// Runs a trial that has begun. It ends whatever happens in it: one that did not would keep every other from beginning.
    async fn run_trial(
        self: &Arc<Self>,
        slot: Slot,
        pair: Pair,
        trial: impl Future<Output = Verdict> + Send + 'static,
    ) {
        let ran = self.shared.pool.spawn(trial).await;
        let verdict = ran.unwrap_or_else(|error| match error.is_panic() {
            true => Verdict::Failed(format!("the host failed in this trial: {error}")),
            false => Verdict::Nothing("the host is going".to_owned()),
        });
        self.end_trial(slot, pair, verdict);
    }

    fn ticks_soon(&self, slot: Slot) -> bool {
        let state = self.state();
        let in_slot = state.slots.of(slot);
        let due = in_slot.schedule.as_ref().map(|schedule| schedule.wake_at());
        match due {
            _ if self.obstacle(&state, in_slot).is_some() => false,
            // None while a tick runs, which takes the candidate along; at its end, if it had come too far for that.
            Some(due) => due.is_none_or(|due| due <= now() + SOON),
            None => false,
        }
    }

    /// What runs and what is to be tried, if there is both and no trial yet.
    fn begin_trial(&self, slot: Slot) -> Option<Pair> {
        self.slot(slot, |state| {
            let pair = Pair {
                live: state.way.live()?.clone(),
                candidate: state.way.to_try()?.clone(),
            };
            (!std::mem::replace(&mut state.trying, true)).then_some(pair)
        })
    }

    fn end_trial(self: &Arc<Self>, slot: Slot, pair: Pair, verdict: Verdict) {
        self.slot(slot, |state| state.trying = false);
        if self.state().stopping {
            // Nothing comes in any more, nor could it be recorded.
            return;
        }
        let event = SwapEvent::Tried {
            id: pair.candidate.ident().id.clone(),
            against: pair.live.ident().id.clone(),
            verdict,
        };
        self.step(slot, event);
        self.tried.send_modify(|ended| *ended += 1);
        // One that came while this was under way.
        let another = self.slot(slot, |state| {
            state
                .way
                .to_try()
                .is_some_and(|next| next.ident() != pair.candidate.ident())
        });
        if another {
            self.try_soon(slot);
        }
    }

    /// Waits until no trial of the slot is under way, or waits for its turn.
    pub(super) async fn trial_ended(&self, slot: Slot) {
        let mut tried = self.tried.subscribe();
        let to_come = |state: &SlotState| state.trying || state.way.is_untried();
        while !self.shared.read_only && self.slot(slot, |state| to_come(state)) {
            // The sender lives in this replica.
            let _ = tried.changed().await;
        }
    }

    /// What a tick would work on now, with answers of its own; or why there would be none.
    async fn basis(self: &Arc<Self>, slot: Slot) -> Result<Basis, String> {
        let obstacle = {
            let state = self.state();
            self.obstacle(&state, state.slots.of(slot))
        };
        if let Some(obstacle) = obstacle {
            return Err(self.why_not(obstacle, slot));
        }
        self.find_master().await;
        let way = self.way_to_master().map_err(|no_way| match no_way {
            NoWay::State(obstacle) => self.why_not(obstacle, slot),
            NoWay::Fault(fault) => fault.text,
        })?;
        let limits = self.config.limits(slot);
        let asked = Asked::new(way, &self.config);
        let number = self.slot(slot, |state| state.next_number(false));
        Ok(basis(
            self,
            slot,
            number,
            Time(now_ms()),
            limits,
            Arc::new(asked),
        ))
    }

    fn why_not(&self, obstacle: RoutineState, slot: Slot) -> String {
        let why = self.explained(obstacle, slot);
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        format!("the routine does not tick: {obstacle}{why}")
    }

    /// Puts what is to outlive a restart on disk, soon: nothing on the way to an exchange waits for the disk.
    fn record_soon(self: &Arc<Self>) {
        self.unrecorded_swaps.store(true, Ordering::Release);
        self.record_again();
    }

    /// Tries again what could not be put on disk.
    pub(super) fn record_again(self: &Arc<Self>) {
        if self.shared.read_only || !self.unrecorded_swaps.load(Ordering::Acquire) {
            return;
        }
        let inner = Arc::clone(self);
        self.shared.io.spawn(async move {
            // What went wrong is in the status.
            let _ = inner.record_swaps().await;
        });
    }

    /// Puts what is to outlive a restart on disk now, if it is not there yet.
    pub(super) async fn record_swaps(self: &Arc<Self>) -> Result<(), String> {
        // Whoever finds nothing left to record knows that it is on disk: what another has taken up has been written by then.
        let turn = Arc::clone(&self.recording).lock_owned().await;
        if !self.unrecorded_swaps.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let inner = Arc::clone(self);
        let note = move || {
            let _turn = turn;
            let note_slot = |slot| {
                let swap = || inner.slot(slot, |state| state.to_record());
                inner.recorder.note_swap(slot, swap)?;
                inner.slot(slot, |state| {
                    inner.recorder.note_memory(slot, state.memory.clone());
                });
                Ok(())
            };
            // One component that cannot be kept does not keep the rest from being recorded.
            let noted = Slot::ALL
                .map(note_slot)
                .into_iter()
                .collect::<Result<(), _>>();
            let saved = inner.recorder.save().and(noted);
            if saved.is_err() {
                // The end of the next tick tries again.
                inner.unrecorded_swaps.store(true, Ordering::Release);
            }
            inner.set_unrecorded(saved.as_ref().err());
            saved.map_err(|error| chain(&error))
        };
        let recorded = tokio::task::spawn_blocking(note).await;
        recorded.unwrap_or_else(|error| Err(error.to_string()))
    }
}

/// The two of a trial.
#[derive(Clone)]
struct Pair {
    live: Live,
    candidate: Live,
}

impl SlotState {
    /// Does what the actions say of memory.
    pub(super) fn move_memory(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::SetMemoryAside => self.aside = Some(self.memory.clone()),
                Action::BringMemoryBack => {
                    if let Some(aside) = self.aside.take() {
                        self.memory = aside;
                    }
                }
                Action::DropMemoryAside => self.aside = None,
                Action::Tell(_) | Action::Try | Action::Record => {}
            }
        }
    }
}
