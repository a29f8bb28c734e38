//! One slot of a replica: its state, and the task that runs its ticks one after another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use locum_tables::{Slot, TableKind};
use tokio::sync::oneshot;

use super::live::Live;
use super::outcome::{Ended, Mode, SyncReport};
use super::tick::Attempt;
use super::{Inner, State};
use crate::clock::now;
use crate::events::{Event, Telling};
use crate::policy::Memory;
use crate::schedule::Schedule;
use crate::status::{
    QuarantineStatus, RoutineState, RoutineStatus, TableStatus, TickResult, TickStatus, Time,
};
use crate::swap::{Lasting, Quarantined, Way};

/// What a slot knows.
pub(super) struct SlotState {
    pub(super) way: Way<Live>,
    /// How often each transition of the way came.
    pub(super) transitions: BTreeMap<&'static str, u64>,
    /// A trial is under way.
    pub(super) trying: bool,
    pub(super) paused: bool,
    pub(super) schedule: Option<Schedule>,
    pub(super) asked: Vec<(Mode, oneshot::Sender<SyncReport>)>,
    pub(super) memory: Memory,
    /// While what runs is in probation: what the last good policy remembered when it was left.
    pub(super) aside: Option<Memory>,
    /// No tick has ended since the role was taken: what an earlier role's ticks came to says nothing any more.
    waiting: bool,
    begun: u64,
    ticks: u64,
    failures: u64,
    missed_before: u64,
    last_tick: Option<TickStatus>,
    last_success: Option<Time>,
    told: Told,
}

/// The four slots of a replica.
pub(super) struct Slots([SlotState; 4]);

impl Slots {
    pub(super) fn new(make: impl FnMut(Slot) -> SlotState) -> Self {
        Self(Slot::ALL.map(make))
    }

    pub(super) fn of(&self, slot: Slot) -> &SlotState {
        &self.0[slot as usize]
    }

    pub(super) fn of_mut(&mut self, slot: Slot) -> &mut SlotState {
        &mut self.0[slot as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &SlotState)> {
        Slot::ALL.into_iter().zip(&self.0)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Slot, &mut SlotState)> {
        Slot::ALL.into_iter().zip(&mut self.0)
    }
}

/// What was last told of the slot, and how often in a row.
#[derive(Default)]
struct Told {
    sameness: String,
    repeats: u64,
    failed: bool,
}

impl Told {
    fn next(&mut self, event: &Event) -> Telling {
        let sameness = event.sameness();
        if sameness == self.sameness {
            self.repeats += 1;
            return Telling {
                repeats: self.repeats,
                recovered: false,
            };
        }
        let failed = event.is_failure();
        let recovered = std::mem::replace(&mut self.failed, failed) && !failed;
        (self.sameness, self.repeats) = (sameness, 0);
        Telling {
            repeats: 0,
            recovered,
        }
    }
}

impl SlotState {
    /// A slot as its record left it.
    pub(super) fn recorded(
        way: Way<Live>,
        paused: bool,
        memory: Memory,
        aside: Option<Memory>,
    ) -> Self {
        Self {
            way,
            transitions: BTreeMap::new(),
            trying: false,
            paused,
            schedule: None,
            asked: Vec::new(),
            memory,
            aside,
            waiting: true,
            begun: 0,
            ticks: 0,
            failures: 0,
            missed_before: 0,
            last_tick: None,
            last_success: None,
            told: Told::default(),
        }
    }

    /// What of its swaps outlives a restart.
    pub(super) fn to_record(&self) -> (Lasting<Live>, Option<Memory>) {
        (self.way.lasting(), self.aside.clone())
    }

    /// What the ticks since the role was taken came to.
    pub(super) fn outcome(&self) -> RoutineState {
        match &self.last_tick {
            Some(tick) if !self.waiting => match tick.result {
                TickResult::Held => RoutineState::Held,
                TickResult::Failed => RoutineState::Failing,
                TickResult::Updated | TickResult::Unchanged => RoutineState::Active,
            },
            _ => RoutineState::Waiting,
        }
    }

