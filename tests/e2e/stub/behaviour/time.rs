//! What is about time, on a paused clock: nothing here waits, and every figure is exact.

use std::time::Duration;

use locum::status::RoutineState;
use locum::{Event, Period, ReplicaConfig, Role, RoutineConfig, Slot};
use tokio::runtime::Handle;

use crate::support::{Script, Stage, Watched, fails, says};

const MASTER: &str = "master:10911";

/// The reference's schedule, with a period that does not stretch, and no master yet.
fn reference(stage: &Stage) -> ReplicaConfig {
    ReplicaConfig {
        period: Period::named(Duration::from_secs(10)),
        ..ReplicaConfig::new(stage.directory())
    }
}

/// A slave of the master from now on.
async fn slave(stage: &Stage, replica: ReplicaConfig, master: &Script) -> Watched {
    let replica = ReplicaConfig {
        master: Some(MASTER.to_owned()),
        ..replica
    };
    start(stage, replica, master).await
}

async fn start(stage: &Stage, replica: ReplicaConfig, master: &Script) -> Watched {
    let builder = stage.host(replica).masters(master.masters());
    Watched::start(builder.ticks_on(Handle::current())).await
}

fn expect_state(watched: &Watched, state: RoutineState) {
    for slot in Slot::ALL {
        assert_eq!(watched.routine(slot).state, state, "{slot}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slave_asks_first_after_3_s_then_each_10_s_at_a_fixed_rate() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says().after(4));
    let watched = slave(&stage, reference(&stage), &master).await;
    master.until(48.0).await;
    for slot in Slot::ALL {
        let times = master.exact_times(slot);
        assert_eq!(times, [3000, 13_000, 23_000, 33_000, 43_000]);
        let routine = watched.routine(slot);
        assert_eq!((routine.ticks, routine.failures, routine.missed), (5, 0, 0));
    }
    expect_state(&watched, RoutineState::Active);
}

#[tokio::test(start_paused = true)]
async fn any_other_role_ends_the_schedule_and_forgets_the_master() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says());
    let watched = start(&stage, reference(&stage), &master).await;
    watched.replica().set_master(Some(MASTER.to_owned()));
    master.until(8.0).await;
    expect_state(&watched, RoutineState::Active);

    watched.replica().set_role(Role::Master).await.unwrap();
    master.until(600.0).await;
    expect_state(&watched, RoutineState::Stopped);
    assert_eq!(watched.replica().status().master, None);
    for slot in Slot::ALL {
        assert_eq!(master.times(slot), [3]);
    }
}

#[tokio::test(start_paused = true)]
async fn taking_the_role_slave_forgets_the_master_and_schedules_anew() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says());
    let watched = start(&stage, reference(&stage), &master).await;
    watched.replica().set_master(Some("first:10911".to_owned()));
    master.until(8.0).await;

    watched.replica().set_role(Role::Slave).await.unwrap();
    assert_eq!(watched.replica().status().master, None);
    master.until(12.0).await;
    expect_state(&watched, RoutineState::NoMaster);
    let second = Some("second:10911".to_owned());
    watched.replica().set_master(second);
    master.until(35.0).await;
    for slot in Slot::ALL {
        // Due at 8 + 3, when there was no master, and each 10 s from there.
        assert_eq!(master.times(slot), [3, 21, 31], "{slot}");
    }
    let (first, second) = (["first:10911"; 4], ["second:10911"; 8]);
    assert_eq!(master.addresses(), [&first[..], &second[..]].concat());
}

