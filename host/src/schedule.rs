//! When a routine is due. Pure: `now` is a parameter, and nothing here sleeps.
//!
//! The reference schedules `syncAll` at a fixed rate, first after a delay (`BrokerController.handleSlaveSynchronize`). So does
//! this, for each routine alone: due at `start + first_delay + n * period`. What was missed while a tick ran, or while the
//! machine slept, is counted and skipped, never piled up; and a routine never runs twice at once.

use std::time::{Duration, Instant};

/// One routine's schedule, from its start on.
#[derive(Debug, Clone)]
pub struct Schedule {
    next: Instant,
    period: Duration,
    running: bool,
    missed: u64,
}

impl Schedule {
    /// Starts at `now`: first due after `first_delay`, then each `period`.
    pub fn start(now: Instant, first_delay: Duration, period: Duration) -> Self {
        Self {
            next: now + first_delay.min(FURTHEST),
            period: period.max(Duration::from_millis(1)),
            running: false,
            missed: 0,
        }
    }

    /// When to ask again; none while a tick runs, since its end is the next event.
    pub fn wake_at(&self) -> Option<Instant> {
        (!self.running).then_some(self.next)
    }

    /// Whether a tick is to begin now. If so it counts as running until [`Schedule::ended`].
    pub fn begin_if_due(&mut self, now: Instant) -> bool {
        if self.running || now < self.next {
            return false;
        }
        self.missed += self.pass(now) - 1;
        self.running = true;
        true
    }

    /// Begins a tick that somebody asked for, beside the fixed rate. False while one runs.
    pub fn begin_asked(&mut self) -> bool {
        !std::mem::replace(&mut self.running, true)
    }

    /// The running tick has ended: the times that it overran are missed.
    pub fn ended(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.running, false) {
            return;
        }
        if now >= self.next {
            // The last of them is due now and not yet missed.
            let passed = self.passed(now);
            self.missed += passed - 1;
            self.advance(passed - 1);
        }
    }

    /// Ticks that were due and never began.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Sets another period, counted from the last time that was due.
    pub fn set_period(&mut self, period: Duration) {
        let period = period.max(Duration::from_millis(1));
        if period != self.period {
            self.next = self.next - self.period.min(period) + period;
            self.period = period;
        }
    }

    /// Moves past every time that is due at `now`; how many there were (at least one).
    fn pass(&mut self, now: Instant) -> u64 {
        let passed = self.passed(now);
        self.advance(passed);
        passed
    }

    fn passed(&self, now: Instant) -> u64 {
        let late = now.saturating_duration_since(self.next);
        u64::try_from(late.as_nanos() / self.period.as_nanos()).unwrap_or(u64::MAX - 1) + 1
    }

    fn advance(&mut self, times: u64) {
        let nanos = self.period.as_nanos().saturating_mul(u128::from(times));
        self.next += Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    }
}

/// How far a replica's phase is shifted, so that many replicas of one process do not start together: none up to
/// [`PHASED_FROM`] replicas, then a share of `period` that follows from the name alone.
pub fn phase(name: &str, replicas: usize, period: Duration) -> Duration {
    if replicas <= PHASED_FROM {
        return Duration::ZERO;
    }
    // FNV-1a, stable over restarts and builds, which the standard hashers are not; then mixed, since names of one fleet
    // differ in their last digits only.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let hash = hash ^ (hash >> 32);
    period.mul_f64((hash >> 11) as f64 / (1_u64 << 53) as f64)
}

/// No first tick is further away: a clock must not overflow.
const FURTHEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// With more replicas than this in one process their phases are spread.
pub const PHASED_FROM: usize = 16;

