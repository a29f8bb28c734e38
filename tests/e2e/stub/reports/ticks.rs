//! A tick that goes wrong, and all the others.

use std::time::Duration;

use locum::status::{RoutineState, TickResult};
use locum::{Event, Period, ReplicaConfig, RoutineConfig, Slot};
use stub_master::{Dialect, Stub};
use tokio::runtime::Handle;

use crate::support::{Pass, Reply, Script, Stage, Watched, fails, routine, says, tick_of};

/// Due after a second and then each five.
fn each_five_seconds(stage: &Stage) -> ReplicaConfig {
    ReplicaConfig {
        master: Some("master:10911".to_owned()),
        first_delay: Duration::from_secs(1),
        period: Period::named(Duration::from_secs(5)),
        ..ReplicaConfig::new(stage.directory())
    }
}

/// bytecodealliance/wasmtime#11086: after a trap every later call into the same instance fails.
#[tokio::test]
async fn report_16_the_tick_after_a_trap_has_a_fresh_instance() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let host = stage
        .quiet_host(stage.misbehaving(&stub, "trap-at-tick", "1"))
        .await;
    let first = Pass::of(&host).await;
    assert_eq!(first.result(Slot::Topic), Some(TickResult::Failed));
    for slot in [Slot::Offset, Slot::Delay, Slot::Subgroup] {
        assert_eq!(first.result(slot), Some(TickResult::Updated), "{slot}");
    }
    let second = Pass::of(&host).await;
    assert_eq!(second.result(Slot::Topic), Some(TickResult::Updated));
    assert_eq!(routine(&host, Slot::Topic).failures, 1);
}

/// apache/rocketmq#3860: a fixed-rate task stops for ever, silently, after one exception.
#[tokio::test(start_paused = true)]
async fn report_26_a_panic_of_the_host_fails_one_tick_and_ends_no_schedule() {
    let stage = Stage::new();
    let third_panics = |slot, number| match (slot, number) {
        (Slot::Topic, 3) => Reply::panics(),
        _ => says(),
    };
    let master = Script::new(third_panics);
    let builder = stage
        .host(each_five_seconds(&stage))
        .masters(master.masters());
    let mut watched = Watched::start(builder.ticks_on(Handle::current())).await;
    master.until(13.0).await;
    let routine = watched.routine(Slot::Topic);
    assert_eq!(
        (routine.failures, routine.state),
        (1, RoutineState::Failing)
    );
    let error = routine.last_tick.unwrap().error.unwrap();
    assert!(
        error.contains("the host panicked in this tick: a fault of the host"),
        "{error}"
    );

    master.until(33.0).await;
    for slot in Slot::ALL {
        assert_eq!(master.times(slot), [1, 6, 11, 16, 21, 26, 31], "{slot}");
    }
    assert_eq!(watched.routine(Slot::Topic).failures, 1);
    let events = watched.drain();
    let failed = |event: &&Event| {
        Slot::ALL
            .iter()
            .any(|slot| tick_of(event, *slot).is_some_and(|tick| tick.result == TickResult::Failed))
    };
    assert_eq!(events.iter().filter(failed).count(), 1);
}

/// The same for the way to the master: making the connection panics.
#[tokio::test(start_paused = true)]
async fn report_26_a_panic_while_connecting_fails_that_tick_too() {
    let stage = Stage::new();
    let master = Script::new(|_, _| says());
    let builder = stage
        .host(each_five_seconds(&stage))
        .masters(master.connecting_panics(2));
    let watched = Watched::start(builder.ticks_on(Handle::current())).await;
    master.until(13.0).await;
    let all = Slot::ALL.map(|slot| watched.routine(slot));
    let failures: u64 = all.iter().map(|routine| routine.failures).sum();
    assert_eq!(failures, 2, "the two that would have connected");
    for routine in all {
        assert_eq!(
            (routine.ticks, routine.state),
            (3, RoutineState::Active),
            "{}",
            routine.name
        );
    }
}

/// apache/rocketmq#3138: one slow task starves the others on a scheduler of one thread.
#[tokio::test(start_paused = true)]
async fn report_27_a_slow_answer_to_one_leaves_the_rate_of_the_others() {
    let stage = Stage::new();
    let master = Script::new(|slot, _| says().after(if slot == Slot::Topic { 20 } else { 0 }));
    let builder = stage
        .host(each_five_seconds(&stage))
        .masters(master.masters());
    let _watched = Watched::start(builder.ticks_on(Handle::current())).await;
    master.until(40.0).await;
    assert_eq!(master.times(Slot::Offset), [1, 6, 11, 16, 21, 26, 31, 36]);
    assert_eq!(master.times(Slot::Topic), [1, 21]);
    assert_eq!(master.overlaps(), 0);
}

