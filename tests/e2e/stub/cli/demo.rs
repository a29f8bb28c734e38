//! `locum demo`.

use std::fs;

use crate::support::{Locum, Stage};

#[tokio::test]
async fn the_demo_shows_the_main_job_and_ends_by_itself_with_0() {
    let stage = Stage::new();
    fs::create_dir(stage.plugins().join("examples")).unwrap();
    for example in ["offset-mirror", "topic-filter"] {
        let file = stage.plugins().join(format!("examples/{example}.wasm"));
        fs::write(file, policies::all().bytes(example)).unwrap();
    }
    let plugins = stage.plugins();
    let demo = Locum::new(&["demo", "--plugins", plugins.to_str().unwrap()]);
    let told = demo
        .env("TMPDIR", stage.path("").to_str().unwrap())
        .expect(0)
        .await;
    for text in [
        "ROUTINE",
        "made-just-now",
        "It is in topics.json after",
        "noticed after",
        "tried beside the next tick",
        "The probation is over",
        "topic.wasm does not fit its settings: its setting `keep` must be set",
        "ticks missed since the start: 0",
        "boot-ready",
    ] {
        assert!(told.stdout.contains(text), "{text}: {}", told.stdout);
    }
    let left = fs::read_dir(stage.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["plugins"], "it cleans up");
}

#[tokio::test]
async fn without_policies_the_demo_says_how_to_build_them() {
    let stage = Stage::without_policies();
    let plugins = stage.plugins();
    let told = Locum::new(&["demo", "--plugins", plugins.to_str().unwrap()])
        .expect(78)
        .await;
    assert!(
        told.stderr.contains("`make build` makes the policies"),
        "{}",
        told.stderr
    );
}