#[tokio::test(start_paused = true)]
async fn a_configured_master_is_taken_up_again_with_the_role() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says());
    let watched = slave(&stage, reference(&stage), &master).await;
    let other = Some("other:10911".to_owned());
    watched.replica().set_master(other);
    watched.replica().set_role(Role::Slave).await.unwrap();
    master.until(5.0).await;
    assert_eq!(master.addresses(), [MASTER; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_role_change_cancels_a_tick_that_has_not_reached_its_commit() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says().after(5));
    let mut watched = slave(&stage, reference(&stage), &master).await;
    master.until(4.0).await;
    watched.drain();
    watched.replica().set_role(Role::Master).await.unwrap();
    master.until(20.0).await;

    let cancelled = |event: &Event| matches!(event, Event::TickCancelled { .. });
    assert_eq!(
        watched.drain().iter().filter(|one| cancelled(one)).count(),
        4
    );
    assert_eq!(master.dropped(), 4, "nobody waits for the answers any more");
    assert!(stage.names().is_empty(), "{:?}", stage.names());
    assert_eq!(watched.routine(Slot::Topic).ticks, 0);
}

#[tokio::test(start_paused = true)]
async fn each_routine_keeps_its_own_failure_to_itself() {
    for failing in Slot::ALL {
        let stage = Stage::new();
        let ask = move |slot, _| if slot == failing { fails() } else { says() };
        let master = Script::new(ask);
        let watched = slave(&stage, reference(&stage), &master).await;
        master.until(45.0).await;
        for slot in Slot::ALL {
            let routine = watched.routine(slot);
            let failures = if slot == failing { 5 } else { 0 };
            assert_eq!((routine.ticks, routine.failures), (5, failures), "{slot}");
            assert_eq!(master.times(slot), [3, 13, 23, 33, 43], "{slot}");
        }
        assert_eq!(watched.routine(failing).state, RoutineState::Failing);
    }
}

