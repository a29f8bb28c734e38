//! What an operator reads about name servers.

use std::fs;
use std::path::PathBuf;

use stub_master::{Dialect, Fault, Stub, Times};

use super::snapshot::{expect_snapshot, told};
use crate::support::{Locum, Stage};

async fn name_server(master: &str) -> Stub {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    stub.tables().set_broker(0, master);
    stub
}

/// A configuration with these keys in the place of `master`.
fn config(stage: &Stage, keys: &str) -> PathBuf {
    let path = stage.config("m:1", "");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("master = \"m:1\"", keys)).unwrap();
    path
}

fn names(name_servers: &str, cluster: &str, broker: &str) -> String {
    format!("name-servers = \"{name_servers}\"\ncluster = \"{cluster}\"\nbroker = \"{broker}\"")
}

#[tokio::test]
async fn every_error_of_a_look_up_says_what_was_tried_what_came_and_what_to_do() {
    let stage = Stage::new();
    let one = name_server("127.0.0.1:1").await;
    let other = name_server("127.0.0.1:2").await;
    let broker = name_server("127.0.0.1:1").await;
    let refusal = Fault::error(3, " request type 106 not supported");
    broker.script(106, refusal, Times::Always);
    let slaves = name_server("127.0.0.1:1").await;
    slaves.tables().remove_broker(0);
    slaves.tables().set_broker(1, "127.0.0.1:3");
    let html = name_server("127.0.0.1:1").await;
    html.tables().answer_body(106, "<html><body>502");
    let [one_at, other_at, broker_at, slaves_at, html_at] =
        [&one, &other, &broker, &slaves, &html].map(|stub| stub.address());
    let places = [
        (one_at.as_str(), "NAMES-1"),
        (&other_at, "NAMES-2"),
        (&broker_at, "BROKER"),
        (&slaves_at, "NAMES-3"),
        (&html_at, "HTML"),
    ];
    let both = format!("{one_at};{other_at}");
    let cases = [
        (names(&one_at, "C2", "broker-a"), 78),
        (names(&one_at, "C1", "broker-b"), 78),
        (names(&both, "C1", "broker-a"), 65),
        (names(&slaves_at, "C1", "broker-a"), 69),
        (names(&one_at, "C1", "broker-a"), 69),
        (
            names(&format!("127.0.0.1:1;{broker_at}"), "C1", "broker-a"),
            69,
        ),
        (names(&html_at, "C1", "broker-a"), 69),
    ];
    let mut text = String::new();
    for (keys, code) in cases {
        let words = ["sync"];
        let path = config(&stage, &keys);
        let output = Locum::new(&words).config(&path).expect(code).await;
        text += &format!("{keys}\n{}", told(&words, &output, &places));
    }
    for (place, name) in places {
        text = text.replace(place, name);
    }
    expect_snapshot("names", &text);
}

#[tokio::test]
async fn namesrv_addr_finds_the_master_and_status_says_so() {
    let (stage, master) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    let names = name_server(&master.address()).await;
    let path = config(&stage, "cluster = \"C1\"\nbroker = \"broker-a\"");
    let without = Locum::new(&["check"]).config(&path).expect(78).await;
    assert!(
        without.stderr.contains("(NAMESRV_ADDR is not set)"),
        "{}",
        without.stderr
    );
    let named = |words: &[&str]| {
        Locum::new(words)
            .config(&path)
            .env("NAMESRV_ADDR", &names.address())
    };
    named(&["check"]).expect(0).await;
    named(&["sync"]).expect(0).await;

    let keys = format!(
        "name-servers = \"{}\"\ncluster = \"C1\"\nbroker = \"broker-a\"",
        names.address()
    );
    let host = Locum::run(&config(&stage, &keys)).await;
    host.command(&["sync"]).expect(0).await;
    let status = host.command(&["status"]).expect(0).await;
    let line = format!(
        "broker-a: the master is {}, found by the name server at {}\n",
        master.address(),
        names.address()
    );
    assert!(status.stdout.contains(&line), "{}", status.stdout);
    let (code, log) = host.terminate().await;
    assert_eq!(code, 0);
    assert!(log.contains("master found"), "{log}");
}
