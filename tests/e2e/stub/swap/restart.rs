//! What a slot's policies come to when the host ends and starts again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use components::{guests, misbehaving, variant};
use locum::status::{RoutineState, RoutineStatus, Stage as At, TickResult};
use locum::{ReplicaConfig, RoutineConfig, Slot};
use serde_json::Value;
use stub_master::{Dialect, Stub};

use crate::support::{Locum, Pass, Running, Stage, Watched, soon};

async fn stub() -> Stub {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    for topic in ["T1", "T2", "T3", "T4"] {
        stub.tables().set_topic(topic);
    }
    stub
}

fn topic() -> Vec<u8> {
    policies::all().bytes("topic")
}

fn marker() -> Vec<u8> {
    guests().bytes("marker-v1")
}

/// A process that was killed between two steps, and the next one.
struct Killed {
    stage: Stage,
    /// Kept, for its answers.
    _stub: Stub,
    config: PathBuf,
    host: Running,
}

impl Killed {
    /// Its topic policy has proved itself.
    async fn start() -> Self {
        let (stage, stub) = (Stage::new(), stub().await);
        let config = stage.config(&stub.address(), "");
        let host = Locum::run(&config).await;
        let killed = Self {
            stage,
            _stub: stub,
            config,
            host,
        };
        killed.sync().await;
        killed
    }

    /// Ends it as nothing can be done about, and starts it again.
    async fn kill(self) -> Self {
        self.host.kill().await;
        let host = Locum::run(&self.config).await;
        Self { host, ..self }
    }

    async fn topic(&self) -> Value {
        let told = self.host.command(&["status", "--output", "json"]);
        let status: Value = serde_json::from_str(&told.expect(0).await.stdout).unwrap();
        let routines = status["replicas"][0]["routines"].as_array().unwrap();
        let topic = routines.iter().find(|routine| routine["name"] == "topic");
        topic.unwrap().clone()
    }

    /// One tick of each slot. What it said of the policies is on disk then.
    async fn sync(&self) {
        self.host.command(&["sync"]).expect(0).await;
    }
}

#[tokio::test]
async fn killed_before_the_exchange_the_last_good_policy_runs_and_the_candidate_is_judged_again() {
    let mut host = Killed::start().await;
    let good = host.topic().await["policy"].take();
    host.stage.replace(Slot::Topic, &misbehaving("empty", ""));
    host.host.until("the candidate is held").await;
    let held = host.topic().await["candidate"].take();
    assert_eq!(held["stage"], "held");

    let host = host.kill().await;
    let same = |routine: &Value, of: &str| {
        let names = ["id", "sha256", "name", "file"];
        names.map(|name| routine[of][name].clone())
    };
    let topic = host.topic().await;
    let before = serde_json::json!({"policy": good, "candidate": held});
    assert_eq!(same(&topic, "policy"), same(&before, "policy"));
    assert_eq!(topic["candidate"]["id"], held["id"]);
    // By itself: no tick is near.
    let judged_again = async {
        loop {
            let candidate = host.topic().await["candidate"].take();
            if candidate["stage"] == "held" {
                return candidate;
            }
            assert_eq!(candidate["reason"], Value::Null);
        }
    };
    let again = soon(judged_again).await;
    assert_eq!(again["reason"], held["reason"], "and found the same");
    host.sync().await;
    assert_eq!(host.topic().await["last_tick"]["sha256"], good["sha256"]);
    assert_eq!(
        host.stage
            .topics()
            .iter()
            .filter(|topic| topic.starts_with('T'))
            .count(),
        5
    );
}

