//! Components that fail, or take long, or do not fit, put in the place of one that runs.

use std::io::Write;
use std::time::Duration;

use components::broken;
use locum::status::TickResult;
use locum::{Limits, Period, ReplicaConfig, RoutineConfig, Slot};
use stub_master::{Dialect, Fault, Stub, Times};
use tokio::runtime::Handle;

use crate::support::{Locum, Log, Pass, Script, Stage, Watched, alone, resident, says, tick_of};

/// Puts each in the place of the running topic policy: it is refused for the reason, and the old one goes on.
async fn refuses(cases: Vec<(Vec<u8>, &str)>) {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let replica = ReplicaConfig {
        first_delay: Duration::from_hours(1),
        ..stage.replica(&stub)
    };
    let mut watched = Watched::start(stage.host(replica)).await;
    let running = watched.routine(Slot::Topic).policy;
    for (n, (component, reason)) in cases.into_iter().enumerate() {
        stage.replace(Slot::Topic, &component);
        let told = watched.refused(Slot::Topic).await;
        assert!(told.starts_with("topic.wasm is refused: "), "{told}");
        assert!(told.contains(reason), "{reason}: {told}");
        let routine = watched.routine(Slot::Topic);
        let known = routine.last_refusal.map(|refusal| refusal.reason);
        assert_eq!(known, Some(told), "status says so");
        assert_eq!(routine.policy, running);
        stub.tables().set_topic(format!("T{n}").as_str());
        let pass = Pass::of(&watched.host).await;
        assert_eq!(
            pass.result(Slot::Topic),
            Some(TickResult::Updated),
            "the old one goes on"
        );
    }
}

/// swc-project/swc#4333, wasmCloud#4954: an enum case more, and a linker text that names neither it nor the version.
#[tokio::test]
async fn report_57_a_component_for_another_interface_is_refused_with_the_first_difference() {
    let topic = policies::all().bytes("topic");
    refuses(vec![
        (broken::changed_enum(), "expected enum of 5 names"),
        (broken::changed_function(), "fetch"),
        (broken::newer_function(), "clear"),
        (
            broken::missing_export(),
            "it does not export locum:sync/policy",
        ),
        (broken::changed_export(), "sync"),
        (broken::other_version(&topic), "locum:sync/"),
    ])
    .await;
}

/// bytecodealliance/wasmtime#10663: unknown imports turned into traps load well and die at the first call.
#[tokio::test]
async fn report_59_an_import_that_nobody_serves_is_refused_at_load() {
    let import = "it imports wasi:cli/environment@0.2.6, and a policy gets nothing but locum:sync";
    refuses(vec![(broken::extra_import(), import)]).await;
}

/// A host that ticks when it is asked, with limits for its topic policy.
async fn asked(stage: &Stage, stub: &Stub, limits: Limits) -> Watched {
    Watched::start(stage.host(due_in_an_hour(stage, stub, limits))).await
}

fn due_in_an_hour(stage: &Stage, stub: &Stub, limits: Limits) -> ReplicaConfig {
    let routine = RoutineConfig {
        limits: Some(limits),
        ..RoutineConfig::default()
    };
    ReplicaConfig {
        first_delay: Duration::from_hours(1),
        routines: [(Slot::Topic, routine)].into(),
        ..stage.replica(stub)
    }
}

/// GET_ALL_TOPIC_CONFIG.
const TOPICS: i32 = 21;

/// bytecodealliance/wasmtime#10088: the future of a call is dropped, and with it the instance is of no use any more.
#[tokio::test]
async fn report_17_ticks_that_were_given_up_leave_nothing_behind() {
    if !alone("reports::plugins::report_17_ticks_that_were_given_up_leave_nothing_behind").await {
        return;
    }
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let limits = Limits {
        tick_time: Duration::from_millis(20),
        ..Limits::default()
    };
    let watched = asked(&stage, &stub, limits).await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut before = (0, 0);
    stub.script(TOPICS, Fault::Silent, Times::Always);
    for number in 0..110 {
        let error = Pass::of(&watched.host).await.error(Slot::Topic);
        assert!(
            error.contains("over its limit `tick-time` of 20ms"),
            "{error}"
        );
        if number == 10 {
            before = (open(), resident());
        }
    }
    let after = (open(), resident());
    assert!(
        after.0 <= before.0 + 2,
        "open files: {before:?}, then {after:?}"
    );
    // 100 instances have more than 1 MiB each.
    assert!(
        after.1 < before.1 + (32 << 20),
        "bytes: {before:?}, then {after:?}"
    );
    stub.clear_script();
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Unchanged);
}

