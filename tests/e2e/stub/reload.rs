//! Another file in the place of a policy that runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use locum::status::{RoutineState, TickResult};
use locum::{Event, Host, PluginsConfig, ReplicaConfig, RoutineConfig, Slot, Transition};
use stub_master::{Dialect, Stub};

use crate::support::{Pass, REPLICA, Stage, Watched, tick_of};

fn marker(version: &str) -> Vec<u8> {
    components::guests().bytes(version)
}

/// A host that watches its folder and ticks when it is asked.
async fn watching(stage: &Stage, stub: &Stub) -> Watched {
    let replica = ReplicaConfig {
        first_delay: Duration::from_hours(1),
        ..stage.replica(stub)
    };
    Watched::start(stage.host(replica)).await
}

/// A master with some topics of its users: a policy that takes one away empties nothing.
async fn stub() -> Stub {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    for topic in ["orders", "payments", "refunds"] {
        stub.tables().set_topic(topic);
    }
    stub
}

/// The marks that the guests leave.
fn marks(stage: &Stage) -> Vec<String> {
    let mut topics = stage.topics();
    topics.retain(|topic| topic.starts_with("marker-"));
    topics
}

/// A tick that ends on the old policy may be under way when the new one is told; the next one to begin runs the new one.
async fn next_tick_runs(watched: &mut Watched, sha256: &str) {
    let (mut old, mut before) = (0, None);
    let tick = watched
        .until(|event| {
            let tick = tick_of(event, Slot::Topic)?;
            if tick.sha256 == sha256 {
                return Some(tick);
            }
            old += 1;
            before = Some(tick.number);
            None
        })
        .await;
    assert!(
        old <= 1,
        "{old} ticks of the old policy began after the exchange"
    );
    assert!(
        before.is_none_or(|number| tick.number == number + 1),
        "none is left out"
    );
    assert_eq!(watched.routine(Slot::Topic).missed, 0);
    assert_ne!(tick.result, TickResult::Failed, "{tick:?}");
}

#[tokio::test]
async fn a_policy_replaced_by_rename_and_by_copy_runs_at_the_next_tick_and_none_is_missed() {
    let (stage, stub) = (Stage::new(), stub().await);
    stage.install(Slot::Topic, &marker("marker-v1"));
    let mut watched = Watched::start(stage.host(stage.replica(&stub))).await;
    watched.tick(Slot::Topic, TickResult::Updated).await;
    assert_eq!(marks(&stage), ["marker-v1"]);

    stage.replace(Slot::Topic, &marker("marker-v2"));
    let second = watched.loaded(Slot::Topic).await;
    next_tick_runs(&mut watched, &second).await;
    assert_eq!(marks(&stage), ["marker-v2"]);

    stage.install(Slot::Topic, &marker("marker-v1"));
    let first = watched.loaded(Slot::Topic).await;
    assert_ne!(first, second);
    next_tick_runs(&mut watched, &first).await;
    assert_eq!(marks(&stage), ["marker-v1"]);
    for slot in Slot::ALL {
        let routine = watched.routine(slot);
        assert_eq!((routine.failures, routine.missed), (0, 0), "{slot}");
    }
}

/// notify-rs/notify#531: watching the file works once; after a save by rename nothing is ever reported again.
#[tokio::test]
async fn report_22_three_saves_by_rename_and_one_in_place_are_four_reloads() {
    let (stage, stub) = (Stage::new(), stub().await);
    let mut watched = watching(&stage, &stub).await;
    for version in ["marker-v1", "marker-v2", "marker-v1"] {
        stage.replace(Slot::Topic, &marker(version));
        watched.loaded(Slot::Topic).await;
        Pass::of(&watched.host).await;
        assert_eq!(marks(&stage), [version]);
    }
    stage.install(Slot::Topic, &marker("marker-v2"));
    watched.loaded(Slot::Topic).await;
    Pass::of(&watched.host).await;
    assert_eq!(marks(&stage), ["marker-v2"]);
}

/// wapc/wapc-rs#50: after the swap old code still runs, since a function of the old instance was kept.
#[tokio::test]
async fn report_67_status_tells_what_ran_last_and_nothing_old_runs_after_the_exchange() {
    let (stage, stub) = (Stage::new(), stub().await);
    stage.install(Slot::Topic, &marker("marker-v1"));
    let mut watched = watching(&stage, &stub).await;
    Pass::of(&watched.host).await;
    let old = watched.routine(Slot::Topic).policy.unwrap();
    assert_eq!(
        (old.version.as_str(), old.file.as_str()),
        ("0.1.1", "topic.wasm")
    );
    let ran = |watched: &Watched| watched.routine(Slot::Topic).last_tick.unwrap().sha256;
    assert_eq!(ran(&watched), old.sha256);

    stage.replace(Slot::Topic, &marker("marker-v2"));
    let new = watched.loaded(Slot::Topic).await;
    assert_eq!(ran(&watched), old.sha256, "no tick of the new one yet");
    assert_eq!(
        watched.routine(Slot::Topic).policy.unwrap().version,
        "0.1.2"
    );
    for _ in 0..3 {
        Pass::of(&watched.host).await;
        assert_eq!(
            (ran(&watched), marks(&stage)),
            (new.clone(), vec!["marker-v2".to_owned()])
        );
    }
}

