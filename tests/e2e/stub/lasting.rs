//! What the files and the records hold through damage, restarts and faults.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use locum::status::{RoutineState, TickResult};
use locum::{Host, Period, ReplicaConfig, Role, Slot, SyncReport};
use locum_tables::KINDS;
use stub_master::{Dialect, Stub};

use crate::support::{Pass, REPLICA, Stage, Watched, answered, routine, soon};

async fn stub() -> Stub {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    stub.tables().set_topic("T");
    stub
}

#[tokio::test]
async fn a_deleted_file_is_back_at_the_next_tick() {
    let (stage, stub) = (Stage::new(), stub().await);
    let replica = ReplicaConfig {
        period: Period::named(Duration::from_millis(50)),
        ..stage.replica(&stub)
    };
    let mut watched = Watched::start(stage.host(replica)).await;
    for kind in KINDS {
        watched.tick(kind.slot, TickResult::Unchanged).await;
        let text = stage.read(kind.file);
        fs::remove_file(stage.file(kind.file)).unwrap();
        watched.tick(kind.slot, TickResult::Updated).await;
        assert_eq!(stage.read(kind.file), text, "the master did not change");
    }
}

#[tokio::test]
async fn a_deleted_file_is_back_also_while_the_master_is_away() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let text = stage.read("topics.json");
    let committed = routine(&host, Slot::Topic).tables[0].source.clone();
    stub.pause().await.unwrap();
    fs::remove_file(stage.file("topics.json")).unwrap();
    host.replica(REPLICA)
        .unwrap()
        .set_master(Some("127.0.0.1:1".to_owned()));
    Pass::of(&host).await.expect_all(TickResult::Failed);
    assert_eq!(stage.read("topics.json"), text);
    let source = routine(&host, Slot::Topic).tables[0].source.clone();
    assert_eq!(
        source, committed,
        "it came from there, not from the master of now"
    );

    // Nor does it take a master at all.
    host.replica(REPLICA).unwrap().set_master(None);
    fs::remove_file(stage.file("topics.json")).unwrap();
    Pass::of(&host).await;
    assert_eq!(stage.read("topics.json"), text);
    assert_eq!(routine(&host, Slot::Topic).tables[0].source, committed);
}

#[tokio::test]
async fn a_file_that_somebody_changed_is_put_aside_and_written_again() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let text = stage.read("topics.json");
    let edited = text.replace(r#""perm":6"#, r#""perm":4"#);
    fs::write(stage.file("topics.json"), &edited).unwrap();
    let mut events = host.events();
    Pass::of(&host).await;
    assert_eq!(stage.read("topics.json"), text);
    let note = soon(async {
        loop {
            if let locum::Event::Noticed { note, .. } = events.recv().await.unwrap() {
                return note;
            }
        }
    });
    assert!(note.await.contains("topics.json was changed by somebody"));
    let aside = stage
        .names()
        .into_iter()
        .find(|name| name.starts_with("topics.json.aside-"));
    assert_eq!(stage.read(&aside.unwrap()), edited);
}

#[tokio::test]
async fn a_bad_main_beside_a_good_backup_is_main_again_after_the_start() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    host.shutdown().await;
    // What the master has is what `.bak` holds: nothing is left for a tick to do. Renamed, since a copy would be a stranger's.
    fs::rename(stage.file("topics.json"), stage.file("topics.json.bak")).unwrap();
    fs::write(stage.file("topics.json"), "{\"topicConf").unwrap();

    let host = stage.quiet_host(stage.replica(&stub)).await;
    let table = stage.table(KINDS[0]);
    assert!(table.same(&answered(&stub, KINDS[0])), "before any tick");
    let notes = host.replica(REPLICA).unwrap().status().notes;
    assert!(
        notes.iter().any(|note| note.contains("topics.json")),
        "{notes:?}"
    );
    Pass::of(&host).await.expect_all(TickResult::Unchanged);
}

#[tokio::test]
async fn a_fresh_masters_empty_tables_are_written() {
    for dialect in Dialect::ALL {
        let stage = Stage::new();
        let stub = Stub::start(dialect).await.unwrap();
        let host = stage.quiet_host(stage.replica(&stub)).await;
        Pass::of(&host).await.expect_all(TickResult::Updated);
        assert_eq!(
            stage.table(KINDS[1]).len(),
            0,
            "no offset was committed yet"
        );
        for kind in KINDS {
            assert!(
                stage.table(kind).same(&answered(&stub, kind)),
                "{}",
                kind.name
            );
        }
        let report = locum::store::inspect(&locum::store::RealDisk, &stage.directory());
        assert!(report.unwrap().boot_ready, "{dialect}");
    }
}

/// A host that was told something, started again with that configured role.
async fn restarted(stage: &Stage, stub: &Stub, host: &Host, configured: Role) -> Host {
    host.shutdown().await;
    let replica = ReplicaConfig {
        role: configured,
        ..stage.replica(stub)
    };
    stage.quiet_host(replica).await
}

