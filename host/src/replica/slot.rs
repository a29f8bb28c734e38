//! One slot of a replica: its state, and the task that runs its ticks one after another.

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
use crate::status::{RoutineState, RoutineStatus, TableStatus, TickResult, TickStatus, Time};

/// What a slot knows.
#[derive(Default)]
pub(super) struct SlotState {
    pub(super) live: Option<Live>,
    pub(super) refusal: Option<String>,
    pub(super) paused: bool,
    pub(super) schedule: Option<Schedule>,
    pub(super) asked: Vec<(Mode, oneshot::Sender<SyncReport>)>,
    pub(super) memory: Memory,
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
    pub(super) fn recorded(paused: bool, memory: Memory) -> Self {
        Self {
            paused,
            memory,
            ..Self::default()
        }
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
            policy: self.live.as_ref().map(Live::status),
            candidate: None,
            last_refusal: None,
            probation: None,
            note: self.refusal.clone(),
            transitions: std::collections::BTreeMap::new(),
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

    /// Puts another policy in. Whether it is another: the same content with the same settings is not.
    pub(super) fn exchange(&mut self, live: Live) -> bool {
        self.refusal = None;
        let same = self.live.as_ref().is_some_and(|old| {
            old.policy.sha256() == live.policy.sha256() && old.settings == live.settings
        });
        if !same {
            self.live = Some(live);
        }
        !same
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
    let in_slot = state.slots.entry(slot).or_default();
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
    let attempt = Attempt::new(Arc::clone(replica), slot, run.mode, run.term);
    let begun = attempt.begun();
    let ended = match replica.shared.pool.spawn(attempt.run()).await {
        Ok(ended) => ended,
        Err(error) => begun.panicked(error),
    };
    let report = conclude(replica, slot, &run, ended);
    for asked in run.asked {
        // Whoever asked may have gone.
        let _ = asked.send(report.clone());
    }
}

fn conclude(replica: &Inner, slot: Slot, run: &Run, ended: Ended) -> SyncReport {
    let name = replica.name.clone();
    let event = {
        let mut state = replica.state();
        let same_term = *replica.term.borrow() == run.term;
        let in_slot = state.slots.entry(slot).or_default();
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
