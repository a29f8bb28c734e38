//! Files, locks and restarts.

use std::fs;
use std::time::Duration;

use locum::status::{RoutineState, TickResult};
use locum::{Period, ReplicaConfig, Slot};
use locum_tables::KINDS;
use stub_master::{Dialect, Stub};

use crate::support::{Broker, Locum, Pass, Stage, Watched, routine};

async fn stub() -> Stub {
    Stub::start(Dialect::V5_5).await.unwrap()
}

/// apache/rocketmq#9328: main and backup are both bad, since what was damaged already was copied to `.bak`.
#[tokio::test]
async fn report_14_a_damaged_main_is_put_aside_and_never_becomes_the_backup() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.tables().set_topic("T1");
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    stub.tables().set_topic("T2");
    Pass::of(&host).await;
    host.shutdown().await;
    let good_backup = fs::read(stage.file("topics.json.bak")).unwrap();
    fs::write(stage.file("topics.json"), [0; 4096]).unwrap();

    let host = stage.quiet_host(stage.replica(&stub)).await;
    assert_eq!(
        fs::read(stage.file("topics.json")).unwrap(),
        good_backup,
        "main again at the start"
    );
    stub.tables().set_topic("T3");
    Pass::of(&host).await;
    assert!(stage.topics().contains(&"T3".to_owned()));
    assert_eq!(
        fs::read(stage.file("topics.json.bak")).unwrap(),
        good_backup
    );
    let aside = stage
        .names()
        .into_iter()
        .find(|name| name.starts_with("topics.json.bad-"));
    assert_eq!(
        fs::read(stage.file(&aside.unwrap())).unwrap(),
        [0; 4096],
        "the evidence is kept"
    );
}

/// apache/rocketmq-spring#106: a broker comes up with nothing at all, silently, because both files are missing.
#[tokio::test]
async fn report_15_a_dead_master_and_an_empty_folder_make_no_file_and_nothing_is_ready() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.pause().await.unwrap();
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Failed);
    assert_eq!(stage.names(), [""; 0]);
    host.shutdown().await;

    let directory = stage.directory();
    let told = Locum::new(&["verify", directory.to_str().unwrap()])
        .expect(65)
        .await;
    assert!(told.stdout.ends_with("NOT boot-ready\n"), "{}", told.stdout);
    stub.resume().await.unwrap();
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    fs::remove_file(stage.file("delayOffset.json")).unwrap();
    Locum::new(&["verify", directory.to_str().unwrap()])
        .expect(65)
        .await;
}

/// affaan-m/ECC#1983, apache/rocketmq#6593: two writers on one folder.
#[tokio::test]
async fn report_29_a_second_host_is_refused_and_told_who_holds_the_folder() {
    let (stage, stub) = (Stage::new(), stub().await);
    let _first = stage.quiet_host(stage.replica(&stub)).await;
    let second = stage
        .host(stage.replica(&stub))
        .without_schedule()
        .start()
        .await;
    let error = locum::telemetry::chain(&second.err().expect("it is refused"));
    let holder = format!("pid {}", std::process::id());
    assert!(
        error.contains(&holder) && error.contains(REPLICA_PLACE),
        "{error}"
    );
}

const REPLICA_PLACE: &str = "store/config";

/// The same report: a running broker owns the folder.
#[tokio::test]
async fn report_29_nothing_is_written_while_a_broker_runs_on_the_folder() {
    let (stage, stub) = (Stage::new(), stub().await);
    fs::create_dir_all(stage.directory()).unwrap();
    let replica = ReplicaConfig {
        period: Period::named(Duration::from_millis(50)),
        ..stage.replica(&stub)
    };
    let broker = Broker::start(&stage.store());
    let mut watched = Watched::start(stage.host(replica)).await;
    for slot in Slot::ALL {
        watched.not_run(slot, RoutineState::DirectoryInUse).await;
    }
    assert_eq!(stage.names(), [""; 0]);
    assert_eq!(
        stub.recorder().connections(),
        0,
        "nothing is asked for nothing"
    );
    let notes = watched.replica().status().notes;
    assert!(
        notes[0].contains(&format!("pid {}", broker.pid())),
        "{notes:?}"
    );

    drop(broker);
    watched.ticks(&Slot::ALL, TickResult::Updated).await;
    let _again = Broker::start(&stage.store());
    watched
        .not_run(Slot::Topic, RoutineState::DirectoryInUse)
        .await;
    let before = stage.prints();
    stub.tables().set_topic("T");
    for _ in 0..3 {
        // The log is damped; the events are not.
        watched
            .not_run(Slot::Topic, RoutineState::DirectoryInUse)
            .await;
    }
    assert_eq!(stage.prints(), before);
    assert_eq!(
        watched.routine(Slot::Topic).state,
        RoutineState::DirectoryInUse
    );
}

/// apache/rocketmq#9206: in RocksDB mode synced metadata vanish at the restart, since the broker does not read our files.
#[tokio::test]
async fn report_43_a_target_with_metadata_in_rocksdb_is_refused() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    host.shutdown().await;
    drop(host);
    fs::create_dir(stage.file("topics")).unwrap();
    fs::write(stage.file("topics/CURRENT"), "MANIFEST-000005\n").unwrap();
    let before = stage.prints();

    let refused = stage.host(stage.replica(&stub)).start().await;
    let error = locum::telemetry::chain(&refused.err().expect("it is refused"));
    assert!(
        error.contains("RocksDB") && error.contains("topics"),
        "{error}"
    );
    assert_eq!(stage.prints(), before, "both forms are as they were");
    let directory = stage.directory();
    let told = Locum::new(&["verify", directory.to_str().unwrap()])
        .expect(65)
        .await;
    assert!(
        told.stdout.contains("metadata in RocksDB (topics)"),
        "{}",
        told.stdout
    );
}

/// KAFKA-15905: a restart stops translation or rewinds.
#[tokio::test]
async fn report_48_ten_restarts_without_a_change_of_the_master_change_no_byte() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.tables().set_topic("T");
    stub.tables().commit_offset("T", "G", 0, 1);
    stub.tables().set_delay(1, 1);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    host.shutdown().await;
    let record = stage.state().join("replica-broker-a.json");
    let before = (stage.prints(), fs::read(&record).unwrap());
    for _ in 0..10 {
        let host = stage.quiet_host(stage.replica(&stub)).await;
        Pass::of(&host).await.expect_all(TickResult::Unchanged);
        for kind in KINDS {
            let table = &routine(&host, kind.slot).tables[0];
            assert_eq!(
                table.source,
                Some(stub.address()),
                "who wrote it is known still"
            );
        }
        host.shutdown().await;
        assert_eq!((stage.prints(), fs::read(&record).unwrap()), before);
    }
}
