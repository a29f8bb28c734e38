//! `locum status`.

use std::collections::BTreeSet;

use serde_json::Value;
use stub_master::{Dialect, Fault, Stub, Times};

use crate::support::{Locum, Stage};

/// What the interface lists, and, marked, what is told beside it.
const KEYS: [(&str, &str); 5] = [
    ("", "replicas"),
    (
        "replicas",
        "name role master directory routines +notes +master_source",
    ),
    (
        "replicas.routines",
        "name state policy ticks failures missed last_tick last_success tables candidate last_refusal probation +quarantine +note +transitions",
    ),
    (
        "replicas.routines.last_tick",
        "number started duration_ms result error id sha256 +error_kind",
    ),
    (
        "replicas.routines.tables",
        "name entries version source committed file bytes",
    ),
];

/// The keys of all objects at a path, lists gone through.
fn keys(value: &Value, path: &str) -> BTreeSet<String> {
    match (value, path.split_once('.').unwrap_or((path, ""))) {
        (Value::Array(items), _) => items.iter().flat_map(|item| keys(item, path)).collect(),
        (Value::Object(members), ("", _)) => members.keys().cloned().collect(),
        (Value::Object(members), (first, rest)) => keys(&members[first], rest),
        _ => BTreeSet::new(),
    }
}

#[tokio::test]
async fn the_json_of_a_running_host_has_exactly_the_documented_keys() {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    stub.tables().commit_offset("T", "G", 0, 1);
    let stage = Stage::new();
    let host = Locum::run(&stage.config(&stub.address(), "")).await;
    host.command(&["sync"]).expect(0).await;
    let told = host
        .command(&["status", "--output", "json"])
        .expect(0)
        .await;
    let status: Value = serde_json::from_str(&told.stdout).unwrap();
    for (path, names) in KEYS {
        let names: BTreeSet<String> = names
            .split(' ')
            .map(|name| name.trim_start_matches('+').to_owned())
            .collect();
        assert_eq!(keys(&status, path), names, "{path}");
    }
    let policy = keys(&status, "replicas.routines.policy");
    assert_eq!(
        policy,
        ["file", "id", "name", "sha256", "since", "version"]
            .map(str::to_owned)
            .into()
    );
    let replica = &status["replicas"][0];
    assert_eq!(
        (&replica["name"], &replica["role"]),
        (&"broker-a".into(), &"slave".into())
    );
    assert_eq!(replica["master"], stub.address());
    assert_eq!(replica["directory"], stage.directory().to_str().unwrap());
    let names: Vec<&Value> = replica["routines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["topic", "offset", "delay", "subgroup"]);

    let offset = &replica["routines"][1];
    assert_eq!(
        (&offset["state"], &offset["ticks"]),
        (&"active".into(), &1.into())
    );
    assert_eq!(offset["last_tick"]["result"], "updated");
    assert_eq!(offset["last_tick"]["sha256"], offset["policy"]["sha256"]);
    assert_eq!(offset["last_success"], offset["last_tick"]["started"]);
    let started = offset["last_tick"]["started"].as_str().unwrap();
    assert!(
        started.len() == "2026-12-01T00:00:00.000Z".len() && started.ends_with('Z'),
        "{started}"
    );
    let table = &offset["tables"][0];
    assert_eq!(
        (&table["name"], &table["entries"]),
        (&"consumer-offsets".into(), &1.into())
    );
    let version = keys(&table["version"], "");
    assert_eq!(
        version,
        ["counter", "state_version", "timestamp"]
            .map(str::to_owned)
            .into()
    );
    assert_eq!(table["file"], "consumerOffset.json");
    assert_eq!(table["bytes"], stage.read("consumerOffset.json").len());
}

#[tokio::test]
async fn the_text_has_a_row_for_each_routine_and_tells_what_is_wrong() {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    stub.script(43, Fault::error(16, "no accessKey"), Times::Always);
    let stage = Stage::new();
    std::fs::remove_file(stage.plugin(locum::Slot::Delay)).unwrap();
    let host = Locum::run(&stage.config(&stub.address(), "")).await;
    host.command(&["sync"]).expect(77).await;
    let told = host.command(&["status"]).expect(0).await.stdout;
    let lines: Vec<Vec<&str>> = told
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let expected = [
        ["REPLICA", "ROUTINE", "STATE", "TICKS", "FAILED", "MISSED"],
        ["broker-a", "topic", "active", "1", "0", "0"],
        ["broker-a", "offset", "failing", "1", "1", "0"],
        ["broker-a", "delay", "no-policy", "0", "0", "0"],
    ];
    for (line, expected) in lines.iter().zip(expected) {
        assert_eq!(line[..6], expected);
    }
    assert_eq!(lines.iter().filter(|line| line[0] == "broker-a").count(), 4);
    assert!(
        told.contains("\nbroker-a: the master at ") && told.contains("no accessKey"),
        "{told}"
    );
    assert!(
        told.contains("\nbroker-a/delay: ") && told.contains("/delay.wasm is not there\n"),
        "{told}"
    );
}

#[tokio::test]
async fn an_unknown_version_is_null() {
    let stub = Stub::start(Dialect::V4_9).await.unwrap();
    let stage = Stage::new();
    let host = Locum::run(&stage.config(&stub.address(), "")).await;
    host.command(&["sync"]).expect(0).await;
    let told = host
        .command(&["status", "--output", "json"])
        .expect(0)
        .await;
    let status: Value = serde_json::from_str(&told.stdout).unwrap();
    let routines = &status["replicas"][0]["routines"];
    assert_eq!(
        routines[1]["tables"][0]["version"],
        Value::Null,
        "4.9 has none for offsets"
    );
    assert_ne!(routines[0]["tables"][0]["version"], Value::Null);
}

#[tokio::test]
async fn without_a_host_status_says_so_and_shows_what_is_on_disk() {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    let stage = Stage::new();
    let config = stage.config(&stub.address(), "");
    Locum::new(&["sync"]).config(&config).expect(0).await;
    let told = Locum::new(&["status"]).config(&config).expect(75).await;
    assert_eq!(told.stderr, "no host is running; this is what is on disk\n");
    assert!(
        told.stdout
            .starts_with("broker-a: last changed: consumer-offsets ")
            && told.stdout.contains(" ago\nTABLE "),
        "{}",
        told.stdout
    );
    assert!(
        told.stdout.ends_with("boot-ready\n") && told.stdout.contains("15 entries"),
        "{}",
        told.stdout
    );

    let json = Locum::new(&["status", "-o", "json"])
        .config(&config)
        .expect(75)
        .await;
    let status: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(status["host"], Value::Null);
    assert_eq!(status["replicas"][0]["name"], "broker-a");
    assert!(status["replicas"][0]["committed"]["topics"].is_string());
    assert_eq!(status["replicas"][0]["tables"][0]["main"]["entries"], 15);
}