/// bytecodealliance/wasmtime#9188: a guest that is blocked in a host call is never interrupted, since it runs no code of its own.
#[tokio::test]
async fn report_19_a_master_that_takes_the_request_and_never_answers_costs_one_fetch_time() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let limits = Limits {
        guest_time: Duration::from_millis(50),
        fetch_time: Some(Duration::from_millis(200)),
        ..Limits::default()
    };
    let watched = asked(&stage, &stub, limits).await;
    stub.script(TOPICS, Fault::Silent, Times::Once);
    let pass = Pass::of(&watched.host).await;
    let error = pass.error(Slot::Topic);
    assert!(
        error.contains("within the limit `fetch-time` of 200ms"),
        "{error}"
    );
    for slot in [Slot::Offset, Slot::Delay, Slot::Subgroup] {
        assert_eq!(pass.result(slot), Some(TickResult::Updated), "{slot}");
    }
    let next = Pass::of(&watched.host).await;
    assert_eq!(next.result(Slot::Topic), Some(TickResult::Updated));
}

/// PolymerLabs/arcs#3458, oven-sh/bun#2987: the reload comes with the first event, while `cp` is still writing.
#[tokio::test]
async fn report_23_a_file_that_is_written_piece_by_piece_is_taken_when_it_is_whole() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let mut watched = asked(&stage, &stub, Limits::default()).await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
    let running = watched.routine(Slot::Topic).policy;
    let whole = components::guests().bytes("marker-v1");
    let pieces: Vec<&[u8]> = whole.chunks(whole.len().div_ceil(10)).collect();
    let (last, first) = pieces.split_last().unwrap();
    let mut file = std::fs::File::create(stage.plugin(Slot::Topic)).unwrap();
    for (piece, written) in first.iter().zip(1..) {
        file.write_all(piece).unwrap();
        // Each time as if it stopped there.
        let size = written * piece.len();
        let told = loop {
            let told = watched.refused(Slot::Topic).await;
            if told.contains(&format!("it has {size} bytes")) {
                break told;
            }
        };
        assert!(told.contains("the component is cut off"), "{told}");
        assert_eq!(watched.routine(Slot::Topic).policy, running);
        Pass::of(&watched.host)
            .await
            .expect_all(TickResult::Unchanged);
    }
    file.write_all(last).unwrap();
    watched.loaded(Slot::Topic).await;
    assert_eq!(
        watched.routine(Slot::Topic).policy.unwrap().version,
        "0.1.1"
    );
}

/// tidepool-heavy-industries/exomonad#478: compiling takes seconds and blocks, or overflows a small stack.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn report_62_while_a_large_component_compiles_all_ticks_keep_their_rate() {
    let (stage, stub) = (
        Stage::in_memory(),
        Stub::start(Dialect::V5_5).await.unwrap(),
    );
    let heavy = components::heavy(&policies::all().bytes("topic"), 5 << 20);
    let period = Duration::from_millis(500);
    let replica = ReplicaConfig {
        period: Period::named(period),
        ..stage.replica(&stub)
    };
    let mut watched = Watched::start(stage.host(replica)).await;
    watched.ticks(&Slot::ALL, TickResult::Unchanged).await;
    let before = watched.routine(Slot::Topic).ticks;
    stage.replace(Slot::Topic, &heavy);
    watched.loaded(Slot::Topic).await;
    let during = watched.routine(Slot::Topic).ticks - before;
    assert!(
        during >= 1,
        "no tick ended meanwhile, so this showed nothing"
    );
    for slot in Slot::ALL {
        let routine = watched.routine(slot);
        assert_eq!((routine.missed, routine.failures), (0, 0), "{slot}");
    }
}