#[tokio::test]
async fn killed_in_probation_the_candidate_runs_on_with_the_ticks_that_are_left() {
    let mut host = Killed::start().await;
    host.stage.replace(Slot::Topic, &marker());
    host.host.until("policy live").await;
    host.sync().await;
    let live = host.topic().await["policy"]["id"].take();

    let host = host.kill().await;
    let topic = host.topic().await;
    assert_eq!(
        (&topic["policy"]["id"], &topic["probation"]["ticks_left"]),
        (&live, &Value::from(2))
    );
    assert_eq!(topic["candidate"], Value::Null, "it has passed its trial");
    host.sync().await;
    assert_eq!(host.topic().await["probation"]["ticks_left"], 1);
    let host = host.kill().await;
    host.sync().await;
    let topic = host.topic().await;
    assert_eq!(
        (&topic["policy"]["id"], &topic["probation"]),
        (&live, &Value::Null)
    );
    assert!(host.stage.topics().contains(&"marker-v1".to_owned()));
    // It is the last good one now.
    fs::write(host.stage.plugin(Slot::Topic), "no policy").unwrap();
    let host = host.kill().await;
    assert_eq!(host.topic().await["policy"]["id"], live);
}

/// A host that ticks when it is asked.
async fn started(stage: &Stage, stub: &Stub, settings: &[(&str, &str)]) -> Watched {
    let given = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let routine = RoutineConfig {
        settings: given.collect::<BTreeMap<_, _>>(),
        ..RoutineConfig::default()
    };
    let replica = ReplicaConfig {
        first_delay: Duration::from_hours(1),
        routines: [(Slot::Topic, routine)].into(),
        ..stage.replica(stub)
    };
    Watched::start(stage.host(replica)).await
}

fn status(watched: &Watched) -> RoutineStatus {
    watched.routine(Slot::Topic)
}

async fn tick(watched: &Watched, result: TickResult) {
    let pass = Pass::of(&watched.host).await;
    assert_eq!(
        pass.result(Slot::Topic),
        Some(result),
        "{:?}",
        pass.report(Slot::Topic)
    );
}

/// Lets the slot tick until its candidate, if there is one, has gone on to an end.
async fn judged(watched: &Watched) {
    let in_trial = || {
        status(watched)
            .candidate
            .is_some_and(|candidate| candidate.stage != At::Held)
    };
    soon(async {
        while in_trial() {
            Pass::of(&watched.host).await;
        }
    })
    .await;
}

/// A stage on which the topic policy has proved itself, and the host has ended.
async fn ended(stub: &Stub, component: &[u8]) -> Stage {
    let stage = Stage::new();
    stage.install(Slot::Topic, component);
    let watched = started(&stage, stub, &[]).await;
    tick(&watched, TickResult::Updated).await;
    watched.host.shutdown().await;
    stage
}

#[tokio::test]
async fn a_bad_file_at_the_start_leaves_the_last_good_policy_running_and_is_told() {
    let stub = stub().await;
    let stage = ended(&stub, &marker()).await;
    let file = stage.plugin(Slot::Topic);
    for (component, at, reason) in [
        (
            components::broken::text(),
            At::Check,
            "text, not a component",
        ),
        (
            components::broken::truncated(&topic()),
            At::Check,
            "cut off",
        ),
        (
            policies::all().bytes("delay"),
            At::Describe,
            "the slot `topic` may not write",
        ),
        (misbehaving("trap", ""), At::Trial, "the policy trapped"),
    ] {
        stage.install(Slot::Topic, &component);
        let watched = started(&stage, &stub, &[]).await;
        tick(&watched, TickResult::Unchanged).await;
        judged(&watched).await;
        let routine = status(&watched);
        assert_eq!(routine.policy.unwrap().version, "0.1.1");
        let refusal = routine.last_refusal.unwrap();
        assert_eq!(refusal.stage, at);
        assert!(refusal.reason.contains(reason), "{}", refusal.reason);
        assert_eq!((routine.state, routine.failures), (RoutineState::Active, 0));
        watched.host.shutdown().await;
    }

    fs::remove_file(&file).unwrap();
    let watched = started(&stage, &stub, &[]).await;
    let note = status(&watched).note.unwrap();
    assert!(
        note.contains("topic.wasm is not there; topic ") && note.ends_with(" goes on"),
        "{note}"
    );
    tick(&watched, TickResult::Unchanged).await;
    watched.host.shutdown().await;

    fs::create_dir(&file).unwrap();
    let watched = started(&stage, &stub, &[]).await;
    let refusal = status(&watched).last_refusal.unwrap();
    assert_eq!(refusal.stage, At::Read);
    assert!(
        refusal.reason.ends_with("topic.wasm is not a file"),
        "{}",
        refusal.reason
    );
    tick(&watched, TickResult::Unchanged).await;
    assert_eq!(
        stage
            .topics()
            .iter()
            .filter(|topic| topic.starts_with("marker"))
            .count(),
        1
    );
}

