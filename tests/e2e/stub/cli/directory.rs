//! `locum verify` and `locum recover`: without a host.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::Value;
use stub_master::{Dialect, Stub};

use crate::support::{Locum, Pass, Stage};

/// A stand-in that is boot-ready.
async fn ready() -> (Stage, Stub) {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    stub.tables().commit_offset("T", "G", 0, 42);
    let stage = Stage::new();
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await;
    host.shutdown().await;
    (stage, stub)
}

#[tokio::test]
async fn verify_tells_what_a_broker_would_load_file_by_file() {
    let (stage, _stub) = ready().await;
    let directory = stage.directory();
    let verify = || Locum::new(&["verify", directory.to_str().unwrap(), "--output", "json"]);
    let told: Value = serde_json::from_str(&verify().expect(0).await.stdout).unwrap();
    assert_eq!(told["boot_ready"], true);
    let offsets = &told["tables"][1];
    assert_eq!(
        (&offsets["table"], &offsets["loads"]),
        (&"consumer-offsets".into(), &"main".into())
    );
    assert_eq!(
        (&offsets["main"]["state"], &offsets["main"]["entries"]),
        (&"whole".into(), &1.into())
    );

    fs::rename(
        stage.file("consumerOffset.json"),
        stage.file("consumerOffset.json.bak"),
    )
    .unwrap();
    let told: Value = serde_json::from_str(&verify().expect(65).await.stdout).unwrap();
    assert_eq!(told["boot_ready"], false, "the last copy is not ready");
    assert_eq!(told["tables"][1]["loads"], "backup");
}

#[tokio::test]
async fn verify_as_a_user_tells_what_that_user_could_not_read() {
    let (stage, _stub) = ready().await;
    let directory = stage.directory();
    let verify = |user| Locum::new(&["verify", directory.to_str().unwrap(), "--as", user]);
    verify("root").expect(0).await;
    fs::set_permissions(stage.path(""), fs::Permissions::from_mode(0o700)).unwrap();
    let told = verify("nobody").expect(65).await;
    assert!(
        told.stdout
            .contains("NOT boot-ready for nobody, who cannot enter or read "),
        "{}",
        told.stdout
    );
    fs::set_permissions(stage.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let told = verify("nobody").end().await;
    let root = stage.path("store");
    assert!(
        !told.stdout.contains(root.to_str().unwrap()),
        "{}",
        told.stdout
    );
    let file = stage.file("topics.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let told = verify("nobody").expect(65).await;
    assert!(
        told.stdout.contains("NOT boot-ready for nobody")
            && told.stdout.contains(file.to_str().unwrap()),
        "{}",
        told.stdout
    );
    let words = [
        "verify",
        directory.to_str().unwrap(),
        "--as",
        "nobody",
        "-o",
        "json",
    ];
    let json: Value = serde_json::from_str(&Locum::new(&words).expect(65).await.stdout).unwrap();
    let unreadable = json["unreadable"].as_array().unwrap();
    assert!(
        unreadable.contains(&file.to_str().unwrap().into()),
        "{json}"
    );
}

#[tokio::test]
async fn a_slip_in_the_path_is_not_taken_for_a_broker_that_lost_everything() {
    let (stage, _stub) = ready().await;
    let (nothing, file, parent) = (
        stage.path("nothing"),
        stage.file("topics.json"),
        stage.store(),
    );
    for (path, said) in [
        (&nothing, "No such file or directory"),
        (&file, "not a directory"),
        (&parent, "no metadata there; did you mean "),
    ] {
        let told = Locum::new(&["verify", path.to_str().unwrap()])
            .expect(65)
            .await;
        assert!(told.stderr.contains(said), "{}", told.stderr);
    }
}

#[tokio::test]
async fn recover_copies_a_stand_in_into_a_brokers_store() {
    let (stage, _stub) = ready().await;
    let (from, to) = (stage.directory(), stage.path("broker/config"));
    fs::create_dir_all(&to).unwrap();
    fs::write(to.join("topics.json"), "").unwrap();
    let recover = |more: &[&str]| {
        let words = [
            "recover",
            from.to_str().unwrap(),
            "--to",
            to.to_str().unwrap(),
        ];
        Locum::new(&[&words[..], more].concat())
    };
    let told = recover(&["--dry-run"]).expect(0).await;
    assert!(
        told.stdout.ends_with("nothing was written (--dry-run)\n"),
        "{}",
        told.stdout
    );
    assert_eq!(fs::read_dir(&to).unwrap().count(), 1);

    let told = recover(&[]).expect(0).await;
    assert!(told.stdout.ends_with("copied\n"), "{}", told.stdout);
    let said = format!("{}: a broker will load what was copied\n", to.display());
    assert_eq!(told.stderr, said);
    for file in [
        "topics.json",
        "consumerOffset.json",
        "delayOffset.json",
        "subscriptionGroup.json",
    ] {
        assert_eq!(
            fs::read(to.join(file)).unwrap(),
            fs::read(from.join(file)).unwrap()
        );
    }
    Locum::new(&["verify", to.to_str().unwrap()])
        .expect(0)
        .await;
}

/// Where the message store is lost, offsets mean nothing; and files of a new disk get the owner of their directory.
#[tokio::test]
async fn recover_without_offsets_copies_topics_and_groups_for_the_directorys_owner() {
    let (stage, _stub) = ready().await;
    let (from, to) = (stage.directory(), stage.path("broker/config"));
    fs::create_dir_all(&to).unwrap();
    std::os::unix::fs::chown(&to, Some(1234), Some(1235)).unwrap();
    let words = [
        "recover",
        from.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
        "--without-offsets",
    ];
    Locum::new(&words).expect(0).await;
    let mut names: Vec<_> = fs::read_dir(&to)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["subscriptionGroup.json", "topics.json"]);
    let owner = fs::metadata(to.join("topics.json")).unwrap();
    assert_eq!(
        (owner.uid(), owner.gid(), owner.mode() & 0o777),
        (1234, 1235, 0o644)
    );
}
