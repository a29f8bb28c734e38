//! Holds each tick against the file that was live when it began. Pure: events in, faults out.

use std::collections::BTreeMap;
use std::time::Duration;

use locum::status::{TickResult, TickStatus};
use locum::{Event, Slot, Transition};

/// What is known of one slot's ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticks {
    /// How many ended.
    pub count: u64,
    /// Times that passed while a tick ran on beyond its period: those are missed by the tick's own length.
    pub overrun: u64,
    last: u64,
    sha256: String,
}

/// A file that is on its way into the swapped slot.
#[derive(Debug)]
struct Next {
    sha256: String,
    /// Its exchange was told.
    live: bool,
    /// Ticks of the one before it that ended after that: one may have been under way.
    late: u32,
}

/// The ticks of one replica, one of whose slots is swapped, one file after the other.
#[derive(Debug)]
pub struct Ledger {
    swapped: Slot,
    period: Duration,
    /// The file of the swapped slot that ran last.
    current: String,
    next: Option<Next>,
    ticks: BTreeMap<Slot, Ticks>,
    told: String,
    faults: Vec<String>,
}

impl Ledger {
    /// Of a replica that ticks each `period`, whose slot `swapped` holds the file with the hash `sha256`.
    #[must_use]
    pub fn new(swapped: Slot, sha256: &str, period: Duration) -> Self {
        Self {
            swapped,
            period,
            current: sha256.to_owned(),
            next: None,
            ticks: BTreeMap::new(),
            told: "nothing".to_owned(),
            faults: Vec::new(),
        }
    }

    /// Another file is put into the swapped slot's place; the one before it has run.
    pub fn installed(&mut self, sha256: &str) {
        assert!(self.has_run(), "one swap at a time");
        self.next = Some(Next {
            sha256: sha256.to_owned(),
            live: false,
            late: 0,
        });
    }

