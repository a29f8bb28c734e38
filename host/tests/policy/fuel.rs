//! What a metered engine counts.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use locum::policy::{Engine, Limits, Policy, Ran, Tick};
use locum_tables::Slot;

use crate::support::{Script, deed, run, tick, topics};

fn metered() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| {
        let engine = Engine::metered().unwrap();
        engine
            .load(components::guests().bytes("misbehave"))
            .unwrap()
    })
}

async fn run_metered(name: &str, with: &str, limits: Limits) -> Ran {
    let master = Arc::new(Script::new().serving(topics(&["a"], 1)));
    let tick = Tick {
        settings: deed(name, with),
        limits,
        ..tick(Slot::Topic, master)
    };
    metered().run(tick).await
}

async fn fuel(name: &str, with: &str) -> u64 {
    let ran = run_metered(name, with, Limits::default()).await;
    ran.spent.fuel.unwrap()
}

#[tokio::test]
async fn the_same_tick_burns_the_same_fuel() {
    let first = fuel("take-over", "").await;
    assert!(first > 0);
    assert_eq!(fuel("take-over", "").await, first);
    // Long enough that epochs end while it runs.
    let spinning = fuel("spin", "20000000").await;
    assert_eq!(fuel("spin", "20000000").await, spinning);
    assert!(spinning > first + 20_000_000, "{spinning} and {first}");
    let failing = fuel("err-other", "it failed").await;
    assert_eq!(fuel("err-other", "it failed").await, failing);
}

#[tokio::test]
async fn an_ordinary_engine_counts_no_fuel() {
    let ran = run("take-over", "", Limits::default()).await;
    ran.result.unwrap();
    assert_eq!(ran.spent.fuel, None);
}

#[tokio::test]
async fn a_metered_loop_is_stopped_by_its_time_all_the_same() {
    let limits = Limits {
        guest_time: Duration::from_millis(100),
        ..Limits::default()
    };
    let ran = run_metered("loop", "", limits).await;
    assert_eq!(
        ran.result.unwrap_err().to_string(),
        "the policy went over its limit `guest-time` of 100ms"
    );
    assert!(ran.spent.fuel.unwrap() > 0);
}