/// fastly/Viceroy#700: a panic about the host's own runtime hides what the guest says.
#[tokio::test]
async fn report_63_a_guest_that_logs_asks_for_the_clock_and_traps_is_reported_with_its_own_words() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let mut watched = asked(&stage, &stub, Limits::default()).await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
    for (deed, with, words) in [
        ("clock", "", "time not implemented on this platform"),
        ("panic", "in my own words", "in my own words"),
    ] {
        stage.replace(Slot::Topic, &components::misbehaving(deed, with));
        let told = watched.refused(Slot::Topic).await;
        assert!(
            told.contains("panicked at ") && told.contains(words),
            "{told}"
        );
        assert!(!told.contains("runtime"), "{told}");
    }
}

/// bytecodealliance/wasmtime#7637: reserving address space ahead fails where it is short, in small containers or by `ulimit -v`.
#[tokio::test]
async fn report_66_a_host_with_little_address_space_ticks_and_swaps() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let config = stage.config(&stub.address(), "");
    let mut host = Locum::run_within(&config, 2_000_000).await;
    host.command(&["sync"]).expect(0).await;
    stage.replace(Slot::Topic, &components::guests().bytes("marker-v1"));
    host.until("policy live").await;
    for _ in 0..3 {
        host.command(&["sync"]).expect(0).await;
    }
    assert!(stage.topics().contains(&"marker-v1".to_owned()));
    assert_eq!(host.terminate().await.0, 0);
}

/// praxis-proxy/praxis#326: a bad version takes the place of a good one; a failure is remembered for ever.
#[tokio::test]
async fn report_69_bad_versions_one_after_another_leave_the_good_one_and_nothing_sticks() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    stub.tables().set_topic("T");
    let mut watched = asked(&stage, &stub, Limits::default()).await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
    let running = watched.routine(Slot::Topic).policy;
    // It traps at the slot's second tick, and is fine at the third.
    let at_times = components::misbehaving("trap-at-tick", "2");
    stage.replace(Slot::Topic, &at_times);
    watched.refused(Slot::Topic).await;
    stage.replace(Slot::Topic, &components::misbehaving("empty", ""));
    watched.held(Slot::Topic).await;
    assert_eq!(watched.routine(Slot::Topic).policy, running);
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Unchanged);
    stage.replace(Slot::Topic, &at_times);
    watched.loaded(Slot::Topic).await;
    for _ in 0..3 {
        Pass::of(&watched.host)
            .await
            .expect_all(TickResult::Unchanged);
    }
    assert_eq!(watched.routine(Slot::Topic).probation, None);
}

/// envoyproxy/envoy#16726: a plug-in that crashed stays dead, or is started again ever later.
#[tokio::test(start_paused = true)]
async fn report_70_a_policy_that_traps_each_tick_for_an_hour_is_tried_each_time_and_told_now_and_then()
 {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).finish();
    let _told = tracing::subscriber::set_default(subscriber);
    let stage = Stage::new();
    stage.install(Slot::Topic, &components::misbehaving("trap", ""));
    let master = Script::new(|_, _| says());
    let replica = ReplicaConfig {
        master: Some("master:10911".to_owned()),
        first_delay: Duration::from_secs(1),
        period: Period::named(Duration::from_secs(5)),
        ..ReplicaConfig::new(stage.directory())
    };
    let builder = stage.host(replica).masters(master.masters());
    let mut watched = Watched::start(builder.ticks_on(Handle::current())).await;
    master.until(3600.0).await;
    let routine = watched.routine(Slot::Topic);
    assert_eq!(
        (routine.ticks, routine.failures, routine.missed),
        (720, 720, 0)
    );
    let lines = log.lines("tick failed");
    assert!((1..20).contains(&lines), "{lines} lines");

    watched.drain();
    stage.replace(Slot::Topic, &policies::all().bytes("topic"));
    watched.loaded(Slot::Topic).await;
    watched.tick(Slot::Topic, TickResult::Updated).await;
}