#[tokio::test]
async fn what_was_in_probation_is_measured_on_after_a_restart_and_its_memory_with_it() {
    let stub = stub().await;
    // Both count their ticks in the memory, under one name; this one would trap at its sixth.
    let stage = ended(&stub, &misbehaving("trap-after-ticks", "5")).await;
    let watched = started(&stage, &stub, &[]).await;
    let good = status(&watched).policy.unwrap().id;
    tick(&watched, TickResult::Unchanged).await;
    let mut watched = watched;
    stage.replace(Slot::Topic, &misbehaving("trap-after-ticks", "3"));
    watched.loaded(Slot::Topic).await;
    tick(&watched, TickResult::Unchanged).await;
    watched.host.shutdown().await;

    let watched = started(&stage, &stub, &[]).await;
    assert_eq!(status(&watched).probation.unwrap().ticks_left, 2);
    tick(&watched, TickResult::Unchanged).await;
    let routine = status(&watched);
    assert_eq!((routine.policy.unwrap().id, routine.failures), (good, 0));
    assert_eq!(routine.quarantine.len(), 1);
    // That was the third of the last good one.
    for _ in 4..=5 {
        tick(&watched, TickResult::Unchanged).await;
    }
    tick(&watched, TickResult::Failed).await;
}

/// The file held something else by the time that the host started.
#[tokio::test]
async fn what_was_in_probation_and_has_gone_gives_the_memory_back() {
    let stub = stub().await;
    let counting = misbehaving("trap-after-ticks", "2");
    let stage = ended(&stub, &counting).await;
    let mut watched = started(&stage, &stub, &[]).await;
    let good = status(&watched).policy.unwrap().id;
    stage.replace(Slot::Topic, &variant(&counting, 1));
    watched.loaded(Slot::Topic).await;
    // The second of them all.
    tick(&watched, TickResult::Unchanged).await;
    watched.host.shutdown().await;
    stage.install(Slot::Topic, &counting);

    let watched = started(&stage, &stub, &[]).await;
    let routine = status(&watched);
    assert_eq!(
        (routine.policy.unwrap().id, routine.probation),
        (good, None)
    );
    // The second of its own.
    tick(&watched, TickResult::Unchanged).await;
    tick(&watched, TickResult::Failed).await;
}

