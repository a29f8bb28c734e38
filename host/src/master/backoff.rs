//! When to try to connect again. Pure: time and chance are parameters.

use std::time::{Duration, Instant};

/// The pause after failed attempts: doubling up to a cap, each shortened by chance to between its half and its whole,
/// so that a thousand replicas of a restarted host do not knock at once.
#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    cap: Duration,
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    pub(super) fn new(first: Duration, cap: Duration) -> Self {
        Self {
            first,
            cap,
            failures: 0,
            until: None,
        }
    }

    /// How long to wait before the next attempt; `None` if it is due.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.until
            .and_then(|until| until.checked_duration_since(now))
            .filter(|left| !left.is_zero())
    }

    /// An attempt failed. `chance` is any number.
    pub(super) fn failed(&mut self, now: Instant, chance: u32) {
        let doubled = 2u32
            .checked_pow(self.failures)
            .and_then(|factor| self.first.checked_mul(factor));
        let longest = doubled.map_or(self.cap, |pause| pause.min(self.cap));
        self.failures = self.failures.saturating_add(1);
        self.until =
            now.checked_add(longest.mul_f64(0.5 + f64::from(chance) / f64::from(u32::MAX) / 2.0));
    }

    /// An attempt succeeded: the next failure starts from the first pause again.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.until = None;
    }
}
