//! One replica: the stand-in of one master. Ties schedule, policies, master and store together, and keeps the role.
//!
//! Each of the four slots has a task of its own that sleeps until its schedule or a command wakes it, and runs one tick at a
//! time. Nothing that one of them does can hold up another: they share the tables behind a lock that is never held while
//! anything is awaited, and the files behind one that is held only for a commit.
//!
//! A role change bumps the *term*. A tick belongs to the term in which it began; one that has not reached its commit when the
//! term ends is cancelled and leaves nothing behind.

mod ask;
mod asked;
mod files;
mod finding;
mod live;
mod outcome;
mod plan;
mod recorded;
mod recorder;
mod slot;
mod swapping;
mod tick;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use locum_tables::{Slot, Table};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore, broadcast, oneshot, watch};
use tokio::task::JoinHandle;

pub use ask::{Masters, Remoting};
pub use files::{AdoptError, OpenReplicaError};
pub use outcome::{SyncReport, TableChange};
pub use plan::{PlanError, PlanOutcome, PlanReport, PlannedRun};
pub(crate) use recorded::LoadPolicy;
pub(crate) use swapping::Offer;

use crate::clock::{now, now_ms};
use crate::config::{ReplicaConfig, Role};
use crate::events::{Event, Telling};
use crate::policy::Fetch;
use crate::schedule::{Schedule, phase};
use crate::status::{ReplicaStatus, RoutineState, Time};
use crate::store::StoreError;
use crate::swap::{Entrant, Lasting, Way};
use crate::telemetry::chain;
use asked::Way as WayToMaster;
use files::Files;
use finding::{Finder, Known, NoWay, Sight};
pub(crate) use live::Live;
use outcome::Mode;
use recorder::Recorder;
use slot::{SlotState, Slots};

/// What every replica of a host shares.
pub(crate) struct Shared {
    /// Ticks run here, so that no guest ever keeps the rest of the host from running.
    pub(crate) pool: tokio::runtime::Handle,
    /// Connections live here, whoever first asks for one.
    pub(crate) io: tokio::runtime::Handle,
    /// Everybody who listens.
    pub(crate) events: broadcast::Sender<Event>,
    /// Makes connections.
    pub(crate) masters: Arc<dyn Masters>,
    /// Whether routines run by schedule, or only when asked.
    pub(crate) scheduled: bool,
    /// Nothing is written: only dry runs make sense.
    pub(crate) read_only: bool,
    /// Good ticks that a policy has to show after a swap.
    pub(crate) probation_ticks: u32,
    /// Whose turn it is to compile: each keeps a core busy, and ticks need theirs.
    pub(crate) compilers: Semaphore,
    /// So many trials ask masters for answers of their own at once: one file may be a thousand slots', and one master's.
    pub(crate) trials: Semaphore,
}

/// A handle to one replica of a running host. Cheap to clone.
#[derive(Clone)]
pub struct Replica(Arc<Inner>);

pub(crate) struct Inner {
    name: String,
    config: ReplicaConfig,
    phase: Duration,
    shared: Arc<Shared>,
    /// Where name servers find the master.
    finder: Option<Finder>,
    state: Mutex<State>,
    /// None once the replica has stopped.
    files: Arc<tokio::sync::Mutex<Option<Files>>>,
    recorder: Arc<Recorder>,
    wakes: BTreeMap<Slot, Notify>,
    term: watch::Sender<u64>,
    /// Trials that have ended.
    tried: watch::Sender<u64>,
    /// What runs, or is quarantined, or is good, is not on disk yet.
    unrecorded_swaps: AtomicBool,
    /// Held while that is put on disk.
    recording: Arc<tokio::sync::Mutex<()>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

struct State {
    role: Role,
    sight: Sight,
    link: Option<Arc<dyn Fetch>>,
    in_use: Option<String>,
    unrecorded: Option<String>,
    /// How often the directory was adopted since the start.
    adoptions: u64,
    /// It has taken its role: what was offered before is tried then.
    running: bool,
    stopping: bool,
    tables: BTreeMap<&'static str, Table>,
    committed: BTreeMap<&'static str, files::Committed>,
    notes: Vec<String>,
    slots: Slots,
}

/// Why a command cannot be carried out now.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The role or the pause could not be put on disk: it holds now, and not after a restart.
    #[error("in force now, but not recorded, so that a restart forgets it: {0}")]
    NotRecorded(String),
    /// There is nothing to which it could be done.
    #[error("{0}")]
    NotPossible(String),
}