#[tokio::test]
async fn a_text_file_in_its_place_is_refused_with_the_reason_while_the_old_one_goes_on() {
    let (stage, stub) = (Stage::new(), stub().await);
    let mut watched = watching(&stage, &stub).await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
    let running = watched.routine(Slot::Topic).policy;
    for (component, reason) in [
        (components::broken::text(), "text, not a component"),
        (components::broken::empty(), "the file is empty"),
        (
            components::broken::core_module(),
            "a core WebAssembly module",
        ),
        (
            components::broken::truncated(&marker("marker-v1")),
            "the component is cut off",
        ),
        (
            policies::all().bytes("offset"),
            "the slot `topic` may not write",
        ),
    ] {
        stage.replace(Slot::Topic, &component);
        let told = watched.refused(Slot::Topic).await;
        assert!(told.contains(reason), "{told}");
        let routine = watched.routine(Slot::Topic);
        let known = routine.last_refusal.map(|refusal| refusal.reason);
        assert_eq!(known, Some(told), "status says so");
        assert_eq!(
            (routine.policy, routine.state),
            (running.clone(), RoutineState::Active)
        );
        Pass::of(&watched.host)
            .await
            .expect_all(TickResult::Unchanged);
    }
    stage.replace(Slot::Topic, &marker("marker-v1"));
    watched.loaded(Slot::Topic).await;
    assert_eq!(
        watched.routine(Slot::Topic).last_refusal,
        None,
        "all is well again"
    );
    Pass::of(&watched.host).await;
    assert_eq!(marks(&stage), ["marker-v1"]);
}

/// softprops/fasttime#19, docToolchain/Bausteinsicht#268: reload on delete; the watcher is gone with the file.
#[tokio::test]
async fn report_68_a_file_that_is_removed_leaves_its_policy_running_and_may_come_back() {
    let (stage, stub) = (Stage::new(), stub().await);
    let mut watched = watching(&stage, &stub).await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
    fs::remove_file(stage.plugin(Slot::Topic)).unwrap();
    let told = watched.noted(Slot::Topic).await;
    let path = stage.plugin(Slot::Topic);
    let said = format!("{} is not there; topic ", path.display());
    assert!(
        told.starts_with(&said) && told.ends_with(" goes on"),
        "{told}"
    );
    assert_eq!(watched.routine(Slot::Topic).note, Some(told));
    stub.tables().set_topic("T");
    let pass = Pass::of(&watched.host).await;
    assert_eq!(
        pass.result(Slot::Topic),
        Some(TickResult::Updated),
        "it goes on"
    );

    stage.install(Slot::Topic, &marker("marker-v1"));
    watched.loaded(Slot::Topic).await;
    assert_eq!(watched.routine(Slot::Topic).note, None);
    Pass::of(&watched.host).await;
    assert_eq!(marks(&stage), ["marker-v1"]);
}

#[tokio::test]
async fn a_plugin_folder_that_appears_later_is_taken_then() {
    let (stage, stub) = (Stage::without_policies(), stub().await);
    fs::remove_dir(stage.plugins()).unwrap();
    let mut watched = watching(&stage, &stub).await;
    for slot in Slot::ALL {
        assert_eq!(watched.routine(slot).state, RoutineState::NoPolicy);
    }
    fs::create_dir(stage.plugins()).unwrap();
    for slot in Slot::ALL {
        stage.install(slot, &policies::all().bytes(slot.name()));
    }
    let mut missing = Slot::ALL.to_vec();
    watched
        .until(|event| {
            if let Event::Swap {
                slot,
                transition: Transition::Live { .. },
                ..
            } = event
            {
                missing.retain(|other| other != slot);
            }
            missing.is_empty().then_some(())
        })
        .await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
}

#[tokio::test]
async fn a_policy_in_a_subfolder_is_watched_too() {
    let (stage, stub) = (Stage::new(), stub().await);
    let own = stage.plugins().join("own/deep");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("topics.wasm"), marker("marker-v1")).unwrap();
    let routine = RoutineConfig {
        plugin: Some("own/deep/topics.wasm".into()),
        ..RoutineConfig::default()
    };
    let replica = ReplicaConfig {
        first_delay: Duration::from_hours(1),
        routines: [(Slot::Topic, routine)].into(),
        ..stage.replica(&stub)
    };
    let mut watched = Watched::start(stage.host(replica)).await;
    fs::write(own.join("topics.wasm"), marker("marker-v2")).unwrap();
    watched.loaded(Slot::Topic).await;
    assert_eq!(
        watched.routine(Slot::Topic).policy.unwrap().file,
        "own/deep/topics.wasm"
    );
    Pass::of(&watched.host).await;
    assert_eq!(marks(&stage), ["marker-v2"]);
}

