//! `locum plugin` to a host, and beside one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use components::misbehaving;
use locum::Slot;
use locum::store::{RealDisk, Record};
use serde_json::{Value, json};
use stub_master::{Dialect, Fault, Stub, Times};

use super::snapshot::{Nameless, expect_snapshot, told};
use crate::support::{Locum, Running, Stage, soon};

/// A master with sixty topics of users, the replicas `broker-a` and `broker-b` of it, and candidates beside the plugin folder.
struct Scene {
    stage: Stage,
    stub: Stub,
    config: PathBuf,
    told: String,
    nameless: Nameless,
}

const HELD: &str = "the candidate is held";

fn marker(version: u8) -> Vec<u8> {
    components::guests().bytes(&format!("marker-v{version}"))
}

impl Scene {
    async fn new() -> Self {
        let stage = Stage::new();
        let stub = Stub::start(Dialect::V5_5).await.unwrap();
        for number in 1..=60 {
            stub.tables().set_topic(format!("t-{number:02}").as_str());
        }
        let address = stub.address();
        let second = format!(
            "\n[replica.broker-b]\ndirectory = \"other/config\"\nmaster = \"{address}\"\nfirst-delay = \"1h\"\n"
        );
        let config = stage.config(&address, &second);
        let candidates = [
            ("marker", marker(1)),
            ("half", misbehaving("remove-half", "")),
            ("trap", misbehaving("trap", "")),
            ("text", components::broken::text()),
        ];
        for (name, bytes) in candidates {
            fs::write(stage.path(&format!("{name}.wasm")), bytes).unwrap();
        }
        Self {
            stage,
            stub,
            config,
            told: String::new(),
            nameless: Nameless::default(),
        }
    }