/// The period that nobody named: it stretches to ten times the master's last answer time, so that the copy never takes more
/// than a tenth of the master's time.
pub fn stretched(every: Duration, answer_time: Option<Duration>) -> Duration {
    answer_time.map_or(every, |answer| every.max(answer * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Runs a schedule of 3 s and 10 s second by second; each tick takes as long as `takes` says. The seconds of the starts.
    fn starts(until: u64, takes: impl Fn(usize) -> u64) -> (Vec<u64>, u64) {
        let start = Instant::now();
        let mut schedule = Schedule::start(start, s(3), s(10));
        let mut begun = Vec::new();
        let mut ends_at = None;
        for second in 0..=until {
            let now = start + s(second);
            if ends_at == Some(second) {
                schedule.ended(now);
                ends_at = None;
            }
            if schedule.begin_if_due(now) {
                ends_at = Some(second + takes(begun.len()));
                begun.push(second);
                if ends_at == Some(second) {
                    schedule.ended(now);
                    ends_at = None;
                }
            }
        }
        (begun, schedule.missed())
    }

    #[test]
    fn first_after_three_seconds_then_each_ten_at_a_fixed_rate() {
        assert_eq!(starts(45, |_| 0), (vec![3, 13, 23, 33, 43], 0));
        assert_eq!(
            starts(45, |_| 4),
            (vec![3, 13, 23, 33, 43], 0),
            "a tick's length does not shift the next"
        );
    }

    #[test]
    fn an_overrun_tick_is_skipped_and_never_piled_up() {
        // The first tick runs from 3 to 28: 13 is missed; 23 is late and runs at 28; then the rate goes on.
        assert_eq!(
            starts(45, |tick| if tick == 0 { 25 } else { 0 }),
            (vec![3, 28, 33, 43], 1)
        );
    }

    #[test]
    fn a_long_sleep_leads_to_one_tick_not_to_a_burst() {
        let start = Instant::now();
        let mut schedule = Schedule::start(start, s(3), s(10));
        let now = start + s(603);
        assert!(schedule.begin_if_due(now));
        schedule.ended(now);
        assert!(!schedule.begin_if_due(now));
        assert_eq!(schedule.missed(), 60);
        assert_eq!(schedule.wake_at(), Some(start + s(613)));
    }

    #[test]
    fn a_routine_never_runs_twice_at_once() {
        let start = Instant::now();
        let mut schedule = Schedule::start(start, s(0), s(10));
        assert!(schedule.begin_if_due(start));
        assert!(!schedule.begin_asked());
        assert_eq!(schedule.wake_at(), None);
        schedule.ended(start);
        assert!(schedule.begin_asked());
        assert!(!schedule.begin_if_due(start + s(20)));
    }

    #[test]
    fn an_end_without_a_begin_counts_nothing() {
        let start = Instant::now();
        let mut schedule = Schedule::start(start, s(3), s(10));
        schedule.ended(start + s(3600));
        assert_eq!(
            (schedule.missed(), schedule.wake_at()),
            (0, Some(start + s(3)))
        );
    }

    #[test]
    fn another_period_counts_from_the_last_due_time() {
        let start = Instant::now();
        let mut schedule = Schedule::start(start, s(0), s(10));
        assert!(schedule.begin_if_due(start));
        schedule.ended(start);
        schedule.set_period(s(25));
        assert_eq!(schedule.wake_at(), Some(start + s(25)));
        schedule.set_period(s(10));
        assert_eq!(
            schedule.wake_at(),
            Some(start + s(25)),
            "it does not run at once because a master became quick again"
        );
    }

    #[test]
    fn phases_spread_beyond_sixteen_replicas() {
        assert_eq!(phase("a", 16, s(10)), Duration::ZERO);
        let phases: Vec<_> = (0..1000)
            .map(|n| phase(&format!("broker-{n}"), 1000, s(10)))
            .collect();
        assert!(phases.iter().all(|phase| *phase < s(10)));
        for second in 0..10 {
            let within = phases
                .iter()
                .filter(|phase| phase.as_secs() == second)
                .count();
            assert!(
                (50..200).contains(&within),
                "{within} of 1000 in second {second}"
            );
        }
        assert_eq!(phase("a", 17, s(10)), phase("a", 17, s(10)));
    }

    #[test]
    fn only_a_slow_master_stretches_a_period() {
        assert_eq!(stretched(s(10), None), s(10));
        assert_eq!(stretched(s(10), Some(s(1))), s(10));
        assert_eq!(stretched(s(10), Some(s(3))), s(30));
    }
}