/// strimzi/strimzi-kafka-operator#5533: a replicator that survived a source outage stays stopped until it is restarted.
#[tokio::test(start_paused = true)]
async fn report_27_after_an_outage_of_any_length_all_resume_without_a_burst() {
    let stage = Stage::new();
    let down_for_ten_minutes = |_, number| {
        if (2..=121).contains(&number) {
            fails()
        } else {
            says()
        }
    };
    let master = Script::new(down_for_ten_minutes);
    let builder = stage
        .host(each_five_seconds(&stage))
        .masters(master.masters());
    let watched = Watched::start(builder.ticks_on(Handle::current())).await;
    master.until(3.0).await;
    let before = stage.prints();
    master.until(604.0).await;
    assert_eq!(stage.prints(), before, "nothing on disk changed meanwhile");
    for slot in Slot::ALL {
        assert_eq!(watched.routine(slot).state, RoutineState::Failing, "{slot}");
    }
    master.until(609.0).await;
    for slot in Slot::ALL {
        let routine = watched.routine(slot);
        assert_eq!(routine.state, RoutineState::Active, "{slot}");
        assert_eq!(
            (routine.ticks, routine.failures, routine.missed),
            (122, 120, 0),
            "{slot}"
        );
        assert_eq!(master.times(slot).last(), Some(&606), "{slot}");
    }
}

/// The same over sockets: the master's port refuses for several periods and then answers again.
#[tokio::test]
async fn report_27_a_master_that_was_stopped_and_started_is_copied_again() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let replica = ReplicaConfig {
        period: Period::named(Duration::from_millis(50)),
        ..stage.replica(&stub)
    };
    let mut watched = Watched::start(stage.host(replica)).await;
    watched.ticks(&Slot::ALL, TickResult::Unchanged).await;
    stub.pause().await.unwrap();
    watched.tick(Slot::Topic, TickResult::Failed).await;
    let before = stage.prints();
    for slot in Slot::ALL {
        for _ in 0..3 {
            let failed = watched.tick(slot, TickResult::Failed).await.error.unwrap();
            assert!(failed.contains(&stub.address()), "{failed}");
        }
    }
    assert_eq!(stage.prints(), before, "nothing on disk changed meanwhile");
    stub.tables().set_topic("made-meanwhile");
    stub.tables().commit_offset("made-meanwhile", "G", 0, 1);
    stub.resume().await.unwrap();
    watched
        .ticks(&[Slot::Topic, Slot::Offset], TickResult::Updated)
        .await;
    watched.ticks(&Slot::ALL, TickResult::Unchanged).await;
    assert!(stage.topics().contains(&"made-meanwhile".to_owned()));
}

/// KAFKA-9218: "already tried" was remembered instead of the real state.
#[tokio::test]
async fn report_47_what_could_not_be_written_is_written_by_the_next_tick() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let host = stage.quiet_host(stage.replica(&stub)).await;
    // A folder where the file has to go: nobody, not even root, can rename a file over it.
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let obstacle = stage.file("topics.json.bak");
    std::fs::create_dir(&obstacle).unwrap();
    stub.tables().set_topic("T");
    let failed = Pass::of(&host).await;
    assert_eq!(failed.result(Slot::Topic), Some(TickResult::Failed));
    assert!(
        failed.error(Slot::Topic).contains("topics.json.bak"),
        "{}",
        failed.error(Slot::Topic)
    );
    assert!(!stage.topics().contains(&"T".to_owned()));
    for slot in [Slot::Offset, Slot::Delay, Slot::Subgroup] {
        assert_eq!(failed.result(slot), Some(TickResult::Unchanged), "{slot}");
    }

    std::fs::remove_dir(&obstacle).unwrap();
    let healed = Pass::of(&host).await;
    assert_eq!(
        healed.result(Slot::Topic),
        Some(TickResult::Updated),
        "the master did not change"
    );
    assert!(stage.topics().contains(&"T".to_owned()));
}

/// bytecodealliance/wasmtime#10122: the guest's panic text never reaches the log; here it is long, too.
#[tokio::test]
async fn report_64_the_last_error_has_the_guests_own_words_bounded() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let host = stage
        .quiet_host(stage.misbehaving(&stub, "panic-long", "209716"))
        .await;
    let error = Pass::of(&host).await.error(Slot::Topic);
    assert!(
        error.contains("panicked at ") && error.contains("long long long"),
        "{error}"
    );
    assert!(error.len() < 10_000, "{} bytes", error.len());
}

/// The host's `RoutineConfig` is what tells a policy its settings, so one that the policy does not have is refused.
#[tokio::test]
async fn a_setting_that_the_policy_does_not_have_leaves_the_slot_without_a_policy() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let odd = RoutineConfig {
        settings: [("keeep".to_owned(), "*".to_owned())].into(),
        ..RoutineConfig::default()
    };
    let replica = ReplicaConfig {
        routines: [(Slot::Topic, odd)].into(),
        ..stage.replica(&stub)
    };
    let host = stage.quiet_host(replica).await;
    let pass = Pass::of(&host).await;
    assert_eq!(
        pass.report(Slot::Topic).not_run,
        Some(RoutineState::NoPolicy)
    );
    assert_eq!(pass.result(Slot::Offset), Some(TickResult::Updated));
    let refusal = routine(&host, Slot::Topic).last_refusal.unwrap().reason;
    assert!(refusal.contains("keeep"), "{refusal}");
}
