//! The account of one tick: how long the guest computed, and what else it used.
//!
//! The only clock of this room is here. It runs while guest code runs and while the host serves the guest's calls (a guest that
//! loops through cheap calls would never be stopped otherwise); it stands still while a tick waits for the master, and while the
//! guest has given its thread back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::limits::{EPOCH, Exceeded};

/// What a tick has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Time in guest code and in the host calls that it made; waiting for the master is not counted.
    pub guest_time: Duration,
    /// How often the guest gave its thread back: once for each epoch (10 ms) that ended while it ran.
    pub yields: u64,
    /// Requests that went to the master.
    pub fetches: u64,
    /// Lines that the policy logged, dropped ones included.
    pub log_lines: u64,
    /// WebAssembly instructions, as wasmtime weighs them: the same for the same tick, on any machine. Only an engine that counts
    /// them ([`Engine::metered`](super::Engine::metered)) says so, and only of a tick that was not given up.
    pub fuel: Option<u64>,
}

/// A shared handle: the store, the epoch callback and whoever waits for the tick see the same account, also after the tick
/// was given up and its store is gone.
#[derive(Debug, Clone)]
pub(super) struct Meter(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    spent: Spent,
    budget: Duration,
    /// Whose code runs, and since when; none while the clock stands still.
    running: Option<(Code, Instant)>,
    waiting_for: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
enum Code {
    Guest,
    Host,
}

impl Account {
    /// Charges what ran until now.
    ///
    /// A stretch of guest code counts as one epoch at most: a guest is asked to stop each epoch, so what is longer was the machine
    /// running something else. Nothing asks a host call to stop: it counts in full.
    fn turn_to(&mut self, code: Option<Code>) {
        let now = Instant::now();
        if let Some((ran, since)) = self.running.take() {
            let stretch = now.saturating_duration_since(since);
            self.spent.guest_time += match ran {
                Code::Guest => stretch.min(EPOCH),
                Code::Host => stretch,
            };
        }
        self.running = code.map(|code| (code, now));
    }
}

impl Meter {
    /// A stopped meter for a guest that may compute for `budget`.
    pub(super) fn new(budget: Duration) -> Self {
        Self(Arc::new(Mutex::new(Account {
            spent: Spent::default(),
            budget,
            running: None,
            waiting_for: None,
        })))
    }

    /// Guest code runs from now on.
    pub(super) fn resume(&self) {
        self.0.lock().turn_to(Some(Code::Guest));
    }

    /// The host serves a call of the guest from now on.
    pub(super) fn start_call(&self) {
        self.0.lock().turn_to(Some(Code::Host));
    }

    /// Nothing runs from now on.
    pub(super) fn pause(&self) {
        self.0.lock().turn_to(None);
    }

    /// An epoch ended in guest code. Pauses; an error if the budget is used up.
    pub(super) fn end_epoch(&self) -> Result<(), Exceeded> {
        let mut account = self.0.lock();
        account.turn_to(None);
        if account.spent.guest_time >= account.budget {
            return Err(Exceeded::guest_time(account.budget));
        }
        Ok(())
    }

    /// The guest gives its thread back.
    pub(super) fn count_yield(&self) {
        self.0.lock().spent.yields += 1;
    }

    /// A request for `table` goes out, and is waited for.
    pub(super) fn start_fetch(&self, table: &'static str) {
        let mut account = self.0.lock();
        account.turn_to(None);
        account.spent.fetches += 1;
        account.waiting_for = Some(table);
    }

    /// The request was answered.
    pub(super) fn end_fetch(&self) {
        let mut account = self.0.lock();
        account.turn_to(Some(Code::Host));
        account.waiting_for = None;
    }

    /// A line was logged.
    pub(super) fn count_log_line(&self) {
        self.0.lock().spent.log_lines += 1;
    }

    /// What the whole tick burnt.
    pub(super) fn set_fuel(&self, fuel: u64) {
        self.0.lock().spent.fuel = Some(fuel);
    }

    /// The account so far.
    pub(super) fn spent(&self) -> Spent {
        self.0.lock().spent
    }

    /// The table whose answer the tick waits for.
    pub(super) fn waiting_for(&self) -> Option<&'static str> {
        self.0.lock().waiting_for
    }
}
