//! One tick of one slot: is anything in the way, ask, decide, compare, commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use locum_tables::{Difference, Slot, Table, TableKind, difference};
use serde::{Deserialize, Serialize};
use tokio::task::JoinError;

use super::Inner;
use super::files::{self, Looked};
use super::slot::Live;
use crate::clock::{now, now_ms};
use crate::policy::{BoxFuture, Done, Failure, Fetch, FetchError, Limits, Memory, RunError, Tick};
use crate::status::{ErrorKind, RoutineState, TickResult, TickStatus, Time};
use crate::telemetry::chain;

/// Whether a tick commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// As by schedule.
    Commit,
    /// Only compares.
    DryRun,
}

/// What one pass of a routine came to: `locum sync`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncReport {
    /// Which replica.
    pub replica: String,
    /// Which routine, by its slot's name.
    pub routine: String,
    /// Why it did not run, if it did not.
    pub not_run: Option<RoutineState>,
    /// The tick, if it ran.
    pub tick: Option<TickStatus>,
    /// What differs, or differed before the commit.
    pub changes: Vec<TableChange>,
}

/// How a table differs from the one before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TableChange {
    /// Such as `topics`.
    pub table: String,
    /// Keys that come.
    pub added: Vec<String>,
    /// Keys that go.
    pub removed: Vec<String>,
    /// Keys whose values differ.
    pub changed: Vec<String>,
    /// Other members of the document that differ, `dataVersion` among them.
    pub members: Vec<String>,
    /// Whether there was no table before.
    pub first: bool,
}

impl TableChange {
    fn new(table: &Table, before: Option<&Table>, difference: Difference) -> Self {
        let version = difference.version.map(|_| "dataVersion".to_owned());
        Self {
            table: table.kind().name.to_owned(),
            added: difference.added,
            removed: difference.removed,
            changed: difference.changed,
            members: version.into_iter().chain(difference.members).collect(),
            first: before.is_none(),
        }
    }
}

impl SyncReport {
    pub(super) fn new(replica: String, slot: Slot, ended: Ended) -> Self {
        let (not_run, tick, changes) = match ended {
            Ended::NotRun(state) => (Some(state), None, Vec::new()),
            Ended::Cancelled => (Some(RoutineState::Stopped), None, Vec::new()),
            Ended::Ran { tick, changes, .. } => (None, Some(tick), changes),
        };
        Self {
            replica,
            routine: slot.name().to_owned(),
            not_run,
            tick,
            changes,
        }
    }

    pub(super) fn not_run(replica: &str, slot: Slot, state: RoutineState) -> Self {
        Self::new(replica.to_owned(), slot, Ended::NotRun(state))
    }
}

/// How an attempt at a tick ended.
pub(super) enum Ended {
    NotRun(RoutineState),
    Cancelled,
    Ran {
        tick: TickStatus,
        changes: Vec<TableChange>,
        answer_time: Option<Duration>,
    },
}

/// When and as what a tick began.
#[derive(Clone)]
pub(super) struct Begun {
    number: u64,
    started: Time,
    at: Instant,
    sha256: String,
}

impl Begun {
    /// The tick's task ended without a result: a fault of the host, or the host is going.
    pub(super) fn panicked(self, error: JoinError) -> Ended {
        match error.try_into_panic() {
            Ok(panic) => {
                let text = panic.downcast_ref::<&str>().map(ToString::to_string);
                let text = text
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                self.failed(Fault::new(
                    ErrorKind::Internal,
                    format!("the host panicked in this tick: {text}"),
                ))
            }
            Err(_) => Ended::Cancelled,
        }
    }

    fn failed(self, fault: Fault) -> Ended {
        self.ended(TickResult::Failed, Some(fault), Vec::new(), None)
    }

    fn ended(
        self,
        result: TickResult,
        fault: Option<Fault>,
        changes: Vec<TableChange>,
        answer_time: Option<Duration>,
    ) -> Ended {
        let duration = now().saturating_duration_since(self.at);
        let (error_kind, error) = fault.map(|fault| (fault.kind, fault.text)).unzip();
        let tick = TickStatus {
            number: self.number,
            started: self.started,
            duration_ms: (duration.as_secs_f64() * 1e6).round() / 1e3,
            result,
            error,
            error_kind,
            sha256: self.sha256,
        };
        Ended::Ran {
            tick,
            changes,
            answer_time,
        }
    }
}

/// Why a tick failed.
pub(super) struct Fault {
    kind: ErrorKind,
    text: String,
}

impl Fault {
    pub(super) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}

/// A tick that is about to run.
pub(super) struct Attempt {
    replica: Arc<Inner>,
    slot: Slot,
    mode: Mode,
    term: u64,
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
        Self {
            replica,
            slot,
            mode,
            term,
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
        let (live, healed, asked) = match self.prepare().await {
            Ok(prepared) => prepared,
            Err(ended) => return ended,
        };
        let ran = tokio::select! {
            biased;
            () = term_ended => return Ended::Cancelled,
            ran = live.policy.run(self.tick(&live, &asked)) => ran,
        };
        let answer_time = asked.answer_time();
        match ran.result {
            Ok(done) => self.leave(&live, done, healed, answer_time).await,
            Err(error) => self.begun.clone().failed(self.fault(error)),
        }
    }

