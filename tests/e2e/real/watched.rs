//! The library's host, watched by its events.

use std::collections::BTreeMap;
use std::path::Path;

use locum::status::{TickResult, TickStatus, Time};
use locum::{Config, Event, Host, Replica, Slot};
use tokio::runtime::Runtime;
use tokio::time::{Instant, timeout_at};

use crate::WITHIN;
use crate::daemon::now;
use crate::stand_in::REPLICA;

/// A running host with a runtime of its own.
pub(crate) struct Watched {
    runtime: Runtime,
    host: Host,
}

impl Watched {
    /// Starts what a configuration file asks for.
    pub(crate) fn start(config: &Path) -> Self {
        let runtime = Runtime::new().unwrap();
        let config = Config::read(config).unwrap();
        let host = runtime.block_on(Host::from_config(config).start()).unwrap();
        Self { runtime, host }
    }

    /// The one replica.
    pub(crate) fn replica(&self) -> Replica {
        self.host.replica(REPLICA).unwrap()
    }

    /// Runs what the library offers to its end.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Waits until so many ticks of every routine that began after this call have ended; all of them, by routine.
    pub(crate) fn next_ticks(&self, count: usize) -> BTreeMap<Slot, Vec<TickStatus>> {
        let called = now();
        let mut ticks = BTreeMap::<_, Vec<_>>::new();
        self.each(count, |event| match event {
            Event::TickEnded { slot, tick, .. } if tick.started > called => {
                ticks.entry(*slot).or_default().push(tick.clone());
                Some(*slot)
            }
            _ => None,
        });
        ticks
    }

    /// Waits until every routine has ended well a tick that began after this call; when that was called.
    pub(crate) fn fresh_tick(&self) -> Time {
        let called = now();
        self.each(1, |event| match event {
            Event::TickEnded { slot, tick, .. }
                if tick.started > called && tick.result != TickResult::Failed =>
            {
                Some(*slot)
            }
            _ => None,
        });
        called
    }

    /// Waits for so many events from now on of every routine that `wanted` picks.
    pub(crate) fn each(&self, count: usize, mut wanted: impl FnMut(&Event) -> Option<Slot>) {
        let deadline = Instant::now() + WITHIN;
        let mut seen = BTreeMap::new();
        let mut events = self.host.events();
        while Slot::ALL
            .iter()
            .any(|slot| seen.get(slot).is_none_or(|seen| *seen < count))
        {
            let next = self
                .runtime
                .block_on(async { timeout_at(deadline, events.recv()).await });
            let event = next.unwrap_or_else(|_| panic!("{seen:?}: {:#?}", self.host.status()));
            if let Some(slot) = wanted(&event.unwrap()) {
                *seen.entry(slot).or_insert(0) += 1;
            }
        }
    }

    /// Gives the directory free.
    pub(crate) fn shut_down(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}
