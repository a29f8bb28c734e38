//! How well the machine keeps time for a thread that asks for next to nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the thread sleeps each time.
const NAP: Duration = Duration::from_millis(10);
/// A nap that took so long was a stall: what asks for more than a nap cannot have been on time either.
const STALL: Duration = Duration::from_millis(40);

/// Counts, until it is dropped, how often the machine let a sleeping thread wait. A tick that was missed on a machine that stalls is
/// the machine's doing, and says nothing about a host.
pub struct Stalls {
    count: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stalls {
    /// Watches from now on.
    ///
    /// # Panics
    /// If there is no thread to be had.
    #[must_use]
    pub fn watch() -> Self {
        let (count, over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (counted, ended) = (Arc::clone(&count), Arc::clone(&over));
        let nap = move || {
            while !ended.load(Ordering::Relaxed) {
                let begun = Instant::now();
                thread::sleep(NAP);
                if begun.elapsed() > STALL {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        Self {
            count,
            over,
            thread: Some(thread::spawn(nap)),
        }
    }

    /// How often so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does nothing that could panic.
            let _ = thread.join();
        }
    }
}
