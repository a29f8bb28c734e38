//! `locum plugin new` and `build`, with a real cargo, outside of the checkout.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use locum::status::TickResult;
use locum::{ReplicaConfig, RoutineConfig, Slot};
use serde_json::Value;
use stub_master::{Dialect, Stub};
use tokio::process::Command;

use crate::support::{Locum, Output, Pass, Stage, Watched};

/// How long a cold build of the SDK may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(20);

/// A folder outside of the checkout, where no manifest or toolchain file of ours is above it.
///
/// It is the same one each time, and cargo's results stay in our own target folder: so only a first run compiles what an SDK is
/// built with, and later ones leave nothing more behind.
struct Desk {
    folder: PathBuf,
    target: PathBuf,
    _alone: File,
}

impl Desk {
    /// For one test at a time.
    fn new() -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("author");
        fs::create_dir_all(&target).unwrap();
        let alone = File::create(target.join("lock")).unwrap();
        alone.lock().unwrap();
        let mut hasher = DefaultHasher::new();
        target.hash(&mut hasher);
        let folder = std::env::temp_dir().join(format!("locum-author-{:016x}", hasher.finish()));
        let desk = Self {
            folder,
            target,
            _alone: alone,
        };
        desk.clear();
        fs::create_dir(&desk.folder).unwrap();
        desk
    }

    fn clear(&self) {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// `locum` in a folder of the desk.
    async fn locum(&self, at: &str, words: &[&str]) -> Output {
        self.end(Locum::new(words).into_command(), at).await
    }

    async fn cargo(&self, at: &str, words: &[&str]) -> Output {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(words).kill_on_drop(true);
        self.end(cargo, at).await
    }

    async fn end(&self, mut command: Command, at: &str) -> Output {
        command
            .current_dir(self.path(at))
            .env("CARGO_TARGET_DIR", &self.target);
        let ended = tokio::time::timeout(PATIENCE, Output::of(command)).await;
        ended.expect("it ends")
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.clear();
    }
}

#[track_caller]
fn expect(code: i32, output: Output) -> Output {
    assert_eq!(output.code, code, "{output:#?}");
    output
}

#[tokio::test]
async fn a_new_crate_passes_its_tests_and_becomes_a_component() {
    let desk = Desk::new();
    let made = expect(0, desk.locum("", &["plugin", "new", "my-filter"]).await);
    assert!(
        made.stdout.contains("\n  cd my-filter\n  cargo test\n"),
        "{}",
        made.stdout
    );
    let tested = expect(0, desk.cargo("my-filter", &["test"]).await);
    assert!(
        tested.stdout.contains("4 passed; 0 failed"),
        "{}",
        tested.stdout
    );
    assert!(!tested.stderr.contains("warning"), "{}", tested.stderr);

    let built = expect(0, desk.locum("my-filter", &["plugin", "build"]).await);
    assert!(
        built.stdout.starts_with("my-filter.wasm: "),
        "{}",
        built.stdout
    );
    assert!(
        built
            .stderr
            .contains("[replica.NAME.routine.topic]\n  plugin = \"my-filter.wasm\""),
        "{}",
        built.stderr
    );
    let component = fs::read(desk.path("my-filter/my-filter.wasm")).unwrap();
    assert!(
        policies::imports("my-filter", &component)
            .unwrap()
            .iter()
            .all(|import| import.starts_with(policies::PACKAGE))
    );
    let readable = String::from_utf8_lossy(&component);
    assert!(
        !readable.contains(desk.folder.to_str().unwrap()),
        "no place of this machine"
    );
}

#[tokio::test]
async fn from_nothing_to_a_swapped_policy() {
    let (desk, stage) = (Desk::new(), Stage::new());
    expect(0, desk.locum("", &["plugin", "new", "my-filter"]).await);
    let plugins = stage.plugins();
    let words = [
        "plugin",
        "build",
        "my-filter",
        "--out",
        plugins.to_str().unwrap(),
    ];
    let first = expect(0, desk.locum("", &words).await);
    assert!(
        first.stdout.contains("/plugins/my-filter.wasm: "),
        "{}",
        first.stdout
    );
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    for topic in ["bills", "carts", "orders", "orders-test", "test-orders"] {
        stub.tables().set_topic(topic);
    }
    let mut watched = Watched::start(stage.host(runs_my_filter(&stage, &stub))).await;
    Pass::of(&watched.host)
        .await
        .expect_all(TickResult::Updated);
    assert_eq!(users(&stage), ["bills", "carts", "orders", "orders-test"]);

    let source = desk.path("my-filter/src/lib.rs");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(
        &source,
        text.replace("starts_with(&beginning)", "ends_with(\"-test\")"),
    )
    .unwrap();
    let second = expect(
        0,
        desk.locum("", &[&words[..], &["--output", "json"]].concat())
            .await,
    );
    let told: Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!(told["policy"]["writes"], serde_json::json!(["topics"]));
    assert_eq!(watched.loaded(Slot::Topic).await, told["sha256"]);
    Pass::of(&watched.host).await;
    assert_eq!(users(&stage), ["bills", "carts", "orders", "test-orders"]);
}