impl Replica {
    /// Opens the directory and loads its tables; nothing runs before [`Replica::run`]. Blocking.
    pub(crate) fn open(
        name: &str,
        config: ReplicaConfig,
        replicas: usize,
        state_directory: &Path,
        shared: Arc<Shared>,
        known: &LoadPolicy<'_>,
    ) -> Result<Self, OpenReplicaError> {
        let (files, mut opened) = if shared.read_only {
            Files::peek(name, &config, state_directory, known)?
        } else {
            Files::open(name, &config, state_directory, known)?
        };
        let now = Time(now_ms());
        let slots = Slots::new(|slot| {
            let record = opened.swaps.remove(&slot).unwrap_or_default();
            let (lasting, aside) = (record.lasting, record.aside);
            let way = Way::new(shared.probation_ticks, lasting, now);
            let recorder = &opened.recorder;
            SlotState::recorded(way, recorder.is_paused(slot), recorder.memory(slot), aside)
        });
        let state = State {
            role: opened.role,
            sight: Sight::default(),
            link: None,
            in_use: opened.in_use,
            unrecorded: None,
            adoptions: 0,
            running: false,
            stopping: false,
            tables: opened.tables,
            committed: opened.committed,
            notes: opened.notes,
            slots,
        };
        Ok(Self(Arc::new(Inner {
            name: name.to_owned(),
            phase: phase(name, replicas, config.period.every),
            finder: config.lookup.is_some().then(Finder::default),
            config,
            shared,
            state: Mutex::new(state),
            files: Arc::new(tokio::sync::Mutex::new(Some(files))),
            recorder: opened.recorder,
            wakes: Slot::ALL
                .into_iter()
                .map(|slot| (slot, Notify::new()))
                .collect(),
            term: watch::Sender::new(0),
            tried: watch::Sender::new(0),
            unrecorded_swaps: AtomicBool::new(false),
            recording: Arc::default(),
            tasks: Mutex::new(Vec::new()),
        })))
    }