    /// Runs a command in the stage's folder, and keeps what it said for the snapshot.
    async fn run(&mut self, code: i32, words: &str) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        let root = self.stage.path("");
        let output = Locum::new(&words).working_in(&root).expect(code).await;
        let root = root.to_str().unwrap().trim_end_matches('/');
        let address = self.stub.address();
        let text = told(&words, &output, &[(root, "DIR"), (&address, "MASTER")]);
        self.told += &self.nameless.text(&text);
        output.stdout
    }

    async fn json(&mut self, code: i32, words: &str) -> Value {
        serde_json::from_str(&self.run(code, words).await).unwrap()
    }

    /// A host whose policies are all good.
    async fn host(&self) -> Running {
        let host = Locum::run(&self.config).await;
        host.command(&["sync"]).expect(0).await;
        for replica in ["broker-a", "broker-b"] {
            self.recorded(replica).await;
        }
        host
    }

    /// Waits until all four policies are on record as good: nothing that happens in a host waits for that.
    async fn recorded(&self, replica: &str) {
        let path = Record::path(&self.stage.state(), replica);
        let recorded = async {
            loop {
                let (record, _) = Record::peek(&RealDisk, &path).unwrap();
                if record
                    .swaps
                    .values()
                    .filter(|swap| swap.good.is_some())
                    .count()
                    == 4
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        soon(recorded).await;
    }

    /// Puts a component in the place of the topics' policy, and waits until both replicas have said this.
    async fn replace(&self, host: &mut Running, component: &[u8], said: &str) {
        self.stage.replace(Slot::Topic, component);
        host.until(said).await;
        host.until(said).await;
    }

    /// The parts of `broker-a`'s topics in the status.
    async fn topic(&self) -> Value {
        let status = ["status", "--output", "json"];
        let told = Locum::new(&status).config(&self.config).expect(0).await;
        let mut status: Value = serde_json::from_str(&told.stdout).unwrap();
        status["replicas"][0]["routines"][0].take()
    }

    fn expect_snapshot(&self, name: &str) {
        expect_snapshot(name, &self.told);
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[tokio::test]
async fn list_tells_what_runs_and_what_became_of_the_last_candidate() {
    let mut scene = Scene::new().await;
    scene.run(75, "plugin list").await;
    let mut host = scene.host().await;
    scene.run(0, "plugin list").await;
    scene.run(78, "plugin list broker-c").await;
    let half = fs::read(scene.stage.path("half.wasm")).unwrap();
    scene.replace(&mut host, &half, HELD).await;
    scene.run(0, "plugin list").await;
    scene.run(0, "plugin reject --all").await;
    scene.run(0, "plugin list broker-b").await;
    scene
        .replace(&mut host, &components::broken::text(), "is refused")
        .await;
    scene.run(0, "plugin list").await;
    let trap = fs::read(scene.stage.path("trap.wasm")).unwrap();
    scene.replace(&mut host, &trap, "is refused").await;
    scene.run(0, "plugin list broker-a").await;
    fs::remove_file(scene.stage.plugin(Slot::Topic)).unwrap();
    host.until("is not there").await;
    host.until("is not there").await;
    scene.run(0, "plugin list broker-a").await;
    scene.run(0, "status").await;
    let listed = scene.json(0, "plugin list broker-a -o json").await;
    let names: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|slot| &slot["routine"])
        .collect();
    assert_eq!(names, ["topic", "offset", "delay", "subgroup"]);
    assert_eq!(
        keys(&listed[0]),
        [
            "candidate",
            "last_refusal",
            "note",
            "policy",
            "probation",
            "quarantine",
            "replica",
            "routine",
            "transitions"
        ]
    );
    scene.expect_snapshot("plugin-list");
}

#[tokio::test]
async fn inspect_says_what_it_is_and_which_slots_would_take_it() {
    let mut scene = Scene::new().await;
    let example = policies::all().bytes("topic-filter");
    fs::write(scene.stage.path("filter.wasm"), example).unwrap();
    let author = scene.stage.path("author");
    fs::create_dir(&author).unwrap();
    let words = ["plugin", "inspect", "../filter.wasm"];
    let output = Locum::new(&words).working_in(&author).expect(0).await;
    scene.told += &scene.nameless.text(&told(&words, &output, &[]));

    scene.run(0, "plugin inspect filter.wasm").await;
    scene.run(65, "plugin inspect text.wasm").await;
    scene.run(64, "plugin inspect nowhere.wasm").await;
    scene
        .run(78, "plugin inspect filter.wasm --config nowhere.toml")
        .await;
    let refused = scene.json(65, "plugin inspect text.wasm -o json").await;
    assert_eq!(
        keys(&refused),
        [
            "bytes", "exports", "imports", "policy", "refused", "sha256", "slots"
        ]
    );
    assert_eq!(keys(&refused["refused"]), ["reason", "stage"]);

    let mut host = scene.host().await;
    let half = fs::read(scene.stage.path("half.wasm")).unwrap();
    scene.replace(&mut host, &half, HELD).await;
    host.command(&["plugin", "reject", "broker-b", "topic"])
        .expect(0)
        .await;
    scene.run(0, "plugin inspect half.wasm").await;
    let running = policies::all().bytes("topic");
    fs::write(scene.stage.path("running.wasm"), running).unwrap();
    scene.run(0, "plugin inspect running.wasm").await;
    let report = scene
        .json(0, "plugin inspect half.wasm --output json")
        .await;
    let outcomes: Vec<&Value> = report["slots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slot| &slot["outcome"])
        .collect();
    assert_eq!(
        outcomes,
        [
            "tried",
            "refused",
            "refused",
            "refused",
            "quarantined",
            "refused",
            "refused",
            "refused"
        ]
    );
    scene.expect_snapshot("plugin-inspect");
}

type Inodes = BTreeMap<PathBuf, (u64, i64, i64, u64)>;

/// Inode, time and size of every file and folder below a stage.
fn inodes(stage: &Stage) -> Inodes {
    let mut folders = vec![stage.path("")];
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let of = fs::symlink_metadata(&path).unwrap();
            if of.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (of.ino(), of.mtime(), of.mtime_nsec(), of.size()));
        }
    }
    found
}

/// A running host puts its own records on disk when it has time.
fn inodes_beside_a_host(stage: &Stage) -> Inodes {
    let mut found = inodes(stage);
    found.retain(|path, _| !path.starts_with(stage.state()));
    found
}

impl Scene {
    /// Plans of every outcome, by whoever answers.
    async fn plans(&mut self, looked_at: fn(&Stage) -> Inodes) {
        let untouched = looked_at(&self.stage);
        for (code, what) in [
            (0, "plugins/topic.wasm broker-a topic"),
            (2, "marker.wasm broker-a topic"),
            (2, "half.wasm broker-a topic"),
            (65, "trap.wasm broker-a topic"),
            (65, "text.wasm broker-a topic"),
            (65, "marker.wasm broker-a delay"),
            (78, "marker.wasm broker-c topic"),
        ] {
            self.run(code, &format!("plugin plan {what}")).await;
        }
        self.stub
            .script(21, Fault::error(16, "no accessKey"), Times::Once);
        self.run(69, "plugin plan marker.wasm broker-a topic").await;
        assert_eq!(self.fuel().await, self.fuel().await);
        assert_eq!(looked_at(&self.stage), untouched);
    }