#[tokio::test(start_paused = true)]
async fn a_routine_never_overlaps_itself() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says().after(25));
    let watched = slave(&stage, reference(&stage), &master).await;
    master.until(80.0).await;
    assert_eq!(master.overlaps(), 0);
    for slot in Slot::ALL {
        assert_eq!(master.times(slot), [3, 28, 53, 78], "{slot}");
        // 13, 33 and 63 passed while a tick ran that was late itself; 43 and 68 too.
        assert_eq!(watched.routine(slot).missed, 4, "{slot}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_overrun_tick_is_skipped_and_never_piled_up() {
    let stage = Stage::new();
    let first_is_slow = |_, number| says().after(if number == 1 { 55 } else { 0 });
    let master = Script::new(first_is_slow);
    let watched = slave(&stage, reference(&stage), &master).await;
    master.until(75.0).await;
    for slot in Slot::ALL {
        // 53 is late and runs at 58; then the rate goes on.
        assert_eq!(master.times(slot), [3, 58, 63, 73], "{slot}");
        assert_eq!(watched.routine(slot).missed, 4, "13, 23, 33 and 43: {slot}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_routine_holds_no_other_up() {
    for slow in Slot::ALL {
        let stage = Stage::new();
        let ask = move |slot, _| says().after(if slot == slow { 100 } else { 0 });
        let master = Script::new(ask);
        let _watched = slave(&stage, reference(&stage), &master).await;
        master.until(45.0).await;
        for slot in Slot::ALL.into_iter().filter(|slot| *slot != slow) {
            assert_eq!(master.times(slot), [3, 13, 23, 33, 43], "{slot}");
        }
        assert_eq!(master.times(slow), [3]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_routine_may_have_a_period_of_its_own() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says());
    let own = RoutineConfig {
        period: Some(Period::named(Duration::from_secs(1))),
        ..RoutineConfig::default()
    };
    let replica = ReplicaConfig {
        routines: [(Slot::Offset, own)].into(),
        ..reference(&stage)
    };
    let _watched = slave(&stage, replica, &master).await;
    master.until(14.5).await;
    assert_eq!(master.times(Slot::Topic), [3, 13]);
    let each_second: Vec<u128> = (3..=14).collect();
    assert_eq!(master.times(Slot::Offset), each_second);
}

#[tokio::test(start_paused = true)]
async fn only_a_period_that_nobody_named_stretches_for_a_slow_master() {
    let stage = Stage::new();
    let slow_at_first = |_, number| says().after(if number <= 2 { 3 } else { 0 });
    let master = Script::new(slow_at_first);
    let own = RoutineConfig {
        period: Some(Period::named(Duration::from_secs(10))),
        ..RoutineConfig::default()
    };
    let replica = ReplicaConfig {
        period: Period::DEFAULT,
        routines: [(Slot::Offset, own)].into(),
        ..reference(&stage)
    };
    let _watched = slave(&stage, replica, &master).await;
    master.until(115.0).await;
    // The third answer came at once: from the next due time on the period is 10 s again.
    assert_eq!(master.times(Slot::Topic), [3, 33, 63, 93, 103, 113]);
    let named: Vec<u128> = (0..12).map(|tick| 3 + 10 * tick).collect();
    assert_eq!(master.times(Slot::Offset), named);
}

#[tokio::test(start_paused = true)]
async fn a_paused_routine_is_not_due_and_the_others_are() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says());
    let watched = slave(&stage, reference(&stage), &master).await;
    master.until(5.0).await;
    watched.replica().pause(Slot::Delay).await.unwrap();
    master.until(35.0).await;
    assert_eq!(watched.routine(Slot::Delay).state, RoutineState::Paused);
    // Who asks for a pass is told, and that changes nothing.
    let reports = watched.replica().sync().await;
    let delay = reports
        .iter()
        .find(|report| report.routine == "delay")
        .unwrap();
    assert_eq!(delay.not_run, Some(RoutineState::Paused));
    watched.replica().resume(Slot::Delay).await.unwrap();
    master.until(50.0).await;
    assert_eq!(master.times(Slot::Topic), [3, 13, 23, 33, 35, 43]);
    // Due at once, and each 10 s from there.
    assert_eq!(master.times(Slot::Delay), [3, 35, 45]);
    let routine = watched.routine(Slot::Delay);
    assert_eq!(routine.missed, 0, "that was no miss");
    assert_eq!(
        routine.last_tick.unwrap().number,
        routine.ticks,
        "nor a tick"
    );
}

#[tokio::test(start_paused = true)]
async fn more_than_16_replicas_do_not_start_together() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says());
    let mut builder = stage.host(reference(&stage));
    for number in 1..20 {
        let replica = ReplicaConfig {
            master: Some(MASTER.to_owned()),
            directory: stage.path(&format!("store-{number}/config")),
            ..reference(&stage)
        };
        builder = builder.replica(format!("broker-{number}"), replica);
    }
    let builder = builder.masters(master.masters());
    let _watched = Watched::start(builder.ticks_on(Handle::current())).await;
    master.until(13.0).await;
    let mut times = master.exact_times(Slot::Topic);
    assert_eq!(times.len(), 19, "each once, from 3 s to 13 s");
    times.dedup();
    assert!(times.len() > 15, "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_cannot_be_opened_is_tried_each_10_s_and_the_others_run() {
    let stage = Stage::new();
    let kept = ReplicaConfig {
        master: Some("second:10911".to_owned()),
        directory: stage.path("kept/config"),
        ..reference(&stage)
    };
    let other = stage.host(kept.clone()).without_schedule();
    let other = other.start().await.unwrap();
    let master = Script::new(|_, _| says());
    let first = ReplicaConfig {
        master: Some(MASTER.to_owned()),
        ..reference(&stage)
    };
    let builder = stage.host(first).replica("broker-b", kept);
    let builder = builder.masters(master.masters());
    let watched = Watched::start(builder.ticks_on(Handle::current())).await;
    master.until(15.0).await;
    assert_eq!(master.addresses(), [MASTER; 8]);
    let closed = watched.host.status().replicas.remove(1);
    assert_eq!(closed.routines[0].state, RoutineState::DirectoryInUse);
    assert!(closed.notes[0].contains("not open: "), "{:?}", closed.notes);

    other.shutdown().await;
    master.until(24.0).await;
    // Opened at 20, and due 3 s later, when the first one has its third tick.
    let mut asked = master.addresses();
    asked.sort_unstable();
    assert_eq!(asked, [&[MASTER; 12][..], &["second:10911"; 4]].concat());
    assert!(watched.host.closed().is_empty());
}