    /// Everything that may be in the way, in the order of the states.
    async fn prepare(&self) -> Result<(Live, bool, Arc<Asked>), Ended> {
        if let Some(state) = self.replica.held_back(self.slot) {
            return Err(Ended::NotRun(state));
        }
        let Some(live) = self.live.clone() else {
            return Err(Ended::NotRun(RoutineState::NoPolicy));
        };
        let looked = self.survey().await?;
        let healed = self.heal(&live, &looked.rewrite).await?;
        let fetch = self.replica.way_to_master().map_err(Ended::NotRun)?;
        Ok((
            live,
            healed,
            Arc::new(Asked {
                fetch,
                longest_us: AtomicU64::new(0),
            }),
        ))
    }

    async fn survey(&self) -> Result<Looked, Ended> {
        match self.with_files(files::Files::look).await {
            Ok(looked) => {
                self.replica.set_in_use(looked.in_use.clone());
                match looked.in_use {
                    Some(_) => Err(Ended::NotRun(RoutineState::DirectoryInUse)),
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
                tick_time: limits.tick_time.max(config.request_timeout * 3),
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
        healed: bool,
        answer_time: Option<Duration>,
    ) -> Ended {
        let (drafts, changes) = self.differing(done.drafts);
        let unmet = done
            .failed_fetches
            .into_iter()
            .find(|(kind, error)| counts_as_failure(live, kind, error));
        let begun = self.begun.clone();
        let committed = match self.mode {
            Mode::DryRun => Ok(()),
            Mode::Commit => match self.commit(live, drafts, Some(done.memory)).await {
                Err(Stop::Cancelled) => return Ended::Cancelled,
                Err(Stop::Failed(fault)) => Err(fault),
                Ok(()) => Ok(()),
            },
        };
        let unmet = unmet.map(|(kind, error)| fetch_fault(kind.name, &error));
        let result = if changes.is_empty() && !healed {
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
    async fn heal(&self, live: &Live, rewrite: &[&'static TableKind]) -> Result<bool, Ended> {
        let tables: Vec<Table> = {
            let state = self.replica.state();
            let of_slot = rewrite.iter().filter(|kind| kind.slot == self.slot);
            of_slot
                .filter_map(|kind| state.tables.get(kind.name).cloned())
                .collect()
        };
        if tables.is_empty() || self.mode == Mode::DryRun {
            return Ok(false);
        }
        match self.commit(live, tables, None).await {
            Ok(()) => Ok(true),
            Err(Stop::Cancelled) => Err(Ended::Cancelled),
            Err(Stop::Failed(fault)) => Err(self.begun.clone().failed(fault)),
        }
    }

    /// Each table for itself: the file, then memory. What was committed before a failure stays. The record comes last: it tells
    /// who wrote what, and nothing depends on it.
    async fn commit(
        &self,
        live: &Live,
        drafts: Vec<Table>,
        memory: Option<Memory>,
    ) -> Result<(), Stop> {
        let replica = Arc::clone(&self.replica);
        let (slot, term, policy) = (self.slot, self.term, live.status());
        let memory = memory.filter(|memory| replica.slot(slot, |state| state.memory != *memory));
        if drafts.is_empty() && memory.is_none() {
            return Ok(());
        }
        let run = move |files: &mut files::Files| {
            if *replica.term.borrow() != term {
                return Ok(Err(Stop::Cancelled));
            }
            let source = replica.state().master.clone().unwrap_or_default();
            for table in drafts {
                let (committed, notes) = match files.commit(&table, &source, &policy) {
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
            files.save().map_err(|error| files::fault_of(&error))?;
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

    fn fault(&self, error: RunError) -> Fault {
        match &error {
            RunError::Failure(Failure::Fetch(fetch)) => {
                let mut fault = fetch_fault("table", fetch);
                if let FetchError::TimedOut = fetch {
                    fault.text = self.timed_out();
                }
                fault
            }
            RunError::Failure(Failure::Invalid(_)) => Fault::new(ErrorKind::BadData, chain(&error)),
            _ => Fault::new(ErrorKind::Internal, chain(&error)),
        }
    }

    fn timed_out(&self) -> String {
        let master = self.replica.state().master.clone().unwrap_or_default();
        let limit = self.replica.config.request_timeout;
        format!(
            "the master at {master} accepted the request and did not answer within {limit:?} (request-timeout): is it overloaded, or \
             is this a name server's address?"
        )
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

fn fetch_fault(table: &str, error: &FetchError) -> Fault {
    let kind = match error {
        FetchError::Unreachable(_) | FetchError::TimedOut => ErrorKind::Unreachable,
        FetchError::Refused { .. } | FetchError::NotServed => ErrorKind::Refused,
        FetchError::NothingThere(_) | FetchError::TooLarge { .. } | FetchError::Malformed(_) => {
            ErrorKind::BadData
        }
        FetchError::UnknownTable(_) => ErrorKind::Config,
        FetchError::Other(_) => ErrorKind::Internal,
    };
    let advice = if matches!(error, FetchError::TooLarge { .. }) {
        "; raise `frame-limit`"
    } else {
        ""
    };
    Fault::new(kind, format!("no {table}: {}{advice}", chain(error)))
}

/// The master as a tick asks it, with the time that its answers took.
struct Asked {
    fetch: Arc<dyn Fetch>,
    longest_us: AtomicU64,
}

impl Asked {
    fn answer_time(&self) -> Option<Duration> {
        match self.longest_us.load(Ordering::Relaxed) {
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        }
    }
}

impl Fetch for Asked {
    fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
        Box::pin(async move {
            let begun = now();
            let answer = self.fetch.fetch(kind).await;
            if answer.is_ok() {
                let took = now().saturating_duration_since(begun).as_micros();
                self.longest_us.fetch_max(
                    u64::try_from(took).unwrap_or(u64::MAX).max(1),
                    Ordering::Relaxed,
                );
            }
            answer
        })
    }
}
