//! Masters that want signatures, as an operator sees them (report 31).

use std::fs;

use stub_master::{Dialect, Fault, Stub, Times};

use super::snapshot::{expect_snapshot, told};
use crate::support::{Locum, Stage};

const USER: &str = "locum-reader";
const SECRET: &str = "the-secret-key-of-the-test";
const TOKEN: &str = "the-security-token-of-the-test";

const ACL: &str = "[replica.broker-a.acl]\naccess-key-file = \"keys/access\"\nsecret-key-file = \"keys/secret\"\n";

/// One clear error for as long as it lasts, and none of what is secret in all that is ever printed.
#[tokio::test]
async fn report_31_a_wrong_key_is_told_now_and_then_and_no_key_ever() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V4_9).await.unwrap());
    stub.demand_signatures([(USER, "another-secret")]);
    stage.write_key("access", USER);
    stage.write_key("secret", SECRET);
    stage.write_key("token", TOKEN);
    let period = "first-delay = \"0s\"\nperiod = \"20ms\"\n";
    let token = "security-token-file = \"keys/token\"\n";
    let config = stage.config(&stub.address(), "");
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replace("first-delay = \"1h\"\n", period) + ACL + token;
    fs::write(&config, text).unwrap();
    // What a proxy that shows what it was sent would answer.
    let shows = |signature: &str| format!("AclException: {SECRET} {TOKEN} {signature}");

    let mut host = Locum::run_with_log(&config, "trace").await;
    let first = stub.recorder().wait_for(21, 1).await;
    let signature = first.ext_fields["Signature"].clone();
    stub.recorder().wait_for(21, 40).await;
    stub.script(45, Fault::error(1, &shows(&signature)), Times::Always);
    host.until("AclException: *** *** ***").await;
    let mut printed = String::new();
    for words in [&["status"][..], &["status", "--output", "json"], &["check"]] {
        let told = host.command(words).end().await;
        printed += &told.stdout;
        printed += &told.stderr;
    }
    let (_, log) = host.terminate().await;
    let failed = |line: &&str| line.contains("tick failed") && line.contains("routine=topic");
    let lines: Vec<&str> = log.lines().filter(failed).collect();
    assert!((1..=8).contains(&lines.len()), "{lines:#?}");
    for line in lines {
        assert!(
            line.contains("Check signature failed for accessKey=locum-reader"),
            "{line}"
        );
    }
    assert!(printed.contains("Check signature failed"), "{printed}");
    for secret in [SECRET, TOKEN, signature.as_str()] {
        assert!(!log.contains(secret), "the log has {secret}");
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_keys_is_said_with_what_to_do() {
    let (stage, stub) = (Stage::new(), Stub::start(Dialect::V5_5).await.unwrap());
    stub.demand_signatures([(USER, SECRET)]);
    let (root, address) = (stage.path(""), stub.address());
    let root = root.to_str().unwrap().trim_end_matches('/');
    let places = [(root, "DIR"), (address.as_str(), "MASTER")];
    let config = stage.config(&address, ACL);
    let mut text = String::new();
    let mut run = async |words: &[&str], code: i32| {
        let output = Locum::new(words).config(&config).expect(code).await;
        text += &told(words, &output, &places);
    };
    run(&["check"], 78).await;
    run(&["sync", "--log", "off"], 78).await;
    stage.write_key("access", USER);
    stage.write_key("secret", "");
    run(&["check"], 78).await;
    stage.write_key("secret", &format!("accessKey: {USER}\nsecretKey: {SECRET}"));
    run(&["check"], 78).await;
    stage.write_key("secret", "wrong");
    run(&["check"], 0).await;
    run(&["sync", "--log", "off"], 77).await;
    stage.write_key("access", "nobody");
    run(&["sync", "--log", "off"], 77).await;
    stage.write_key("access", USER);
    stage.write_key("secret", SECRET);
    run(&["sync", "--log", "off"], 0).await;
    stage.config(&address, "");
    run(&["sync", "--dry-run", "--log", "off"], 77).await;
    expect_snapshot("keys", &text);
}
