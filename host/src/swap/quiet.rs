//! When a changing folder has come to rest.

use std::time::{Duration, Instant};

/// A quiet period with a maximum wait: the folder is read once nothing has changed for `quiet`, and at the latest `max_wait`
/// after the first change, so that a file written without end cannot put the reading off for ever.
#[derive(Debug, Clone)]
pub(crate) struct Quiet {
    quiet: Duration,
    max_wait: Duration,
    pending: Option<Pending>,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    first: Instant,
    last: Instant,
}

impl Quiet {
    /// At rest.
    pub(crate) fn new(quiet: Duration, max_wait: Duration) -> Self {
        Self {
            quiet,
            max_wait,
            pending: None,
        }
    }

    /// Something changed.
    pub(crate) fn changed(&mut self, now: Instant) {
        let first = self.pending.map_or(now, |pending| pending.first);
        self.pending = Some(Pending { first, last: now });
    }

    /// When to ask [`Quiet::take_if_due`]; none at rest.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.pending
            .map(|pending| (pending.last + self.quiet).min(pending.first + self.max_wait))
    }

    /// Whether the folder is to be read now; it is at rest afterwards.
    pub(crate) fn take_if_due(&mut self, now: Instant) -> bool {
        let due = self.wake_at().is_some_and(|at| at <= now);
        if due {
            self.pending = None;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// The times in ms at which the folder is read, for changes at the times given.
    fn reads(changes: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let mut quiet = Quiet::new(ms(200), ms(2000));
        let mut reads = Vec::new();
        for now in 0..5000 {
            if changes.contains(&now) {
                quiet.changed(start + ms(now));
            }
            if quiet.take_if_due(start + ms(now)) {
                reads.push(now);
            }
        }
        reads
    }

    #[test]
    fn one_read_after_the_quiet_period() {
        assert_eq!(reads(&[]), [0_u64; 0]);
        assert_eq!(reads(&[100]), [300]);
        assert_eq!(reads(&[100, 150, 290]), [490]);
        assert_eq!(reads(&[100, 1000]), [300, 1200]);
    }

    #[test]
    fn a_folder_that_never_falls_quiet_is_read_after_the_maximum_wait() {
        let constant: Vec<u64> = (0..4000).step_by(50).collect();
        // The change after a reading begins the next wait.
        assert_eq!(reads(&constant), [2000, 4050]);
    }
}