#[tokio::test]
async fn a_role_set_by_command_survives_a_restart_until_the_configured_one_changes() {
    let (stage, stub) = (Stage::new(), stub().await);
    let role = |host: &Host| host.replica(REPLICA).unwrap().status().role;
    let host = stage.quiet_host(stage.replica(&stub)).await;
    assert_eq!(role(&host), Role::Slave, "as configured");
    let replica = host.replica(REPLICA).unwrap();
    replica.set_role(Role::Master).await.unwrap();

    let host = restarted(&stage, &stub, &host, Role::Slave).await;
    assert_eq!(role(&host), Role::Master, "as commanded");
    assert_eq!(
        Pass::of(&host).await.report(Slot::Topic).not_run,
        Some(RoutineState::Stopped)
    );
    let host = restarted(&stage, &stub, &host, Role::Master).await;
    assert_eq!(role(&host), Role::Master, "the configured value changed");
    let host = restarted(&stage, &stub, &host, Role::Slave).await;
    assert_eq!(
        role(&host),
        Role::Slave,
        "and the command with it is forgotten"
    );
    Pass::of(&host).await.expect_all(TickResult::Updated);
}

#[tokio::test]
async fn a_pause_survives_a_restart() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    host.replica(REPLICA)
        .unwrap()
        .pause(Slot::Delay)
        .await
        .unwrap();
    let host = restarted(&stage, &stub, &host, Role::Slave).await;
    assert_eq!(routine(&host, Slot::Delay).state, RoutineState::Paused);
    let pass = Pass::of(&host).await;
    assert_eq!(pass.report(Slot::Delay).not_run, Some(RoutineState::Paused));
    assert_eq!(pass.result(Slot::Topic), Some(TickResult::Updated));
    host.replica(REPLICA)
        .unwrap()
        .resume(Slot::Delay)
        .await
        .unwrap();
    let host = restarted(&stage, &stub, &host, Role::Slave).await;
    assert_eq!(
        Pass::of(&host).await.result(Slot::Delay),
        Some(TickResult::Updated)
    );
}

#[tokio::test]
async fn what_a_policy_remembers_survives_a_restart() {
    let (stage, stub) = (Stage::new(), stub().await);
    // It traps from its third tick on, by its own count.
    let counting = || stage.misbehaving(&stub, "trap-after-ticks", "2");
    let host = stage.quiet_host(counting()).await;
    assert_eq!(
        Pass::of(&host).await.result(Slot::Topic),
        Some(TickResult::Updated)
    );
    Pass::of(&host).await;
    host.shutdown().await;
    let host = stage.quiet_host(counting()).await;
    assert_eq!(
        Pass::of(&host).await.result(Slot::Topic),
        Some(TickResult::Failed)
    );
}

#[tokio::test]
async fn a_handle_of_a_replica_that_has_stopped_answers_and_keeps_nothing() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    let replica = host.replica(REPLICA).unwrap();
    host.shutdown().await;
    let cancelled = |report: &SyncReport| report.not_run.is_none() && report.tick.is_none();
    assert!(soon(replica.sync()).await.iter().all(cancelled));
    assert!(
        replica.set_role(Role::Master).await.is_err(),
        "it cannot be recorded"
    );
    let host = stage.quiet_host(stage.replica(&stub)).await;
    let replica = host.replica(REPLICA).unwrap();
    drop(host);
    assert!(soon(replica.sync()).await.iter().all(cancelled));
}

#[tokio::test]
async fn replicas_come_and_go_while_the_host_runs() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    let second = ReplicaConfig {
        directory: stage.path("second/config"),
        ..stage.replica(&stub)
    };
    let replica = host.add_replica("broker-b", second.clone()).await.unwrap();
    soon(replica.sync()).await;
    assert!(second.directory.join("topics.json").exists());
    assert!(
        host.add_replica("broker-b", second.clone()).await.is_err(),
        "the name is taken"
    );
    assert!(host.remove_replica("broker-b").await);
    assert!(!host.remove_replica("broker-b").await);
    host.add_replica("broker-c", second).await.unwrap();
    assert_eq!(
        host.status().replicas.len(),
        2,
        "its directory was given free"
    );
}

/// A commit that is under way when the host is told to stop is a whole one.
#[tokio::test]
async fn shutdown_waits_for_what_is_under_way_and_leaves_whole_files() {
    let (stage, stub) = (Stage::new(), stub().await);
    let replica = ReplicaConfig {
        period: Period::named(Duration::from_millis(10)),
        ..stage.replica(&stub)
    };
    for step in 0..5 {
        let host = Arc::new(stage.host(replica.clone()).start().await.unwrap());
        let mut events = host.events();
        stub.tables().set_topic(format!("T{step}").as_str());
        soon(events.recv()).await.unwrap();
        soon(host.shutdown()).await;
        let report = locum::store::inspect(&locum::store::RealDisk, &stage.directory()).unwrap();
        for table in report.tables {
            let bad = matches!(table.main.state, locum::store::CopyState::Bad { .. });
            assert!(!bad, "{table:?}");
        }
        let temporary = stage.names().into_iter().find(|name| name.contains("tmp"));
        assert_eq!(temporary, None);
    }
}