    pub(super) fn status(&self, slot: Slot, state: RoutineState, replica: &State) -> RoutineStatus {
        RoutineStatus {
            name: slot,
            state,
            policy: self.way.live_status(),
            candidate: self.way.candidate_status(),
            last_refusal: self.way.last_refusal().cloned(),
            probation: self.way.probation_status(),
            quarantine: self.way.quarantine().iter().map(quarantined).collect(),
            note: self.way.note().map(str::to_owned),
            transitions: self
                .transitions
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
            ticks: self.ticks,
            failures: self.failures,
            missed: self.missed_before + self.schedule.as_ref().map_or(0, Schedule::missed),
            last_tick: self.last_tick.clone(),
            last_success: self.last_success,
            tables: TableKind::of_slot(slot)
                .map(|kind| table_status(kind, replica))
                .collect(),
        }
    }

    /// Takes another schedule, or none, and keeps the count of what was missed.
    pub(super) fn reschedule(&mut self, schedule: Option<Schedule>) {
        self.missed_before += self.schedule.as_ref().map_or(0, Schedule::missed);
        self.schedule = schedule;
        self.waiting = true;
    }

    /// The number of the tick that begins now; a dry run has the number that the next tick will have.
    pub(super) fn next_number(&mut self, counts: bool) -> u64 {
        let number = self.begun + 1;
        if counts {
            self.begun = number;
        }
        number
    }

    /// A tick that did not come about gives its number back.
    fn give_back(&mut self) {
        self.begun = self.begun.saturating_sub(1);
    }