    /// Takes the role. A slave's schedule starts at once.
    pub(crate) fn run(&self) {
        let (role, notes) = {
            let state = self.0.state();
            (state.role, state.notes.clone())
        };
        self.0.take_role(role);
        self.0.state().running = true;
        Slot::ALL.into_iter().for_each(|slot| self.0.try_soon(slot));
        let tasks = Slot::ALL.map(|slot| tokio::spawn(slot::run(Arc::clone(&self.0), slot)));
        self.0.tasks.lock().extend(tasks);
        notes.into_iter().for_each(|note| self.0.emit_note(note));
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Takes a role, as `BrokerController` does on a role change: every tick that has not reached its commit is cancelled, the
    /// master's address is forgotten (the configured one is taken up again, or name servers are asked anew), and a slave's schedule starts anew. It outlives
    /// a restart, until another command, or until the configured role changes.
    ///
    /// # Errors
    /// [`CommandError::NotRecorded`]: it holds, and a restart forgets it.
    pub async fn set_role(&self, role: Role) -> Result<(), CommandError> {
        self.0.take_role(role);
        self.0.emit(
            Event::RoleChanged {
                replica: self.0.name.clone(),
                role,
            },
            Telling::default(),
        );
        {
            // What is in force by now, whatever the order in which commands get here.
            let state = self.0.state();
            self.0.recorder.note_role(state.role);
        }
        self.0.recorded().await
    }

    /// Tells the replica its master's address, or that there is none. The next tick goes there. Where name servers find the master
    /// it holds until they are asked again, within a minute; that there is none, only until the next tick.
    pub fn set_master(&self, master: Option<String>) {
        let sight = Sight::of(master.map(Known::told));
        let before = {
            let mut state = self.0.state();
            let before = state.sight.clone();
            state.see(sight.clone());
            before
        };
        let (from, to) = (before.master.as_ref(), sight.master.as_ref());
        self.0.tell_of_master(from, to, &sight);
    }

    /// Stops a routine's schedule until [`Replica::resume`], also over a restart.
    ///
    /// # Errors
    /// [`CommandError::NotRecorded`]: it holds, and a restart forgets it.
    pub async fn pause(&self, slot: Slot) -> Result<(), CommandError> {
        self.set_paused(slot, true).await
    }

    /// Lets a paused routine go on.
    ///
    /// # Errors
    /// [`CommandError::NotRecorded`]: it holds, and a restart forgets it.
    pub async fn resume(&self, slot: Slot) -> Result<(), CommandError> {
        self.set_paused(slot, false).await
    }

    async fn set_paused(&self, slot: Slot, paused: bool) -> Result<(), CommandError> {
        {
            let mut state = self.0.state();
            let scheduled = self.0.shared.scheduled && state.role == Role::Slave;
            let in_slot = state.slots.of_mut(slot);
            if in_slot.paused && !paused && scheduled {
                // Due at once, and what passed meanwhile was not missed.
                let period = self.0.config.period(slot).every;
                in_slot.reschedule(Some(Schedule::start(now(), Duration::ZERO, period)));
            }
            in_slot.paused = paused;
        }
        self.0.wake(slot);
        self.0.slot(slot, |state| {
            self.0.recorder.note_paused(slot, state.paused)
        });
        self.0.recorded().await
    }

    /// Runs each routine once, now, and waits for all of them. A routine that does not run (stopped, paused, no policy) says so
    /// in its report.
    pub async fn sync(&self) -> Vec<SyncReport> {
        self.ask_all(Mode::Commit).await
    }

    /// What [`Replica::sync`] would change now. Nothing is written, and it counts as no tick.
    pub async fn dry_run(&self) -> Vec<SyncReport> {
        self.ask_all(Mode::DryRun).await
    }

    async fn ask_all(&self, mode: Mode) -> Vec<SyncReport> {
        let answers: Vec<_> = Slot::ALL.map(|slot| (slot, self.0.ask(slot, mode))).into();
        let mut reports = Vec::new();
        for (slot, answer) in answers {
            let report = answer
                .await
                .unwrap_or_else(|_| SyncReport::cancelled(self.name(), slot));
            reports.push(report);
        }
        reports
    }

    /// Takes the files of a directory that a broker has taken over as the current tables, or, with `overwrite`, puts them aside
    /// and writes ours. Either way the replica goes on.
    ///
    /// # Errors
    /// [`AdoptError`]: a broker still runs there, a file is bad, the disk failed.
    pub async fn adopt(&self, overwrite: bool) -> Result<Vec<String>, AdoptError> {
        let inner = Arc::clone(&self.0);
        let adopt = move |files: &mut Files| {
            let adopted = files.adopt(overwrite)?;
            let mut state = inner.state();
            let mut notes = adopted.notes;
            notes.push(match (state.in_use.take(), overwrite) {
                (None, _) => "nothing was taken over".to_owned(),
                (Some(_), true) => "files that are not ours are put aside (*.aside-TIME), and ours written, at the next tick".to_owned(),
                (Some(_), false) => format!("{} tables taken from the directory's files", adopted.tables.len()),
            });
            // A tick that drafts from what was before must not commit.
            state.adoptions += 1;
            // Overwriting, what we had in memory is what is to be written again.
            if !overwrite {
                state.tables = adopted.tables;
                state.committed.clear();
            }
            // What was noticed at the start is settled with that.
            state.notes.clear();
            Ok(notes)
        };
        let adopted = self
            .0
            .with_files(adopt)
            .await
            .unwrap_or_else(|stopped| Err(AdoptError::Host(stopped)))?;
        Slot::ALL.into_iter().for_each(|slot| self.0.wake(slot));
        Ok(adopted)
    }

    /// What it is in now.
    pub fn status(&self) -> ReplicaStatus {
        let state = self.0.state();
        let routines = state.slots.iter().map(|(slot, in_slot)| {
            in_slot.status(slot, self.0.routine_state(&state, slot), &state)
        });
        ReplicaStatus {
            name: self.0.name.clone(),
            role: state.role,
            master: state
                .sight
                .master
                .as_ref()
                .map(|known| known.address.clone()),
            master_source: state
                .sight
                .master
                .as_ref()
                .map(|known| known.how.to_string()),
            directory: self.0.config.directory.display().to_string(),
            notes: state
                .in_use
                .iter()
                .chain(&state.unrecorded)
                .chain(&state.notes)
                .cloned()
                .chain(state.sight.notes().map(str::to_owned))
                .collect(),
            routines: routines.collect(),
        }
    }

    /// The current table of that name, as of the last commit or load.
    pub fn table(&self, name: &str) -> Option<Table> {
        self.0.state().tables.get(name).cloned()
    }

    /// The directory that it fills.
    pub(crate) fn directory(&self) -> &Path {
        &self.0.config.directory
    }

    /// The plugin file of each slot.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = (Slot, PathBuf)> + '_ {
        Slot::ALL
            .into_iter()
            .map(|slot| (slot, self.0.config.plugin(slot)))
    }