    async fn fuel(&self) -> (u64, u64) {
        let words = [
            "plugin",
            "plan",
            "marker.wasm",
            "broker-a",
            "topic",
            "-o",
            "json",
        ];
        let told = Locum::new(&words).working_in(&self.stage.path(""));
        let report: Value = serde_json::from_str(&told.expect(2).await.stdout).unwrap();
        assert_eq!(report["changes"][0]["added"], json!(["marker-v1"]));
        let fuel = |run: &str| report[run]["fuel"].as_u64().unwrap();
        (fuel("live"), fuel("candidate"))
    }
}

#[tokio::test]
async fn plan_without_a_host_tells_what_would_differ_and_changes_nothing() {
    let mut scene = Scene::new().await;
    let untouched = inodes(&scene.stage);
    scene.fuel().await;
    assert_eq!(
        inodes(&scene.stage),
        untouched,
        "not even a state directory is made"
    );
    Locum::new(&["sync"]).config(&scene.config).expect(0).await;
    scene.plans(inodes).await;
    scene.expect_snapshot("plugin-plan");
}

#[tokio::test]
async fn plan_in_a_host_tells_the_same_and_is_no_tick() {
    let mut scene = Scene::new().await;
    let host = scene.host().await;
    // What was proved is put on disk soon, and not at once.
    scene.plans(inodes_beside_a_host).await;
    scene.expect_snapshot("plugin-plan");
    let topic = scene.topic().await;
    assert_eq!(
        (&topic["ticks"], &topic["candidate"]),
        (&json!(1), &Value::Null)
    );

    scene.told.clear();
    let report = scene
        .json(2, "plugin plan half.wasm broker-a topic --output json")
        .await;
    assert_eq!(
        keys(&report),
        [
            "candidate",
            "changes",
            "live",
            "outcome",
            "quarantined",
            "reason"
        ]
    );
    assert_eq!(keys(&report["live"]), ["fuel", "guest_time_ms", "policy"]);
    assert_eq!(report["outcome"], "held");
    let large = fs::File::create(scene.stage.path("large.wasm")).unwrap();
    large.set_len(65 << 20).unwrap();
    let plan = ["plugin", "plan", "large.wasm", "broker-a", "topic"];
    let large = Locum::new(&plan).working_in(&scene.stage.path(""));
    let said = large.expect(65).await.stderr;
    assert!(
        said.contains("has 68157440 bytes, over the limit"),
        "{said}"
    );
    let pause = ["pause", "broker-b", "topic"];
    host.command(&pause).expect(0).await;
    scene
        .run(75, "plugin plan marker.wasm broker-b topic")
        .await;
    assert_eq!(host.terminate().await.0, 0);
    fs::remove_file(scene.stage.plugin(Slot::Delay)).unwrap();
    fs::remove_dir_all(scene.stage.state()).unwrap();
    fs::write(scene.stage.plugin(Slot::Offset), "no policy").unwrap();
    let delay = policies::all().bytes("delay");
    fs::write(scene.stage.path("delay.wasm"), delay).unwrap();
    scene.run(75, "plugin plan delay.wasm broker-a delay").await;
    let offset = policies::all().bytes("offset");
    fs::write(scene.stage.path("offset.wasm"), offset).unwrap();
    scene
        .run(75, "plugin plan offset.wasm broker-a offset")
        .await;
    scene.stub.pause().await.unwrap();
    scene
        .run(69, "plugin plan marker.wasm broker-a topic")
        .await;
    scene.expect_snapshot("plugin-plan-not");
}