    /// Whether a tick of the file that was installed last has ended.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.next.is_none()
    }

    /// The ticks of each slot that has had any.
    #[must_use]
    pub fn ticks(&self) -> &BTreeMap<Slot, Ticks> {
        &self.ticks
    }

    /// What must not have happened, in order, for people; empty if all is well.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// What was last told of a slot's policies, for people.
    #[must_use]
    pub fn told(&self) -> &str {
        &self.told
    }

    /// Takes down something that must not have happened and that no event tells.
    pub fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Takes down an event of the replica.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::TickEnded { slot, tick, .. } => self.ended(*slot, tick),
            Event::Swap {
                slot, transition, ..
            } => self.went(*slot, transition),
            Event::NotRun { slot, state, .. } => self.fault(format!("{slot} did not run: {state}")),
            _ => {}
        }
    }

    fn went(&mut self, slot: Slot, transition: &Transition) {
        self.told = format!("{slot}: {transition:?}");
        match transition {
            Transition::Live { policy } if slot == self.swapped => self.live(&policy.sha256),
            // The first load of a slot may be told late.
            Transition::Live { .. } if !self.ticks.contains_key(&slot) => {}
            Transition::Live { .. }
            | Transition::Refused { .. }
            | Transition::Held { .. }
            | Transition::RolledBack { .. } => self.fault(self.told.clone()),
            _ => {}
        }
    }

    /// The exchange of the file that was installed last may be told after its first tick.
    fn live(&mut self, sha256: &str) {
        match &mut self.next {
            Some(next) if next.sha256 == sha256 => next.live = true,
            None if self.current == sha256 => {}
            _ => self.fault(format!("{sha256:.8} is live, and nobody asked for it")),
        }
    }

    fn ended(&mut self, slot: Slot, tick: &TickStatus) {
        let TickStatus { number, sha256, .. } = tick;
        if !matches!(tick.result, TickResult::Updated | TickResult::Unchanged) {
            let error = tick.error.as_deref().unwrap_or_default();
            self.fault(format!("{slot}, tick {number}: {} {error}", tick.result));
        }
        let before = self.count(slot, tick);
        if slot == self.swapped {
            self.hold_against_files(*number, sha256);
        } else if before.is_some_and(|before| before != *sha256) {
            self.fault(format!(
                "{slot}, tick {number}: ran {sha256:.8}, another than before"
            ));
        }
    }

    /// Counts a tick; the hash that the slot's tick before it ran.
    fn count(&mut self, slot: Slot, tick: &TickStatus) -> Option<String> {
        let lasted = Duration::from_secs_f64(tick.duration_ms.max(0.0) / 1000.0);
        let periods = lasted.as_nanos() / self.period.as_nanos();
        let overrun = u64::try_from(periods).unwrap_or(u64::MAX);
        let (number, sha256) = (tick.number, tick.sha256.clone());
        let Some(ticks) = self.ticks.get_mut(&slot) else {
            let first = Ticks {
                count: 1,
                overrun,
                last: number,
                sha256,
            };
            self.ticks.insert(slot, first);
            return None;
        };
        ticks.count += 1;
        ticks.overrun += overrun;
        let last = std::mem::replace(&mut ticks.last, number);
        let before = std::mem::replace(&mut ticks.sha256, sha256);
        if number != last + 1 {
            self.fault(format!("{slot}: tick {number} came after tick {last}"));
        }
        Some(before)
    }

    fn hold_against_files(&mut self, number: u64, sha256: &str) {
        let old = self.current == sha256;
        let fault = match &mut self.next {
            Some(next) if next.sha256 == sha256 => {
                self.current.clone_from(&next.sha256);
                self.next = None;
                None
            }
            Some(next) if old => {
                next.late += u32::from(next.live);
                (next.late > 1).then_some("ran the old one, although it began after the exchange")
            }
            None if old => None,
            _ => Some("is no file that may run now"),
        };
        if let Some(fault) = fault {
            let slot = self.swapped;
            self.fault(format!("{slot}, tick {number}: {sha256:.8} {fault}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use locum::status::{PolicyStatus, Time};

    use super::*;

    const PERIOD: Duration = Duration::from_millis(100);

    fn tick(slot: Slot, number: u64, sha256: &str, result: TickResult) -> Event {
        let tick = TickStatus {
            number,
            started: Time(0),
            duration_ms: 250.0,
            result,
            error: None,
            error_kind: None,
            id: String::new(),
            sha256: sha256.to_owned(),
        };
        Event::TickEnded {
            replica: "r".to_owned(),
            slot,
            tick,
        }
    }

    fn ran(number: u64, sha256: &str) -> Event {
        tick(Slot::Topic, number, sha256, TickResult::Unchanged)
    }

    fn went(slot: Slot, transition: Transition) -> Event {
        Event::Swap {
            replica: "r".to_owned(),
            slot,
            transition,
        }
    }

    fn live(sha256: &str) -> Event {
        let policy = PolicyStatus {
            name: "topic".to_owned(),
            version: "0.1.0".to_owned(),
            id: String::new(),
            sha256: sha256.to_owned(),
            file: "topic.wasm".to_owned(),
            since: Time(0),
        };
        went(Slot::Topic, Transition::Live { policy })
    }

    /// What is found wrong with events after `new` was installed over `old`.
    fn faults(events: &[Event]) -> Vec<String> {
        let mut ledger = Ledger::new(Slot::Topic, "old", PERIOD);
        ledger.take(&ran(1, "old"));
        ledger.installed("new");
        events.iter().for_each(|event| ledger.take(event));
        ledger.faults().to_vec()
    }

    #[test]
    fn a_tick_that_was_under_way_ends_on_the_old_one() {
        let mut ledger = Ledger::new(Slot::Topic, "old", PERIOD);
        ledger.installed("new");
        for event in [ran(1, "old"), live("new"), ran(2, "old")] {
            ledger.take(&event);
            assert!(!ledger.has_run());
        }
        ledger.take(&ran(3, "new"));
        assert!(ledger.has_run());
        assert_eq!(ledger.faults(), [""; 0]);
        let ticks = &ledger.ticks()[&Slot::Topic];
        assert_eq!((ticks.count, ticks.overrun), (3, 6));
    }

    #[test]
    fn a_tick_may_end_before_its_exchange_is_told() {
        assert_eq!(
            faults(&[ran(2, "new"), live("new"), ran(3, "new")]),
            [""; 0]
        );
    }

    #[test]
    fn nothing_old_runs_after_something_newer() {
        let events = [live("new"), ran(2, "new"), ran(3, "old")];
        assert_eq!(
            faults(&events),
            ["topic, tick 3: old is no file that may run now"]
        );
        let events = [live("new"), ran(2, "old"), ran(3, "old")];
        assert_eq!(
            faults(&events),
            ["topic, tick 3: old ran the old one, although it began after the exchange"]
        );
    }

    #[test]
    fn no_tick_is_left_out_fails_or_runs_something_else() {
        let other = |number, sha256| tick(Slot::Delay, number, sha256, TickResult::Updated);
        for (events, fault) in [
            (vec![ran(3, "old")], "topic: tick 3 came after tick 1"),
            (
                vec![tick(Slot::Topic, 2, "old", TickResult::Failed)],
                "topic, tick 2: failed ",
            ),
            (
                vec![ran(2, "odd")],
                "topic, tick 2: odd is no file that may run now",
            ),
            (
                vec![other(7, "own"), other(8, "odd")],
                "delay, tick 8: ran odd, another than before",
            ),
            (vec![live("odd")], "odd is live, and nobody asked for it"),
        ] {
            assert_eq!(faults(&events), [fault]);
        }
        let held = Transition::Held {
            sha256: "new".to_owned(),
            reason: "it differs".to_owned(),
        };
        assert_eq!(faults(&[went(Slot::Topic, held)]).len(), 1);
    }
}