    /// The hashes of the components that a slot runs, or would go back to.
    pub(crate) fn components(&self) -> BTreeSet<String> {
        let state = self.0.state();
        let of_slot = |(_, in_slot): (Slot, &SlotState)| {
            let Lasting { good, previous, .. } = in_slot.way.lasting();
            let live = in_slot.way.live().cloned();
            [live, good, previous].into_iter().flatten()
        };
        let all = state.slots.iter().flat_map(of_slot);
        all.map(|live| live.ident().sha256.clone()).collect()
    }

    /// Stops the schedules, lets commits end, and gives the directory free.
    pub(crate) async fn stop(&self) {
        self.0.state().stopping = true;
        self.0.term.send_modify(|term| *term += 1);
        Slot::ALL.into_iter().for_each(|slot| self.0.wake(slot));
        let tasks = std::mem::take(&mut *self.0.tasks.lock());
        for task in tasks {
            // A slot's task that panicked has been told of already.
            let _ = task.await;
        }
        // What was to be recorded soon; what goes wrong with it was told.
        let _ = self.0.record_swaps().await;
        self.0.recorder.close();
        // Whoever still has a handle does not keep the directory.
        *self.0.files.lock().await = None;
    }

    /// Stops without waiting.
    pub(crate) fn abandon(&self) {
        let mut state = self.0.state();
        state.stopping = true;
        state
            .slots
            .iter_mut()
            .for_each(|(_, slot)| slot.asked.clear());
        drop(state);
        self.0.tasks.lock().drain(..).for_each(|task| task.abort());
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn slot<T>(&self, slot: Slot, with: impl FnOnce(&mut SlotState) -> T) -> T {
        with(self.state().slots.of_mut(slot))
    }

    fn wake(&self, slot: Slot) {
        if let Some(wake) = self.wakes.get(&slot) {
            wake.notify_one();
        }
    }

    fn take_role(&self, role: Role) {
        {
            let mut state = self.state();
            self.term.send_modify(|term| *term += 1);
            state.role = role;
            state.link = None;
            state.sight = Sight::of(self.config.master.clone().map(Known::configured));
            let now = now();
            let scheduled = role == Role::Slave && self.shared.scheduled;
            for (slot, in_slot) in state.slots.iter_mut() {
                let period = self.config.period(slot).every;
                in_slot.reschedule(
                    scheduled.then(|| {
                        Schedule::start(now, self.config.first_delay + self.phase, period)
                    }),
                );
            }
        }
        Slot::ALL.into_iter().for_each(|slot| self.wake(slot));
    }

    fn ask(&self, slot: Slot, mode: Mode) -> oneshot::Receiver<SyncReport> {
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.state();
            // Nobody would answer any more: the channel closes instead.
            if !state.stopping {
                let in_slot = state.slots.of_mut(slot);
                in_slot.asked.push((mode, answer));
            }
        }
        self.wake(slot);
        answered
    }

    /// The first that applies.
    fn routine_state(&self, state: &State, slot: Slot) -> RoutineState {
        let in_slot = state.slots.of(slot);
        match self.obstacle(state, in_slot) {
            Some(obstacle) => obstacle,
            None => in_slot.outcome(),
        }
    }

    /// What keeps a routine from running, if anything does.
    fn obstacle(&self, state: &State, in_slot: &SlotState) -> Option<RoutineState> {
        let no_policy = in_slot
            .way
            .live()
            .is_none()
            .then_some(RoutineState::NoPolicy);
        let in_use = state.in_use.as_ref().map(|_| RoutineState::DirectoryInUse);
        held_back(state.role, in_slot)
            .or(no_policy)
            .or(in_use)
            .or(self.master_obstacle(state))
    }