#[tokio::test]
async fn without_a_good_copy_the_file_is_a_first_load_with_a_note() {
    let stub = stub().await;
    let stage = ended(&stub, &topic()).await;
    let copies = || {
        let copies = fs::read_dir(stage.state().join("components")).unwrap();
        copies.map(|copy| copy.unwrap().path()).collect::<Vec<_>>()
    };
    let copy = copies()
        .into_iter()
        .find(|copy| fs::read(copy).unwrap() == topic())
        .unwrap();
    let damage: [fn(&PathBuf); 3] = [
        |copy| fs::write(copy, "damaged").unwrap(),
        |copy| fs::remove_file(copy).unwrap(),
        |copy| {
            fs::remove_file(copy).unwrap();
            fs::create_dir(copy).unwrap();
        },
    ];
    for damage in damage {
        damage(&copy);
        stage.install(Slot::Topic, &marker());
        let watched = started(&stage, &stub, &[]).await;
        let routine = status(&watched);
        assert_eq!(
            routine.policy.unwrap().version,
            "0.1.1",
            "with nothing to be tried against"
        );
        assert_eq!((routine.probation, routine.candidate), (None, None));
        let notes = watched.replica().status().notes;
        let lost = |note: &String| {
            note.starts_with("topic: the last good policy topic ")
                && note.contains("cannot be taken up again: ")
        };
        assert!(notes.iter().any(lost), "{notes:?}");
        Pass::of(&watched.host).await;
        watched.host.shutdown().await;

        // What is good again is kept again.
        if copy.is_dir() {
            fs::remove_dir(&copy).unwrap();
        }
        stage.install(Slot::Topic, &topic());
        let watched = started(&stage, &stub, &[]).await;
        judged(&watched).await;
        for _ in 0..3 {
            Pass::of(&watched.host).await;
        }
        assert_eq!(status(&watched).probation, None);
        watched.host.shutdown().await;
        assert_eq!(fs::read(&copy).unwrap(), topic(), "the copy is there again");
    }

    // Nor is the file any good.
    fs::write(&copy, "damaged").unwrap();
    fs::write(stage.plugin(Slot::Topic), "bad too").unwrap();
    let watched = started(&stage, &stub, &[]).await;
    assert_eq!(status(&watched).state, RoutineState::NoPolicy);
    Pass::of(&watched.host).await;
    stage.replace(Slot::Topic, &topic());
    let mut watched = watched;
    watched.loaded(Slot::Topic).await;
    tick(&watched, TickResult::Unchanged).await;
}