    fn count(&mut self, tick: &TickStatus) {
        self.ticks += 1;
        match tick.result {
            TickResult::Failed => self.failures += 1,
            TickResult::Updated | TickResult::Unchanged => self.last_success = Some(tick.started),
            TickResult::Held => {}
        }
        self.last_tick = Some(tick.clone());
    }
}

fn quarantined(entry: &Quarantined) -> QuarantineStatus {
    let Quarantined { ident, reason, at } = entry;
    QuarantineStatus {
        id: ident.id.clone(),
        sha256: ident.sha256.clone(),
        reason: reason.clone(),
        at: *at,
    }
}

fn table_status(kind: &'static TableKind, replica: &State) -> TableStatus {
    let table = replica.tables.get(kind.name);
    let committed = replica.committed.get(kind.name);
    TableStatus {
        name: kind.name.to_owned(),
        entries: table.map(|table| table.len() as u64),
        version: table.and_then(locum_tables::Table::version),
        source: committed.map(|committed| committed.source.clone()),
        committed: committed.map(|committed| committed.at),
        file: kind.file.to_owned(),
        bytes: committed.map(|committed| committed.bytes),
    }
}

/// The slot's task: sleeps until it is due or asked, runs one tick, and so on until the replica stops. A tick that panics is
/// that tick's failure and nothing else's.
pub(super) async fn run(replica: Arc<Inner>, slot: Slot) {
    loop {
        match next(&replica, slot) {
            Step::Run(run) => tick(&replica, slot, run).await,
            Step::Sleep(until) => sleep(&replica, slot, until).await,
            Step::Stop => return,
        }
    }
}

enum Step {
    Run(Run),
    Sleep(Option<std::time::Instant>),
    Stop,
}

/// A tick that is to run now, and who asked for it.
struct Run {
    mode: Mode,
    term: u64,
    asked: Vec<oneshot::Sender<SyncReport>>,
}

fn next(replica: &Inner, slot: Slot) -> Step {
    let mut state = replica.state();
    let term = *replica.term.borrow();
    let stopping = state.stopping;
    let in_slot = state.slots.of_mut(slot);
    if stopping {
        in_slot.asked.clear();
        return Step::Stop;
    }
    if let Some((mode, _)) = in_slot.asked.first() {
        let mode = *mode;
        let (now, later) = std::mem::take(&mut in_slot.asked)
            .into_iter()
            .partition(|(other, _)| *other == mode);
        in_slot.asked = later;
        let asked = Vec::into_iter(now).map(|(_, answer)| answer).collect();
        // A paused slot's schedule stands still.
        let paused = in_slot.paused;
        if let Some(schedule) = in_slot
            .schedule
            .as_mut()
            .filter(|_| !paused && mode == Mode::Commit)
        {
            schedule.begin_asked();
        }
        return Step::Run(Run { mode, term, asked });
    }
    let Some(schedule) = in_slot.schedule.as_mut().filter(|_| !in_slot.paused) else {
        return Step::Sleep(None);
    };
    if schedule.begin_if_due(now()) {
        return Step::Run(Run {
            mode: Mode::Commit,
            term,
            asked: Vec::new(),
        });
    }
    Step::Sleep(schedule.wake_at())
}

async fn sleep(replica: &Inner, slot: Slot, until: Option<std::time::Instant>) {
    let Some(wake) = replica.wakes.get(&slot) else {
        return;
    };
    match until {
        Some(until) => tokio::select! {
            () = tokio::time::sleep_until(until.into()) => {}
            () = wake.notified() => {}
        },
        None => wake.notified().await,
    }
}

async fn tick(replica: &Arc<Inner>, slot: Slot, run: Run) {
    if !replica.shared.scheduled {
        // Nobody may come again for long: what is on its way gets in before, not after.
        replica.trial_ended(slot).await;
    }
    let attempt = Attempt::new(Arc::clone(replica), slot, run.mode, run.term);
    let begun = attempt.begun();
    let ended = match replica.shared.pool.spawn(attempt.run()).await {
        Ok(ended) => ended,
        Err(error) => begun.panicked(error),
    };
    let report = conclude(replica, slot, &run, ended);
    if !run.asked.is_empty() {
        // Whoever asked may count on what the tick said of its policy; nobody else's next tick waits for the disk. What goes
        // wrong is in the status.
        let _ = replica.record_swaps().await;
    }
    for asked in run.asked {
        // Whoever asked may have gone.
        let _ = asked.send(report.clone());
    }
}

fn conclude(replica: &Arc<Inner>, slot: Slot, run: &Run, ended: Ended) -> SyncReport {
    let name = replica.name.clone();
    let event = {
        let mut state = replica.state();
        let same_term = *replica.term.borrow() == run.term;
        let in_slot = state.slots.of_mut(slot);
        if let Some(schedule) = in_slot
            .schedule
            .as_mut()
            .filter(|_| same_term && run.mode == Mode::Commit)
        {
            schedule.ended(now());
        }
        if run.mode == Mode::Commit && !matches!(ended, Ended::Ran { .. }) {
            in_slot.give_back();
        }
        match &ended {
            _ if run.mode == Mode::DryRun => None,
            Ended::Ran {
                tick, answer_time, ..
            } => {
                in_slot.count(tick);
                if same_term {
                    in_slot.waiting = false;
                    stretch(replica, in_slot, slot, *answer_time);
                }
                Some(Event::TickEnded {
                    replica: name.clone(),
                    slot,
                    tick: tick.clone(),
                })
            }
            Ended::NotRun(state) => Some(Event::NotRun {
                replica: name.clone(),
                slot,
                state: *state,
            }),
            Ended::Cancelled => Some(Event::TickCancelled {
                replica: name.clone(),
                slot,
            }),
        }
    };
    if let Some(event) = event {
        let telling = replica.slot(slot, |state| state.told.next(&event));
        replica.emit(event, telling);
    }
    if let (Mode::Commit, Ended::Ran { tick, .. }) = (run.mode, &ended)
        && matches!(tick.result, TickResult::Updated | TickResult::Unchanged)
    {
        replica.ticked_well(slot, &tick.id);
    }
    if run.mode == Mode::Commit {
        replica.try_what_is_left(slot);
        replica.record_again();
    }
    let mut report = SyncReport::new(name, slot, ended);
    if let Some(state) = report.not_run {
        report.note = replica.explained(state, slot);
    }
    report
}

/// By the last answer: a tick without one says nothing of how long the master takes.
fn stretch(replica: &Inner, in_slot: &mut SlotState, slot: Slot, answer_time: Option<Duration>) {
    if answer_time.is_none() {
        return;
    }
    let period = replica.config.period(slot);
    if let Some(schedule) = in_slot.schedule.as_mut().filter(|_| !period.named) {
        schedule.set_period(crate::schedule::stretched(period.every, answer_time));
    }
}