/// A replica whose topics are the new policy's, and which runs its routines when it is asked.
fn runs_my_filter(stage: &Stage, stub: &Stub) -> ReplicaConfig {
    let routine = RoutineConfig {
        plugin: Some("my-filter.wasm".into()),
        settings: [("leave-out".to_owned(), "test-".to_owned())].into(),
        ..RoutineConfig::default()
    };
    ReplicaConfig {
        first_delay: Duration::from_hours(1),
        routines: [(Slot::Topic, routine)].into(),
        ..stage.replica(stub)
    }
}

/// The topics in the replica's file that are ours.
fn users(stage: &Stage) -> Vec<String> {
    let mut topics = stage.topics();
    topics.retain(|topic| ["bills", "carts"].contains(&topic.as_str()) || topic.contains("orders"));
    topics
}

#[tokio::test]
async fn what_no_host_takes_is_not_written() {
    let desk = Desk::new();
    let manifest = "[package]\nname = \"other\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                    [lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n";
    fs::create_dir_all(desk.path("other/src")).unwrap();
    fs::write(desk.path("other/Cargo.toml"), manifest).unwrap();
    let exports = "#[unsafe(no_mangle)]\npub extern \"C\" fn f() -> u32 { 1 }\n";
    let imports = "unsafe extern \"C\" { fn clock() -> u32; }\n\
                   #[unsafe(no_mangle)]\npub extern \"C\" fn f() -> u32 { unsafe { clock() } }\n";
    for (source, expected) in [
        (
            exports,
            "other was built, and is not written, since a host refuses it: it does not export locum:sync/policy",
        ),
        (imports, "cannot make a component of other; "),
        ("fn f() {", "cargo could not build other: "),
    ] {
        fs::write(desk.path("other/src/lib.rs"), source).unwrap();
        let told = expect(65, desk.locum("other", &["plugin", "build"]).await);
        assert!(told.stderr.contains(expected), "{}", told.stderr);
        assert_eq!(told.stdout, "");
        assert!(!desk.path("other/other.wasm").exists());
    }
}

#[tokio::test]
async fn without_rust_or_its_target_the_error_says_what_to_install() {
    let stage = Stage::without_policies();
    let new = Locum::new(&["plugin", "new", "mine"]).working_in(&stage.path(""));
    new.expect(0).await;
    let build = || Locum::new(&["plugin", "build", "mine"]).working_in(&stage.path(""));
    let nowhere = stage.path("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    // `CARGO` reads the manifest, `RUSTC` is asked for the target.
    let told = build().env("CARGO", nowhere).expect(78).await;
    assert!(
        told.stderr
            .contains("nowhere`; https://rustup.rs installs it"),
        "{}",
        told.stderr
    );
    let told = build().env("RUSTC", "true").expect(78).await;
    let expected = "the target wasm32-unknown-unknown is not installed: run `rustup target add wasm32-unknown-unknown` in mine";
    assert!(told.stderr.contains(expected), "{}", told.stderr);
}

#[tokio::test]
async fn an_sdk_is_renewed_by_the_same_command() {
    let stage = Stage::without_policies();
    let run = |words: &[&str]| Locum::new(words).working_in(&stage.path(""));
    let made = run(&["plugin", "new", "mine", "--output", "json"])
        .expect(0)
        .await;
    let told: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(
        told,
        serde_json::json!({"path": "mine", "sdk": env!("CARGO_PKG_VERSION")})
    );
    let update = ["plugin", "new", "mine", "--update-sdk"];
    let same = run(&update).expect(0).await;
    assert_eq!(
        same.stdout,
        format!(
            "mine/sdk is that of locum {} already\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    fs::write(stage.path("mine/sdk/wit/0.1.0/sync.wit"), "").unwrap();
    let renewed = run(&[&update[..], &["-o", "json"]].concat())
        .expect(0)
        .await;
    let told: Value = serde_json::from_str(&renewed.stdout).unwrap();
    assert_eq!((&told["written"], &told["removed"]), (&1.into(), &0.into()));
    let exists = run(&["plugin", "new", "mine"]).expect(64).await;
    assert!(
        exists.stderr.contains("`--update-sdk`"),
        "{}",
        exists.stderr
    );
}
