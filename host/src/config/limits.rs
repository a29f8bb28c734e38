//! What a policy may use in a tick, and how far its trial may differ: every bound with its default.

use std::time::Duration;

pub(super) const KIB: usize = 1024;
pub(super) const MIB: usize = 1024 * KIB;

/// What one tick of a policy may use. Each is a bound for itself; the defaults leave room for a policy that reads a
/// table of 100,000 entries into its own memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all linear memories and tables of the guest together (`memory`).
    pub memory: usize,
    /// Time that the guest computes, host calls counted, waiting for the master not (`guest-time`). Rounded up to epochs of 10 ms.
    pub guest_time: Duration,
    /// Time for the whole tick, waiting for the master included (`tick-time`).
    pub tick_time: Duration,
    /// Time for one fetch, where it is to be shorter than the replica's `request-timeout` (`fetch-time`).
    pub fetch_time: Option<Duration>,
    /// Bytes that one call from the guest may bring, and that one page to the guest may hold (`host-call-bytes`).
    pub host_call_bytes: usize,
    /// Handles to tables and drafts that a guest may hold at once (`handles`).
    pub handles: usize,
    /// Lines that are logged in a tick (`log-lines`); further ones are dropped, with one line that says so.
    pub log_lines: usize,
    /// Bytes that are logged in a tick (`log-bytes`); further lines are dropped, with one line that says so.
    pub log_bytes: usize,
    /// Values that a policy may remember between ticks (`memory-entries`).
    pub memory_entries: usize,
    /// Bytes of names and values that a policy may remember between ticks (`memory-bytes`).
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 * MIB,
            guest_time: Duration::from_secs(2),
            tick_time: Duration::from_mins(2),
            fetch_time: None,
            host_call_bytes: 64 * MIB,
            handles: 10_000,
            log_lines: 1_000,
            log_bytes: 256 * KIB,
            memory_entries: 1_000,
            memory_bytes: MIB,
        }
    }
}

impl Limits {
    /// The defaults for a replica that waits so long for one answer: where nobody names a `tick-time`, a tick may always wait
    /// for its one or two answers.
    pub(super) fn for_timeout(request_timeout: Duration) -> Self {
        let limits = Self::default();
        Self {
            tick_time: limits.tick_time.max(request_timeout.saturating_mul(3)),
            ..limits
        }
    }
}

/// How far a candidate's drafts may differ from the live policy's before an operator has to say yes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialConfig {
    /// Entries that may be missing from a table, as a share of the live policy's (`max-removed`; 0.1 is 10 %).
    pub max_removed: f64,
    /// So many may be missing whatever their share (`min-removed`).
    pub min_removed: usize,
    /// Entries that may have another value, as a share of the live policy's (`max-changed`).
    pub max_changed: f64,
}

impl Default for TrialConfig {
    fn default() -> Self {
        Self {
            max_removed: 0.1,
            min_removed: 20,
            max_changed: 1.0,
        }
    }
}
