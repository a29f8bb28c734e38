//! `locum run`, and the commands to it.

use std::fs;

use serde_json::Value;
use stub_master::{Dialect, Fault, Gate, Stub, Times};

use crate::support::{Broker, Locum, Running, Stage, soon};

async fn stub() -> Stub {
    Stub::start(Dialect::V5_5).await.unwrap()
}

async fn replica(host: &Running) -> Value {
    let told = host
        .command(&["status", "--output", "json"])
        .expect(0)
        .await;
    let mut status: Value = serde_json::from_str(&told.stdout).unwrap();
    status["replicas"][0].take()
}

fn states(replica: &Value) -> Vec<&str> {
    let routines = replica["routines"].as_array().unwrap();
    routines
        .iter()
        .map(|routine| routine["state"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn sync_goes_through_the_running_host_and_in_this_process_without_one() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    let host = Locum::run(&config).await;
    let told = host.command(&["sync", "--dry-run"]).expect(2).await;
    assert!(told.stdout.contains("would be added"), "{}", told.stdout);
    host.command(&["sync", "broker-a"]).expect(0).await;
    host.command(&["sync", "broker-b"]).expect(78).await;
    let routines = &replica(&host).await["routines"];
    for n in 0..4 {
        assert_eq!(
            routines[n]["ticks"], 1,
            "the host's own tick, and a dry run is none"
        );
    }
    assert_eq!(host.terminate().await.0, 0);
    stub.tables().set_topic("T");
    Locum::new(&["sync"]).config(&config).expect(0).await;
    assert!(stage.topics().contains(&"T".to_owned()));
}

#[tokio::test]
async fn role_pause_and_resume_are_obeyed_and_outlive_the_host() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    let host = Locum::run(&config).await;
    host.command(&["sync"]).expect(0).await;
    let told = host
        .command(&["pause", "broker-a", "delay"])
        .expect(0)
        .await;
    assert_eq!(
        (told.stdout.as_str(), told.stderr.as_str()),
        ("", "broker-a/delay is paused\n")
    );
    assert_eq!(
        states(&replica(&host).await),
        ["active", "active", "paused", "active"]
    );
    let told = host
        .command(&["role", "broker-a", "master"])
        .expect(0)
        .await;
    assert_eq!(told.stderr, "broker-a is master now\n");
    assert_eq!(states(&replica(&host).await), ["stopped"; 4]);
    host.command(&["role", "broker-b", "slave"])
        .expect(78)
        .await;
    assert_eq!(host.terminate().await.0, 0);

    let host = Locum::run(&config).await;
    assert_eq!(states(&replica(&host).await), ["stopped"; 4]);
    host.command(&["sync"]).expect(0).await;
    host.command(&["role", "broker-a", "slave"]).expect(0).await;
    assert_eq!(
        states(&replica(&host).await),
        ["waiting", "waiting", "paused", "waiting"]
    );
    host.command(&["resume", "broker-a", "delay"])
        .expect(0)
        .await;
    host.command(&["sync"]).expect(0).await;
    assert_eq!(states(&replica(&host).await), ["active"; 4]);
}

#[tokio::test]
async fn adopt_ends_a_take_over_as_the_operator_wishes() {
    for overwrite in [false, true] {
        let (stage, stub) = (Stage::new(), stub().await);
        let host = Locum::run(&stage.config(&stub.address(), "")).await;
        host.command(&["sync"]).expect(0).await;
        let ours = stage.read("topics.json");
        let theirs = ours.replace("BenchmarkTest", "made-by-the-broker");
        let broker = Broker::start(&stage.store());
        fs::write(stage.file("topics.json"), &theirs).unwrap();
        host.command(&["sync"]).expect(75).await;
        host.command(&["adopt", "broker-a"]).expect(75).await;
        drop(broker);
        host.command(&["sync"]).expect(75).await;
        let taken_over = replica(&host).await;
        assert_eq!(states(&taken_over), ["directory-in-use"; 4]);
        assert!(
            taken_over["notes"][0]
                .as_str()
                .unwrap()
                .contains("files that this host did not write (topics.json)")
        );
        assert_eq!(stage.read("topics.json"), theirs, "untouched");

        let words = ["adopt", "broker-a", "--overwrite"];
        host.command(&words[..2 + usize::from(overwrite)])
            .expect(0)
            .await;
        let changes = host.command(&["sync", "--dry-run"]).end().await.stdout;
        // Their table is the current one, and the master's differs; or ours is, and only its file has to be written again.
        assert_eq!(
            changes.contains("- topics/made-by-the-broker"),
            !overwrite,
            "{changes}"
        );
        host.command(&["sync"]).expect(0).await;
        assert_eq!(stage.read("topics.json"), ours);
        assert_eq!(states(&replica(&host).await), ["active"; 4]);
    }
}

#[tokio::test]
async fn a_second_host_on_the_directory_ends_with_75_and_names_the_holder() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    let first = Locum::run(&config).await;
    let holder = format!("pid {}", first.pid());
    let told = Locum::new(&["run"]).config(&config).expect(75).await;
    assert!(told.stderr.contains(&holder), "{}", told.stderr);

    let text = fs::read_to_string(&config).unwrap();
    let other = stage.path("other.toml");
    fs::write(&other, text.replace("\"state\"", "\"other-state\"")).unwrap();
    let told = Locum::new(&["run"]).config(&other).expect(75).await;
    assert!(told.stderr.contains(&holder), "{}", told.stderr);
    first.command(&["sync"]).expect(0).await;
}