    /// What an operator may do about a state in which a routine does not run.
    fn explained(&self, state: RoutineState, slot: Slot) -> Option<String> {
        let replica = self.state();
        match state {
            RoutineState::DirectoryInUse => replica.in_use.clone(),
            RoutineState::NoPolicy => {
                let way = &replica.slots.of(slot).way;
                let refusal = way.last_refusal().map(|refusal| refusal.reason.as_str());
                way.note().or(refusal).map(str::to_owned)
            }
            RoutineState::NoMaster => {
                let unfound = replica.sight.unfound.as_ref();
                let why = unfound.map_or("no master is known", |unfound| unfound.text());
                Some(why.to_owned())
            }
            RoutineState::OwnAddress => {
                Some("the master is this replica's own broker (own-address)".to_owned())
            }
            _ => None,
        }
    }

    /// What keeps a due routine from even looking at its directory.
    fn held_back(&self, slot: Slot) -> Option<RoutineState> {
        let state = self.state();
        held_back(state.role, state.slots.of(slot))
    }

    /// The master and the connection to it, read once for each tick.
    fn way_to_master(&self) -> Result<WayToMaster, NoWay> {
        let mut state = self.state();
        let master = self.master_to_ask(&state)?;
        let connect = || {
            let _on_io = self.shared.io.enter();
            self.shared.masters.connect(&master.address, &self.config)
        };
        let fetch = Arc::clone(state.link.get_or_insert_with(connect));
        Ok(WayToMaster {
            master,
            fetch,
            doubt: self.finder.as_ref().map(Finder::doubt),
        })
    }

    /// A table's file is in place: so is the table.
    fn committed(&self, table: Table, committed: files::Committed) {
        let mut state = self.state();
        state.committed.insert(table.kind().name, committed);
        state.tables.insert(table.kind().name, table);
    }

    /// Why the record is not up to date, or that it is again. A change is told.
    fn set_unrecorded(&self, error: Option<&StoreError>) {
        let why = error.map(files::unrecorded);
        self.set_trouble(|state| &mut state.unrecorded, why);
    }

    /// Why nothing may be written, or that all is well again. A change is told.
    fn set_in_use(&self, in_use: Option<String>) {
        self.set_trouble(|state| &mut state.in_use, in_use);
    }

    fn set_trouble(
        &self,
        which: impl FnOnce(&mut State) -> &mut Option<String>,
        why: Option<String>,
    ) {
        let before = std::mem::replace(which(&mut self.state()), why.clone());
        if let Some(note) = why.filter(|note| before.as_ref() != Some(note)) {
            self.emit_note(note);
        }
    }

    /// In a task of its own: a command whose caller gives up waiting is in force, so it is recorded too.
    async fn recorded(self: &Arc<Self>) -> Result<(), CommandError> {
        let inner = Arc::clone(self);
        let recorded = tokio::spawn(async move { inner.save_record().await });
        recorded
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(CommandError::NotRecorded)
    }

    /// Writes down what was noted, off the runtime's threads.
    async fn save_record(self: &Arc<Self>) -> Result<(), String> {
        let inner = Arc::clone(self);
        let save = move || {
            let saved = inner.recorder.save();
            // What of the swaps could not be recorded is not recorded by this either.
            if saved.is_err() || !inner.unrecorded_swaps.load(Ordering::Acquire) {
                inner.set_unrecorded(saved.as_ref().err());
            }
            saved.map_err(|error| chain(&error))
        };
        let saved = tokio::task::spawn_blocking(save).await;
        saved.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Does something with the files, off the runtime's threads. The error says that there is nothing to do it with.
    async fn with_files<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Files) -> T + Send + 'static,
    ) -> Result<T, String> {
        let mut files = Arc::clone(&self.files).lock_owned().await;
        let run = move || files.as_mut().map(run);
        match tokio::task::spawn_blocking(run).await {
            Ok(ran) => ran.ok_or_else(|| "the replica has stopped".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn emit(&self, event: Event, telling: Telling) {
        event.log(telling);
        // Nobody may be listening.
        let _ = self.shared.events.send(event);
    }

    fn emit_note(&self, note: String) {
        self.emit(
            Event::Noticed {
                replica: self.name.clone(),
                note,
            },
            Telling::default(),
        );
    }
}

/// The operator's wish comes before everything else.
fn held_back(role: Role, in_slot: &SlotState) -> Option<RoutineState> {
    match role {
        Role::Master => Some(RoutineState::Stopped),
        Role::Slave => in_slot.paused.then_some(RoutineState::Paused),
    }
}
