//! Help and error texts, as snapshots: `UPDATE_SNAPSHOTS=1 cargo test -p locum --test stub help` writes them anew.

use std::fs;

use stub_master::{Dialect, Fault, Stub, Times};

use super::snapshot::{expect_snapshot, told};
use crate::support::{Locum, Stage};

#[tokio::test]
async fn help_of_each_command() {
    let commands = [
        "",
        "run",
        "check",
        "sync",
        "status",
        "role",
        "pause",
        "resume",
        "adopt",
        "verify",
        "recover",
        "plugin",
        "plugin new",
        "plugin build",
        "plugin list",
        "plugin inspect",
        "plugin plan",
        "plugin accept",
        "plugin reject",
        "plugin rollback",
        "plugin forget",
        "demo",
    ];
    let mut text = String::new();
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = Locum::new(&words).expect(0).await;
        assert_eq!(output.stderr, "");
        text += &told(&words, &output, &[]);
    }
    expect_snapshot("help", &text);
}

#[tokio::test]
async fn help_is_asked_for_when_the_command_line_is_wrong() {
    let mut text = String::new();
    for words in [
        &["sink"][..],
        &["sync", "--dry-rum"],
        &["role", "broker-a", "king"],
        &["pause", "broker-a", "topics"],
        &["recover", "standin"],
        &["plugin"],
        &["plugin", "new"],
        &["plugin", "new", "My_Filter"],
        &["plugin", "new", "."],
        &["plugin", "build", "nowhere"],
        &["plugin", "inspect", "nowhere.wasm"],
        &["plugin", "plan", "nowhere.wasm", "broker-a", "topic"],
        &["plugin", "plan", "nowhere.wasm", "broker-a"],
        &["plugin", "accept"],
        &["plugin", "reject", "broker-a"],
        &["plugin", "rollback", "broker-a", "topics"],
        &["plugin", "rollback", "broker-a", "topic", "--all"],
        &["plugin", "forget"],
    ] {
        text += &told(words, &Locum::new(words).expect(64).await, &[]);
    }
    expect_snapshot("usage", &text);
}

#[tokio::test]
async fn help_in_the_errors_says_what_and_what_to_do() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let (root, address) = (stage.path(""), stub.address());
    let root = root.to_str().unwrap().trim_end_matches('/');
    let places = [(root, "DIR"), (address.as_str(), "MASTER")];
    let mut text = String::new();
    let mut run = async |words: &[&str]| {
        let output = Locum::new(words).working_in(&stage.path("")).end().await;
        text += &told(words, &output, &places);
    };
    run(&["check"]).await;
    stage.config(&stub.address(), "own-adress = \"a:1\"");
    run(&["check"]).await;
    stage.config(&stub.address(), "period = \"10\"");
    run(&["check"]).await;
    stage.config("a-master", "");
    run(&["check"]).await;
    stage.config(&stub.address(), "");
    run(&["role", "broker-a", "master"]).await;
    run(&["status"]).await;
    run(&["sync", "broker-b"]).await;
    fs::write(stage.plugin(locum::Slot::Topic), components::broken::text()).unwrap();
    fs::remove_file(stage.plugin(locum::Slot::Delay)).unwrap();
    run(&["check"]).await;
    stub.tables()
        .answer_body(43, "<html><body>502 Bad Gateway</body></html>");
    stub.script(201, Fault::error(16, "no accessKey"), Times::Always);
    run(&["sync", "--log", "off"]).await;
    run(&["verify", "store/config"]).await;
    run(&["recover", "store/config", "--to", "other/config"]).await;
    run(&["recover", "store/config", "--to", "store/config"]).await;
    expect_snapshot("errors", &text);
}
