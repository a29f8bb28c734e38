//! Every exit code that a script may rely on.

use std::fs;

use stub_master::{Dialect, Fault, Stub, Times};

use crate::support::{Broker, Locum, Pass, Stage};

async fn stub() -> Stub {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    stub.tables().set_topic("T1");
    stub
}

#[tokio::test]
async fn code_0_when_all_is_well() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    let check = Locum::new(&["check"]).config(&config).expect(0).await;
    assert!(
        check.stdout.ends_with("locum.toml: ok, 1 replica(s)\n"),
        "{}",
        check.stdout
    );
    let sync = Locum::new(&["sync"]).config(&config).expect(0).await;
    assert_eq!(sync.stderr, "", "talk is for what is not well");
    let rows: Vec<&str> = sync.stdout.lines().collect();
    assert_eq!(rows.len(), 5, "{}", sync.stdout);
    assert!(
        rows[1].starts_with(
            "broker-a  topic     updated  topics: 16 added, 0 changed, 0 removed (no table yet)"
        ),
        "{}",
        rows[1]
    );
    let again = Locum::new(&["sync", "broker-a", "--output", "json"])
        .config(&config)
        .expect(0)
        .await;
    let reports: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(reports[3]["tick"]["result"], "unchanged");
}

#[tokio::test]
async fn code_2_when_a_dry_run_differs_and_nothing_is_written() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    let dry_run = || Locum::new(&["sync", "--dry-run"]).config(&config);
    dry_run().expect(2).await;
    assert_eq!(stage.names(), [""; 0]);
    Locum::new(&["sync"]).config(&config).expect(0).await;
    let before = stage.prints();
    let same = dry_run().expect(0).await;
    assert!(!same.stdout.contains("differs"), "{}", same.stdout);

    stub.tables().set_topic("T2");
    stub.tables().remove_topic("T1");
    let differs = dry_run().expect(2).await;
    let details: Vec<&str> = differs.stdout.lines().take(4).collect();
    assert_eq!(
        details[..3],
        ["+ topics/T2", "- topics/T1", "~ topics/dataVersion"]
    );
    assert!(details[3].starts_with("REPLICA "), "the sum comes last");
    assert_eq!(stage.prints(), before);
}

#[tokio::test]
async fn code_64_for_what_cannot_be_understood() {
    let stage = Stage::new();
    let there = stage.path("plugins");
    let there = there.to_str().unwrap();
    for words in [
        &[][..],
        &["sink"],
        &["sync", "--wet-run"],
        &["role", "broker-a", "king"],
        &["role", "broker-a"],
        &["pause", "broker-a", "topics"],
        &["status", "--output", "xml"],
        &["recover", there],
        &["recover", there, "--to", there],
        &["verify", there, "--as", "nobody-of-that-name"],
    ] {
        let told = Locum::new(words).expect(64).await;
        assert_eq!(told.stdout, "", "{words:?}");
        assert!(!told.stderr.is_empty(), "{words:?}");
    }
}

#[tokio::test]
async fn code_65_for_bad_data() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    stub.tables().answer_body(43, "{}");
    let sync = Locum::new(&["sync"]).config(&config).expect(65).await;
    assert!(
        sync.stdout.contains("offset    failed   what ")
            && sync.stdout.contains("no member `offsetTable`"),
        "{}",
        sync.stdout
    );
    let directory = stage.directory();
    let directory = directory.to_str().unwrap();
    Locum::new(&["verify", directory]).expect(65).await;
    let store = stage.path("other/config");
    let recover = ["recover", directory, "--to", store.to_str().unwrap()];
    let told = Locum::new(&recover).expect(65).await;
    assert!(
        told.stderr.contains("consumerOffset.json"),
        "{}",
        told.stderr
    );
    assert!(!store.exists());
}

#[tokio::test]
async fn code_69_when_the_master_cannot_be_reached_or_does_not_answer() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "request-timeout = \"200ms\"");
    stub.script(45, Fault::Silent, Times::Always);
    let silent = Locum::new(&["sync"]).config(&config).expect(69).await;
    assert!(
        silent
            .stdout
            .contains("did not answer within 200ms (request-timeout)"),
        "{}",
        silent.stdout
    );
    stub.pause().await.unwrap();
    let refused = Locum::new(&["sync"]).config(&config).expect(69).await;
    assert!(
        refused
            .stdout
            .contains(&format!("cannot reach the master at {}", stub.address()))
    );
}

