//! Many swaps in a row while all slots tick; `make swaps` does a thousand.

use std::time::Duration;

use bench::swaps::{Plan, run};
use locum::Slot;

#[tokio::test(flavor = "multi_thread")]
async fn in_25_swaps_no_tick_is_missed_and_each_runs_the_file_that_is_live() {
    let plan = Plan {
        // Longer than what a busy machine keeps a task waiting.
        period: Duration::from_millis(200),
        ..Plan::of(25)
    };
    let outcome = run(&plan).await.unwrap();
    assert_eq!(outcome.faults, [""; 0]);
    assert_eq!(outcome.swaps, 25);
    for slot in Slot::ALL {
        let ticks = &outcome.ticks[&slot];
        assert!(
            outcome.missed[&slot] <= ticks.overrun + outcome.stalls,
            "{slot} missed {} ticks, and of those {} by ticks that took long; the machine stalled {} times",
            outcome.missed[&slot],
            ticks.overrun,
            outcome.stalls
        );
    }
}