#[tokio::test]
async fn a_state_directory_may_have_a_path_longer_than_a_sockets_address() {
    let (stage, stub) = (Stage::new(), stub().await);
    let long = format!("{}/{}", "d".repeat(120), "e".repeat(120));
    let config = stage.config(&stub.address(), "");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("\"state\"", &format!("\"{long}\""))).unwrap();
    let host = Locum::run(&config).await;
    host.command(&["sync"]).expect(0).await;
    assert_eq!(states(&replica(&host).await), ["active"; 4]);
    assert_eq!(host.terminate().await.0, 0);
    assert!(
        !stage.path(&long).join("locum.sock").exists(),
        "gone with its host"
    );
}

#[tokio::test]
async fn sigterm_gives_up_what_waits_for_the_master_and_ends_with_0() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    let host = Locum::run(&config).await;
    let gate = Gate::new();
    stub.script(21, Fault::Late(gate.clone()), Times::Always);
    let sync = tokio::spawn(host.command(&["sync"]).end());
    soon(gate.holding(1)).await;
    let (code, log) = host.terminate().await;
    assert_eq!(code, 0, "{log}");
    assert!(
        log.contains("SIGTERM") && log.trim_end().ends_with("stopped"),
        "{log}"
    );
    let told = soon(sync).await.unwrap();
    assert_eq!(
        told.code, 75,
        "whoever asked is told that nothing came of it: {told:?}"
    );
    assert!(!stage.file("topics.json").exists());
    let left: Vec<String> = stage.names();
    assert!(left.iter().all(|name| name.ends_with(".json")), "{left:?}");
}

#[tokio::test]
async fn a_host_that_was_killed_leaves_nothing_in_the_way_of_the_next() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    let host = Locum::run(&config).await;
    host.command(&["sync"]).expect(0).await;
    host.kill().await;
    assert!(stage.state().join("locum.sock").exists(), "a stale socket");
    Locum::new(&["status"]).config(&config).expect(75).await;
    let host = Locum::run(&config).await;
    host.command(&["sync"]).expect(0).await;
}

#[tokio::test]
async fn the_log_is_json_where_that_is_asked_for() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.script(21, Fault::error(16, "no accessKey"), Times::Once);
    let config = stage.config(&stub.address(), "");
    let told = Locum::new(&["sync", "--log-format", "json", "--log", "warn"])
        .config(&config)
        .expect(77)
        .await;
    let lines: Vec<Value> = told
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 1, "only what went wrong: {}", told.stderr);
    assert_eq!(
        (&lines[0]["level"], &lines[0]["routine"]),
        (&"WARN".into(), &"topic".into())
    );
    assert!(lines[0]["error"].as_str().unwrap().contains("no accessKey"));
}