#[tokio::test]
async fn code_74_when_the_disk_does_not_do_its_part() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    Locum::new(&["sync"]).config(&config).expect(0).await;
    // Not even root renames a file over a folder.
    fs::create_dir(stage.file("topics.json.bak")).unwrap();
    stub.tables().set_topic("T2");
    let sync = Locum::new(&["sync"]).config(&config).expect(74).await;
    assert!(sync.stdout.contains("topics.json.bak"), "{}", sync.stdout);

    let stage = Stage::new();
    let config = stage.config(&stub.address(), "");
    fs::write(stage.state(), "a file where the folder should be").unwrap();
    let told = Locum::new(&["sync"]).config(&config).expect(74).await;
    assert!(told.stderr.contains("state"), "{}", told.stderr);
}

#[tokio::test]
async fn code_75_when_somebody_else_holds_it_or_no_host_runs() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    for words in [
        &["role", "broker-a", "master"][..],
        &["pause", "broker-a", "topic"],
        &["resume", "broker-a", "topic"],
        &["adopt", "broker-a"],
        &["status"],
    ] {
        let told = Locum::new(words).config(&config).expect(75).await;
        assert!(
            told.stderr.contains("no host is running"),
            "{words:?}: {}",
            told.stderr
        );
    }
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await;
    let told = Locum::new(&["sync"]).config(&config).expect(75).await;
    let holder = format!("pid {}", std::process::id());
    assert!(told.stderr.contains(&holder), "{}", told.stderr);
    host.shutdown().await;

    let broker = Broker::start(&stage.store());
    let told = Locum::new(&["sync"]).config(&config).expect(75).await;
    assert!(
        told.stdout.contains("not run: directory-in-use"),
        "{}",
        told.stdout
    );
    let directory = stage.directory();
    let directory = directory.to_str().unwrap();
    let other = stage.path("other/config");
    fs::create_dir_all(&other).unwrap();
    let into_it = ["recover", directory, "--to", other.to_str().unwrap()];
    Locum::new(&into_it).expect(0).await;
    drop(broker);
    let _broker = Broker::start(&stage.path("other"));
    let told = Locum::new(&into_it).expect(75).await;
    assert!(told.stderr.contains("broker"), "{}", told.stderr);
}

#[tokio::test]
async fn code_77_when_the_master_refuses() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    stub.script(21, Fault::error(16, "no accessKey"), Times::Always);
    let told = Locum::new(&["sync"]).config(&config).expect(77).await;
    assert!(told.stdout.contains("no accessKey"), "{}", told.stdout);
}

#[tokio::test]
async fn code_78_for_a_configuration_that_cannot_be_used() {
    let (stage, stub) = (Stage::new(), stub().await);
    let missing = stage.path("nothing.toml");
    Locum::new(&["check"]).config(&missing).expect(78).await;

    let config = stage.config(&stub.address(), "perod = \"1s\"");
    for command in ["check", "run", "sync", "status"] {
        let told = Locum::new(&[command]).config(&config).expect(78).await;
        assert!(
            told.stderr
                .contains("locum.toml:13:1: unknown key `perod`; did you mean `period`?"),
            "{}",
            told.stderr
        );
    }
    let config = stage.config(&stub.address(), "");
    let told = Locum::new(&["sync", "broker-b"])
        .config(&config)
        .expect(78)
        .await;
    assert!(
        told.stderr
            .contains("there is no replica `broker-b`; there is: broker-a"),
        "{}",
        told.stderr
    );

    fs::write(stage.plugin(locum::Slot::Delay), components::broken::text()).unwrap();
    let told = Locum::new(&["check"]).config(&config).expect(78).await;
    assert!(
        told.stderr
            .contains("broker-a/delay: delay.wasm is refused: "),
        "{}",
        told.stderr
    );
    let told = Locum::new(&["sync"]).config(&config).expect(78).await;
    assert!(
        told.stdout.contains("delay     not run: no-policy"),
        "{}",
        told.stdout
    );
}

#[tokio::test]
async fn the_code_is_that_of_the_first_routine_that_fails() {
    let (stage, stub) = (Stage::new(), stub().await);
    let config = stage.config(&stub.address(), "");
    stub.tables().answer_body(43, "null");
    stub.script(201, Fault::error(16, "no"), Times::Once);
    Locum::new(&["sync"]).config(&config).expect(65).await;
    stub.script(21, Fault::error(16, "no"), Times::Once);
    Locum::new(&["sync"]).config(&config).expect(77).await;
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_error() {
    let stage = Stage::new();
    let directory = stage.directory();
    let broken_pipe = Locum::new(&["verify", directory.to_str().unwrap()]).without_reader();
    broken_pipe.expect(65).await;
}
