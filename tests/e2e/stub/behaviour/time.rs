//! What is about time, on a paused clock: nothing here waits, and every figure is exact.

use std::time::Duration;

use locum::status::{RoutineState, TickResult};
use locum::{Event, Period, ReplicaConfig, Role, RoutineConfig, Slot};
use tokio::runtime::Handle;

use crate::support::{Script, Stage, Watched, fails, says};

/// The reference's schedule with a period that does not stretch, on a master that is known.
fn reference(stage: &Stage) -> ReplicaConfig {
    ReplicaConfig {
        master: Some("master:10911".to_owned()),
        period: Period::named(Duration::from_secs(10)),
        ..ReplicaConfig::new(stage.directory())
    }
}

async fn start(stage: &Stage, replica: ReplicaConfig, master: &Script) -> Watched {
    let builder = stage.host(replica).masters(master.masters());
    Watched::start(builder.ticks_on(Handle::current())).await
}

#[tokio::test(start_paused = true)]
async fn a_slave_asks_first_after_3_s_then_each_10_s_at_a_fixed_rate() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says().after(4));
    let watched = start(&stage, reference(&stage), &master).await;
    master.until(48.0).await;
    for slot in Slot::ALL {
        assert_eq!(
            master.exact_times(slot),
            [3000, 13_000, 23_000, 33_000, 43_000]
        );
        let routine = watched.routine(slot);
        assert_eq!((routine.ticks, routine.failures, routine.missed), (5, 0, 0));
        assert_eq!(routine.state, RoutineState::Active);
    }
}