#[tokio::test]
async fn a_damaged_code_cache_means_compiling_again_and_no_failure() {
    let stub = stub().await;
    let stage = Stage::new();
    let code = || {
        let files = fs::read_dir(stage.state().join("code"));
        let files = files.into_iter().flatten().map(|file| file.unwrap().path());
        let files: Vec<_> = files
            .filter(|file| file.extension().is_some_and(|end| end == "cwasm"))
            .collect();
        files
    };
    let watched = started(&stage, &stub, &[]).await;
    // Beside everything else.
    soon(async {
        while code().len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
    watched.host.shutdown().await;
    let damage: [fn(&PathBuf); 3] = [
        |file| {
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, bytes).unwrap();
        },
        |file| fs::write(file, "").unwrap(),
        |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
    ];
    for damage in damage {
        code().iter().for_each(damage);
        let watched = started(&stage, &stub, &[]).await;
        Pass::of(&watched.host)
            .await
            .expect_all(TickResult::Unchanged);
        for slot in Slot::ALL {
            let routine = watched.routine(slot);
            assert_eq!((routine.last_refusal, routine.note), (None, None), "{slot}");
        }
        watched.host.shutdown().await;
    }
}

/// A stage on which the filter has proved itself with all topics, and the host has ended; the filter's id then.
async fn filtered(stub: &Stub) -> (Stage, String) {
    for number in 0..30 {
        stub.tables().set_topic(format!("orders-{number}").as_str());
    }
    let stage = Stage::new();
    stage.install(Slot::Topic, &policies::all().bytes("topic-filter"));
    let watched = started(&stage, stub, &[("keep", "*")]).await;
    tick(&watched, TickResult::Updated).await;
    let good = status(&watched).policy.unwrap();
    watched.host.shutdown().await;
    (stage, good.id)
}

#[tokio::test]
async fn other_settings_that_are_no_good_leave_the_policy_with_those_of_before() {
    let stub = stub().await;
    let (stage, good) = filtered(&stub).await;
    // What its settings say is no pattern at all, which only a run of it shows.
    let watched = started(&stage, &stub, &[("keep", " , ")]).await;
    tick(&watched, TickResult::Unchanged).await;
    judged(&watched).await;
    let routine = status(&watched);
    assert_eq!(
        routine.policy.unwrap().id,
        good,
        "with the settings of before"
    );
    let refusal = routine.last_refusal.unwrap();
    assert_eq!(refusal.stage, At::Trial);
    assert!(
        refusal.reason.contains("setting `keep` has no pattern"),
        "{}",
        refusal.reason
    );
    watched.host.shutdown().await;

    // One that it does not have.
    let watched = started(&stage, &stub, &[("keeep", "*")]).await;
    let routine = status(&watched);
    assert_eq!(routine.policy.unwrap().id, good);
    assert_eq!(routine.last_refusal.unwrap().stage, At::Describe);
    tick(&watched, TickResult::Unchanged).await;
    watched.host.shutdown().await;
}

#[tokio::test]
async fn other_settings_make_another_candidate_of_the_same_file() {
    let stub = stub().await;
    let (stage, good) = filtered(&stub).await;
    // It would take most of the topics away.
    let watched = started(&stage, &stub, &[("keep", "T*")]).await;
    judged(&watched).await;
    let routine = status(&watched);
    let live = routine.policy.unwrap();
    assert_eq!(live.id, good);
    let held = routine.candidate.unwrap();
    assert_eq!((held.stage, &held.sha256), (At::Held, &live.sha256));
    assert_ne!(held.id, good);
    watched.replica().accept(Slot::Topic).await.unwrap();
    let routine = status(&watched);
    assert_eq!(
        (
            routine.policy.unwrap().id,
            routine.probation.unwrap().ticks_left
        ),
        (held.id.clone(), 3)
    );
    tick(&watched, TickResult::Updated).await;
    assert!(!stage.topics().contains(&"orders-0".to_owned()));
    watched.host.shutdown().await;

    // The same again: nothing is new.
    let watched = started(&stage, &stub, &[("keep", "T*")]).await;
    let routine = status(&watched);
    assert_eq!(
        (routine.policy.unwrap().id, routine.candidate),
        (held.id.clone(), None)
    );
    for _ in 0..2 {
        tick(&watched, TickResult::Unchanged).await;
    }
    assert_eq!(status(&watched).probation, None);
    watched.host.shutdown().await;

    // Back to the first: a candidate like any other, and no more than a restart.
    let watched = started(&stage, &stub, &[("keep", "*")]).await;
    judged(&watched).await;
    let routine = status(&watched);
    assert_eq!(routine.policy.unwrap().id, good);
    assert_eq!(routine.quarantine, []);
}

/// A full disk, say, at the moment at which a policy proves itself.
#[tokio::test]
async fn what_could_not_be_recorded_is_recorded_as_soon_as_it_can_be() {
    let stub = stub().await;
    let stage = Stage::new();
    stage.install(Slot::Topic, &marker());
    let components = stage.state().join("components");
    fs::create_dir(stage.state()).unwrap();
    fs::write(&components, "in the way").unwrap();
    let watched = started(&stage, &stub, &[]).await;
    tick(&watched, TickResult::Updated).await;
    let notes = || watched.replica().status().notes;
    let told = |note: &String| note.contains("components");
    assert!(notes().iter().any(told), "{:?}", notes());
    stub.tables().set_topic("T5");
    tick(&watched, TickResult::Updated).await;
    assert!(
        notes().iter().any(told),
        "what a tick records does not make it good: {:?}",
        notes()
    );

    fs::remove_file(&components).unwrap();
    tick(&watched, TickResult::Unchanged).await;
    assert_eq!(notes(), [""; 0]);
    let good = status(&watched).policy.unwrap().id;
    watched.host.shutdown().await;
    fs::remove_file(stage.plugin(Slot::Topic)).unwrap();
    let watched = started(&stage, &stub, &[]).await;
    assert_eq!(status(&watched).policy.unwrap().id, good);
}