/// contextforge-org/cpex#173: what one version remembered is lost, or misread by the next.
#[tokio::test]
async fn report_71_what_one_version_remembered_the_next_one_goes_on_with() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let counting = components::misbehaving("err-after-ticks", "3");
    stage.install(Slot::Topic, &counting);
    let mut watched = asked(&stage, &stub, Limits::default()).await;
    for _ in 0..2 {
        Pass::of(&watched.host).await;
    }
    stage.replace(Slot::Topic, &components::variant(&counting, 2));
    watched.loaded(Slot::Topic).await;
    let third = Pass::of(&watched.host).await;
    assert_eq!(third.result(Slot::Topic), Some(TickResult::Unchanged));
    // With the memory of the two before it; its trial was no tick.
    stage.replace(Slot::Topic, &components::variant(&counting, 3));
    let told = watched.refused(Slot::Topic).await;
    assert!(told.contains("this tick is one too many"), "{told}");

    // What it does not know it leaves alone, and begins anew.
    stage.replace(
        Slot::Topic,
        &components::misbehaving("trap-after-ticks", "1"),
    );
    watched.loaded(Slot::Topic).await;
    let pass = Pass::of(&watched.host).await;
    assert_eq!(pass.result(Slot::Topic), Some(TickResult::Unchanged));
}

/// bytecodealliance/ComponentizeJS#279: a guest's memory only grows.
#[tokio::test]
async fn report_90_what_a_guest_takes_in_a_tick_is_given_back_with_it() {
    if !alone("reports::plugins::report_90_what_a_guest_takes_in_a_tick_is_given_back_with_it")
        .await
    {
        return;
    }
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let host = stage
        .quiet_host(stage.misbehaving(&stub, "hog-some", "1"))
        .await;
    let mut before = 0;
    for number in 0..1000 {
        let pass = Pass::of(&host).await;
        assert_ne!(pass.result(Slot::Topic), Some(TickResult::Failed));
        if number == 100 {
            before = resident();
        }
    }
    // 900 MiB were taken meanwhile.
    let after = resident();
    assert!(after < before + (32 << 20), "{before} bytes became {after}");
}

/// spinframework/spin#324: a reload of several components is not one step, and a tick sees half of it.
#[tokio::test]
async fn report_91_each_tick_runs_one_policy_and_names_it_while_all_are_swapped() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let replica = ReplicaConfig {
        period: Period::named(Duration::from_millis(20)),
        ..stage.replica(&stub)
    };
    let mut watched = Watched::start(stage.host(replica)).await;
    watched.ticks(&Slot::ALL, TickResult::Unchanged).await;
    let hash = |watched: &Watched, slot| watched.routine(slot).policy.unwrap().sha256;
    let old = Slot::ALL.map(|slot| hash(&watched, slot));
    for slot in Slot::ALL {
        stage.replace(
            slot,
            &components::variant(&policies::all().bytes(slot.name()), 1),
        );
    }
    let mut ran: [Vec<String>; 4] = Default::default();
    watched
        .until(|event| {
            for slot in Slot::ALL {
                ran[slot as usize].extend(tick_of(event, slot).map(|tick| tick.sha256));
            }
            let proved = |slot| {
                ran[slot as usize]
                    .iter()
                    .filter(|ran| **ran != old[slot as usize])
                    .count()
                    >= 3
            };
            Slot::ALL.into_iter().all(proved).then_some(())
        })
        .await;
    for slot in Slot::ALL {
        let ran = &mut ran[slot as usize];
        ran.dedup();
        let new = hash(&watched, slot);
        assert_ne!(new, old[slot as usize]);
        // None between the two, and none of the old after the new one.
        assert!(
            *ran == [new.clone()] || *ran == [old[slot as usize].clone(), new],
            "{slot}: {ran:?}"
        );
    }
}

/// bytecodealliance/wasm-tools#580: what a toolchain makes and an engine takes differ, and the text is lost on the way.
#[tokio::test]
async fn report_92_a_component_with_a_feature_that_is_off_is_refused_in_the_engines_own_words() {
    let topic = policies::all().bytes("topic");
    let wide = components::with_wide_arithmetic(&topic);
    let words = "the component cannot be compiled; build it again with a current toolchain: ";
    refuses(vec![
        (wide.clone(), words),
        (
            components::variant(&wide, 1),
            "wide arithmetic support is not enabled",
        ),
    ])
    .await;
}