/// The topic policy that an event says is live now, with the replica's name.
fn live(event: &Event) -> Option<(String, String)> {
    match event {
        Event::Swap {
            replica,
            slot: Slot::Topic,
            transition: Transition::Live { policy },
            ..
        } => Some((replica.clone(), policy.version.clone())),
        _ => None,
    }
}

/// A host that watches the folder of this name, with its quiet period.
async fn watching_folder(stage: &Stage, stub: &Stub, folder: PathBuf, quiet: u64) -> Watched {
    let plugins = PluginsConfig {
        quiet_period: Duration::from_millis(quiet),
        max_wait: Duration::from_millis(2 * quiet),
        ..PluginsConfig::new(folder)
    };
    let replica = ReplicaConfig {
        first_delay: Duration::from_hours(1),
        ..stage.replica(stub)
    };
    Watched::start(Host::builder(stage.state(), plugins).replica(REPLICA, replica)).await
}

/// notify-rs/notify#451, #468: a debouncer that never fires under a constant stream, and one that fires for each event.
#[tokio::test]
async fn report_75_a_constant_stream_does_not_put_a_change_off_and_a_burst_is_one_change() {
    let (stage, stub) = (Stage::new(), stub().await);
    let mut watched = watching_folder(&stage, &stub, stage.plugins(), 500).await;
    let noise = stage.plugins().join("noise");
    let stream = tokio::spawn(async move {
        let mut times = tokio::time::interval(Duration::from_millis(50));
        loop {
            times.tick().await;
            fs::write(&noise, "").unwrap();
        }
    });
    stage.replace(Slot::Topic, &marker("marker-v1"));
    watched.loaded(Slot::Topic).await;
    stream.abort();
    assert!(stream.await.unwrap_err().is_cancelled());

    for _ in 0..200 {
        stage.replace(Slot::Topic, &marker("marker-v2"));
    }
    let (_, version) = watched.until(live).await;
    assert_eq!(version, "0.1.2");
    stage.replace(Slot::Topic, &marker("marker-v1"));
    let (_, version) = watched.until(live).await;
    assert_eq!(version, "0.1.1", "the burst led to one exchange");
}

/// rojo-rbx/rojo#278, thin-edge/thin-edge.io#2753: a path that is spelled otherwise than the events' is never found in them.
#[tokio::test]
async fn report_78_a_folder_is_watched_by_any_name_and_a_link_to_it_may_be_changed() {
    let (stage, stub) = (Stage::new(), stub().await);
    let other = stage.path("other");
    fs::create_dir(&other).unwrap();
    symlink("plugins", stage.path("link")).unwrap();
    let spelled = stage.path("other/../link/");
    let mut watched = watching_folder(&stage, &stub, spelled, 20).await;
    stage.replace(Slot::Topic, &marker("marker-v1"));
    watched.loaded(Slot::Topic).await;

    fs::write(other.join("topic.wasm"), marker("marker-v2")).unwrap();
    symlink("other", stage.path("next")).unwrap();
    fs::rename(stage.path("next"), stage.path("link")).unwrap();
    assert_eq!(watched.until(live).await.1, "0.1.2");

    fs::write(other.join("topic.wasm"), marker("marker-v1")).unwrap();
    assert_eq!(watched.until(live).await.1, "0.1.1");
}

#[tokio::test]
async fn report_78_two_names_of_one_file_are_two_policies_that_change() {
    let (stage, stub) = (Stage::new(), stub().await);
    fs::hard_link(stage.plugin(Slot::Topic), stage.plugins().join("same.wasm")).unwrap();
    let mut watched = watching(&stage, &stub).await;
    let routine = RoutineConfig {
        plugin: Some("same.wasm".into()),
        ..RoutineConfig::default()
    };
    let replica = ReplicaConfig {
        first_delay: Duration::from_hours(1),
        routines: [(Slot::Topic, routine)].into(),
        master: Some(stub.address()),
        ..ReplicaConfig::new(stage.path("broker-b"))
    };
    watched.host.add_replica("broker-b", replica).await.unwrap();
    watched.drain();
    stage.install(Slot::Topic, &marker("marker-v1"));
    let mut waiting = vec![REPLICA.to_owned(), "broker-b".to_owned()];
    watched
        .until(|event| {
            let (replica, version) = live(event)?;
            assert_eq!(version, "0.1.1");
            waiting.retain(|of| *of != replica);
            waiting.is_empty().then_some(())
        })
        .await;
}
