//! A host with somebody who listens.

use std::collections::BTreeMap;

use locum::status::{RoutineState, RoutineStatus, TickResult, TickStatus};
use locum::{Event, Host, HostBuilder, Replica, Slot, SyncReport, Transition};
use tokio::sync::broadcast;

use super::{PATIENCE, REPLICA, soon};

/// A running host and all its events since the start.
pub(crate) struct Watched {
    pub(crate) host: Host,
    events: broadcast::Receiver<Event>,
}

impl Watched {
    pub(crate) async fn start(builder: HostBuilder) -> Self {
        let host = builder.start().await.unwrap();
        let events = host.events();
        Self { host, events }
    }

    pub(crate) fn replica(&self) -> Replica {
        self.host.replica(REPLICA).unwrap()
    }

    pub(crate) fn routine(&self, slot: Slot) -> RoutineStatus {
        routine(&self.host, slot)
    }

    /// Waits for the event that `wanted` gives something for; those before it are gone.
    pub(crate) async fn until<T>(&mut self, mut wanted: impl FnMut(&Event) -> Option<T>) -> T {
        let mut passed = Vec::new();
        let waited = tokio::time::timeout(PATIENCE, async {
            loop {
                let event = self.events.recv().await.unwrap();
                if let Some(found) = wanted(&event) {
                    return found;
                }
                passed.push(event);
            }
        })
        .await;
        waited.unwrap_or_else(|_| panic!("nothing came of it; what came was {passed:#?}"))
    }

    /// Waits for the slot's next tick that ends so.
    pub(crate) async fn tick(&mut self, slot: Slot, result: TickResult) -> TickStatus {
        self.until(|event| tick_of(event, slot).filter(|tick| tick.result == result))
            .await
    }

    /// Waits until each of the slots has had a tick that ended so, in whatever order.
    pub(crate) async fn ticks(&mut self, slots: &[Slot], result: TickResult) {
        let mut left = slots.to_vec();
        self.until(|event| {
            left.retain(|slot| tick_of(event, *slot).is_none_or(|tick| tick.result != result));
            left.is_empty().then_some(())
        })
        .await;
    }

    /// Waits until the slot is due and does not run for this reason.
    pub(crate) async fn not_run(&mut self, slot: Slot, reason: RoutineState) {
        self.until(|event| match event {
            Event::NotRun {
                slot: of, state, ..
            } => (*of == slot && *state == reason).then_some(()),
            _ => None,
        })
        .await;
    }

    /// Waits until another policy fills the slot; its hash.
    pub(crate) async fn loaded(&mut self, slot: Slot) -> String {
        self.until(|event| match event {
            Event::Swap {
                slot: of,
                transition: Transition::Live { policy },
                ..
            } if *of == slot => Some(policy.sha256.clone()),
            _ => None,
        })
        .await
    }

    /// Waits until a file is refused for the slot; why.
    pub(crate) async fn refused(&mut self, slot: Slot) -> String {
        self.until(|event| match event {
            Event::Swap {
                slot: of,
                transition: Transition::Refused { reason, .. },
                ..
            } if *of == slot => Some(reason.clone()),
            _ => None,
        })
        .await
    }

    /// Waits until a candidate of the slot has passed its checks.
    pub(crate) async fn tried(&mut self, slot: Slot) {
        self.until(|event| match event {
            Event::Swap {
                slot: of,
                transition: Transition::TrialBegan { .. },
                ..
            } => (*of == slot).then_some(()),
            _ => None,
        })
        .await;
    }

    /// Waits until a candidate of the slot is held; why.
    pub(crate) async fn held(&mut self, slot: Slot) -> String {
        self.until(|event| match event {
            Event::Swap {
                slot: of,
                transition: Transition::Held { reason, .. },
                ..
            } if *of == slot => Some(reason.clone()),
            _ => None,
        })
        .await
    }

    /// Waits until there is something to know of the slot's file; what.
    pub(crate) async fn noted(&mut self, slot: Slot) -> String {
        self.until(|event| match event {
            Event::Swap {
                slot: of,
                transition: Transition::Noted { note },
                ..
            } if *of == slot => Some(note.clone()),
            _ => None,
        })
        .await
    }

    /// What has happened and was not waited for.
    pub(crate) fn drain(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

/// The tick of a slot that an event tells of.
pub(crate) fn tick_of(event: &Event, slot: Slot) -> Option<TickStatus> {
    match event {
        Event::TickEnded { slot: of, tick, .. } if *of == slot => Some(tick.clone()),
        _ => None,
    }
}

pub(crate) fn routine(host: &Host, slot: Slot) -> RoutineStatus {
    let status = host.replica(REPLICA).unwrap().status();
    let found = status.routines.into_iter().find(|of| of.name == slot);
    found.unwrap()
}

/// One pass of all routines, by slot.
pub(crate) struct Pass(BTreeMap<Slot, SyncReport>);

impl Pass {
    pub(crate) async fn of(host: &Host) -> Self {
        let reports = soon(host.replica(REPLICA).unwrap().sync()).await;
        let slot = |report: &SyncReport| Slot::from_name(&report.routine).unwrap();
        Self(reports.into_iter().map(|one| (slot(&one), one)).collect())
    }

    pub(crate) fn report(&self, slot: Slot) -> &SyncReport {
        &self.0[&slot]
    }

    /// How the slot's tick ended; none if it did not run.
    pub(crate) fn result(&self, slot: Slot) -> Option<TickResult> {
        Some(self.0[&slot].tick.as_ref()?.result)
    }

    /// Why the slot's tick failed.
    pub(crate) fn error(&self, slot: Slot) -> String {
        let tick = self.0[&slot].tick.as_ref();
        tick.and_then(|tick| tick.error.clone())
            .unwrap_or_else(|| panic!("{slot} did not fail: {:?}", self.0[&slot]))
    }

    /// Asserts that all four ended so.
    pub(crate) fn expect_all(&self, result: TickResult) {
        for slot in Slot::ALL {
            assert_eq!(self.result(slot), Some(result), "{:?}", self.0[&slot]);
        }
    }
}