#[tokio::test]
async fn accept_reject_rollback_and_forget_do_it_or_say_why_not() {
    let mut scene = Scene::new().await;
    let commands = ["plugin accept", "plugin reject", "plugin rollback"];
    for command in commands {
        scene.run(75, &format!("{command} broker-a topic")).await;
    }
    scene.run(75, "plugin forget 0123").await;
    let mut host = scene.host().await;
    for command in commands {
        scene.run(75, &format!("{command} broker-a topic")).await;
        scene.run(75, &format!("{command} --all")).await;
        scene.run(78, &format!("{command} broker-c topic")).await;
    }
    scene.run(75, "plugin forget 0123").await;
    let nothing = scene.json(75, "plugin accept --all --output json").await;
    assert_eq!(nothing, json!([]));
    scene
        .json(75, "plugin rollback broker-a topic -o json")
        .await;

    let half = fs::read(scene.stage.path("half.wasm")).unwrap();
    scene.replace(&mut host, &half, HELD).await;
    scene.run(0, "status").await;
    scene.run(0, "plugin accept broker-a topic").await;
    scene.run(0, "plugin accept --all").await;
    scene.run(0, "status").await;
    scene.run(0, "plugin list").await;
    scene.run(0, "plugin rollback broker-a topic").await;
    scene.json(0, "plugin rollback --all -o json").await;
    scene.run(0, "status").await;
    scene.run(0, "plugin list").await;

    let quarantined = scene.topic().await["quarantine"][0]["sha256"].clone();
    let hash = quarantined.as_str().unwrap()[..8].to_owned();
    let forgotten = scene
        .json(0, &format!("plugin forget {hash} -o json"))
        .await;
    assert_eq!(forgotten, json!({"slots": 2}));
    host.until(HELD).await;
    host.until(HELD).await;
    scene.run(0, "plugin reject broker-a topic").await;
    scene.run(0, "plugin reject --all --output json").await;
    scene.run(0, &format!("plugin forget {hash}")).await;
    scene.run(75, &format!("plugin forget {hash}")).await;

    let bad = misbehaving("trap-after-ticks", "1");
    scene.replace(&mut host, &bad, "policy live").await;
    for _ in 0..2 {
        host.command(&["sync"]).expect(0).await;
    }
    scene.run(0, "status").await;
    scene.run(0, "plugin list broker-a").await;
    scene.expect_snapshot("plugin-steer");
}

#[tokio::test]
async fn the_status_has_the_parts_that_scripts_rely_on() {
    let scene = Scene::new().await;
    let mut host = scene.host().await;
    let half = fs::read(scene.stage.path("half.wasm")).unwrap();
    scene.replace(&mut host, &half, HELD).await;
    let topic = scene.topic().await;
    let candidate = &topic["candidate"];
    assert_eq!(
        keys(candidate),
        ["id", "reason", "sha256", "since", "stage"]
    );
    assert_eq!(
        (&candidate["stage"], &topic["state"]),
        (&json!("held"), &json!("active"))
    );
    assert!(candidate["reason"].as_str().unwrap().contains("30 removed"));
    assert!(candidate["since"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        (&topic["last_refusal"], &topic["probation"]),
        (&Value::Null, &Value::Null)
    );
    let (live, tick) = (&topic["policy"], &topic["last_tick"]);
    assert_eq!(
        (&live["id"], &live["sha256"]),
        (&tick["id"], &tick["sha256"])
    );
    assert_ne!(live["id"], candidate["id"]);

    host.command(&["plugin", "accept", "--all"]).expect(0).await;
    let accepted = scene.topic().await;
    assert_eq!(accepted["probation"], json!({"ticks_left": 3}));
    assert_eq!(
        (&accepted["candidate"], &accepted["policy"]["id"]),
        (&Value::Null, &candidate["id"])
    );
    host.command(&["sync"]).expect(0).await;
    let ticked = scene.topic().await;
    assert_eq!(ticked["probation"], json!({"ticks_left": 2}));
    assert_eq!(ticked["last_tick"]["id"], candidate["id"]);

    host.command(&["plugin", "rollback", "broker-a", "topic"])
        .expect(0)
        .await;
    let back = scene.topic().await;
    assert_eq!(
        (&back["probation"], &back["policy"]["id"]),
        (&Value::Null, &live["id"])
    );
    let refusal = &back["last_refusal"];
    assert_eq!(keys(refusal), ["at", "reason", "sha256", "stage"]);
    assert_eq!(
        (&refusal["stage"], &refusal["sha256"]),
        (&json!("probation"), &candidate["sha256"])
    );
    let quarantined = &back["quarantine"][0];
    assert_eq!(keys(quarantined), ["at", "id", "reason", "sha256"]);
    assert_eq!(quarantined["id"], candidate["id"]);
}
