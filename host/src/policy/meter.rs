//! The account of one tick: how long the guest computed, and what else it used.
//!
//! The only clock of this room is here. It runs while guest code runs: it stands still in every host import (the view that
//! serves an import stops it, see `world`) and while the guest has given its thread back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::limits::{EPOCH, Exceeded};

/// What a tick has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Time in guest code, host imports not counted.
    pub guest_time: Duration,
    /// How often the guest gave its thread back: once for each epoch (10 ms) that ended while it ran.
    pub yields: u64,
    /// Requests that went to the master.
    pub fetches: u64,
    /// Lines that the policy logged, dropped ones included.
    pub log_lines: u64,
    /// x
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
    running_since: Option<Instant>,
    waiting_for: Option<&'static str>,
}

impl Meter {
    /// A stopped meter for a guest that may compute for `budget`.
    pub(super) fn new(budget: Duration) -> Self {
        Self(Arc::new(Mutex::new(Account {
            spent: Spent::default(),
            budget,
            running_since: None,
            waiting_for: None,
        })))
    }

    /// Guest code runs from now on.
    pub(super) fn resume(&self) {
        self.0.lock().running_since = Some(Instant::now());
    }

    /// Guest code stands still from now on. One stretch counts as one epoch at most: a guest is asked to stop each epoch, so
    /// what is longer was the machine running something else.
    pub(super) fn pause(&self) {
        let mut account = self.0.lock();
        if let Some(since) = account.running_since.take() {
            account.spent.guest_time += since.elapsed().min(EPOCH);
        }
    }

    /// An epoch ended in guest code. Pauses; an error if the budget is used up.
    pub(super) fn end_epoch(&self) -> Result<(), Exceeded> {
        self.pause();
        let account = self.0.lock();
        if account.spent.guest_time >= account.budget {
            return Err(Exceeded::guest_time(account.budget));
        }
        Ok(())
    }

    /// The guest gives its thread back.
    pub(super) fn count_yield(&self) {
        self.0.lock().spent.yields += 1;
    }

    /// A request for `table` goes out.
    pub(super) fn start_fetch(&self, table: &'static str) {
        let mut account = self.0.lock();
        account.spent.fetches += 1;
        account.waiting_for = Some(table);
    }

    /// The request was answered.
    pub(super) fn end_fetch(&self) {
        self.0.lock().waiting_for = None;
    }

    /// A line was logged.
    pub(super) fn count_log_line(&self) {
        self.0.lock().spent.log_lines += 1;
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
