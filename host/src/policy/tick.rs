//! A loaded policy, and one tick of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use locum_tables::{Slot, Table, TableKind};

use super::description::{Description, Settings};
use super::engine::Ticker;
use super::fetch::{BoxFuture, Fetch, FetchError};
use super::limits::Limits;
use super::linked::Linked;
use super::log::Log;
use super::meter::{Meter, Spent};
use super::refusal::Refusal;
use super::report::RunError;
use super::state::State;

/// What a policy remembers between ticks: values by name.
pub type Memory = BTreeMap<String, Vec<u8>>;

/// A component that was checked, compiled and asked what it is. A clone is the same policy: code, description and hash are
/// one bundle, so that exchanging a policy leaves nothing of the old one behind.
#[derive(Clone)]
pub struct Policy(Arc<Bundle>);

struct Bundle {
    linked: Linked,
    description: Description,
    source: Source,
    /// Without epochs a looping guest would never stop.
    _ticker: Ticker,
}

/// Where a policy came from.
pub(super) struct Source {
    pub(super) component: Arc<[u8]>,
    pub(super) sha256: String,
    /// It was not compiled now.
    pub(super) from_cache: bool,
}

/// What one tick of a policy works on.
pub struct Tick {
    /// Counts up for each slot since the host's start.
    pub number: u64,
    /// When the tick began, in milliseconds since 1970.
    pub started_at: u64,
    /// The replica's committed tables by name, those of other slots too.
    pub current: BTreeMap<&'static str, Table>,
    /// What [`Policy::settle`] returned.
    pub settings: Settings,
    /// What the policy remembered at its last good tick.
    pub memory: Memory,
    /// Where its requests go.
    pub fetch: Arc<dyn Fetch>,
    /// What it may use.
    pub limits: Limits,
    /// The replica's name, for the log.
    pub replica: String,
    /// The slot, for the log.
    pub slot: Slot,
}

/// How a tick went.
#[derive(Debug)]
pub struct Ran {
    /// What it leaves behind, or why nothing.
    pub result: Result<Done, RunError>,
    /// What it used, however it ended.
    pub spent: Spent,
}

/// What a tick that ended well leaves behind. Nothing of it is committed.
#[derive(Debug)]
pub struct Done {
    /// The tables that it drafted, in the order of `writes`.
    pub drafts: Vec<Table>,
    /// What it wants to remember.
    pub memory: Memory,
    /// The requests that failed although the tick ended well.
    pub failed_fetches: Vec<(&'static TableKind, FetchError)>,
}

impl Policy {
    pub(super) fn new(linked: Linked, source: Source, ticker: Ticker) -> Result<Self, Refusal> {
        let described = linked.describe(describing(&source.sha256))?;
        let description = Description::read(described)?;
        Ok(Self(Arc::new(Bundle {
            linked,
            description,
            source,
            _ticker: ticker,
        })))
    }

    /// What it says of itself.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// The bytes that it was loaded from, for whoever wants to keep them.
    #[must_use]
    pub fn component(&self) -> &Arc<[u8]> {
        &self.0.source.component
    }

    /// The hash of its component, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.0.source.sha256
    }

    /// Whether its code was taken from the code cache instead of being compiled.
    #[must_use]
    pub fn from_cache(&self) -> bool {
        self.0.source.from_cache
    }

    /// Fits the policy to a slot with the settings that the operator gave; defaults are filled in.
    ///
    /// # Errors
    ///
    /// When it writes a table that the slot may not write, or a setting is unknown or missing.
    pub fn settle(
        &self,
        slot: Slot,
        given: &BTreeMap<String, String>,
    ) -> Result<Settings, Refusal> {
        self.0.description.settle(slot, given)
    }

    /// Runs one tick in a fresh store and instance, within its limits. The future may be dropped at any time: nothing of the
    /// tick outlives it. It needs tokio's time.
    pub async fn run(&self, tick: Tick) -> Ran {
        let Bundle {
            linked,
            description,
            ..
        } = &*self.0;
        let meter = Meter::new(tick.limits.guest_time);
        let tick_time = tick.limits.tick_time;
        let log = Log::new(
            tick.replica.clone(),
            tick.slot.name(),
            // Two of one name run beside each other in a trial.
            format!("{} {:.8}", description.name, self.sha256()),
            &tick.limits,
        );
        let state = State::new(tick, description.writes.clone(), meter.clone(), log);
        let synced = tokio::time::timeout(tick_time, linked.sync(state)).await;
        let result = synced.unwrap_or_else(|_| {
            Err(RunError::Deadline {
                after: tick_time,
                waiting_for: meter.waiting_for(),
            })
        });
        Ran {
            result,
            spent: meter.spent(),
        }
    }
}

/// The state in which a policy is asked what it is: no tables, no settings, no master.
fn describing(sha256: &str) -> State {
    let limits = Limits::default();
    let meter = Meter::new(limits.guest_time);
    let log = Log::new(String::new(), "describe", sha256.to_owned(), &limits);
    let tick = Tick {
        number: 0,
        started_at: 0,
        current: BTreeMap::new(),
        settings: Settings::new(),
        memory: Memory::new(),
        fetch: Arc::new(NoMaster),
        limits,
        replica: String::new(),
        slot: Slot::Topic,
    };
    State::new(tick, Vec::new(), meter, log)
}

struct NoMaster;

impl Fetch for NoMaster {
    fn fetch(&self, _kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
        let why = "a policy that says what it is has no master".to_owned();
        Box::pin(std::future::ready(Err(FetchError::Other(why))))
    }
}
