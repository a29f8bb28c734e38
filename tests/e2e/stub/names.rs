//! Masters that name servers find.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use locum::master::{AskBrokers, Asking, BrokerInfo, ClusterInfo};
use locum::policy::Fetch;
use locum::status::{ErrorKind, RoutineState, TickResult};
use locum::{Event, Host, LookupConfig, Masters, Period, ReplicaConfig, Role, Slot};
use stub_master::{Dialect, Fault, Stub, Times};
use tokio::runtime::Handle;

use crate::support::{Pass, REPLICA, Script, Stage, Watched, routine, says};

async fn master(topic: &str) -> Stub {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    stub.tables().set_topic(topic);
    stub
}

/// A name server that says that this is the master of `broker-a` in `C1`.
async fn name_server(master: &str) -> Stub {
    let stub = Stub::start(Dialect::V4_9).await.unwrap();
    stub.tables().set_broker(0, master);
    stub
}

fn found_by(stage: &Stage, name_servers: &[&Stub]) -> ReplicaConfig {
    ReplicaConfig {
        lookup: Some(LookupConfig {
            name_servers: name_servers.iter().map(|stub| stub.address()).collect(),
            cluster: "C1".to_owned(),
            broker: "broker-a".to_owned(),
        }),
        first_delay: Duration::ZERO,
        period: Period::named(Duration::from_millis(50)),
        ..ReplicaConfig::new(stage.directory())
    }
}

fn known_master(host: &Host) -> Option<String> {
    host.replica(REPLICA).unwrap().status().master
}

fn notes(host: &Host) -> String {
    host.replica(REPLICA).unwrap().status().notes.join("\n")
}

/// Waits until the master is this one, or none; what it was before.
async fn changed(watched: &mut Watched, now: Option<String>) -> Option<String> {
    watched
        .until(|event| match event {
            Event::MasterChanged { from, to, .. } if *to == now => Some(from.clone()),
            _ => None,
        })
        .await
}

#[tokio::test]
async fn the_master_is_id_0_of_the_named_broker_and_asked_for_once() {
    let (stage, master) = (Stage::new(), master("T1").await);
    let names = name_server(&master.address()).await;
    names.tables().set_broker(1, "127.0.0.1:1");
    let host = stage.quiet_host(found_by(&stage, &[&names])).await;
    assert_eq!(routine(&host, Slot::Topic).state, RoutineState::Waiting);
    let mut events = host.events();
    Pass::of(&host).await.expect_all(TickResult::Updated);
    Pass::of(&host).await.expect_all(TickResult::Unchanged);
    assert_eq!(names.recorder().count(106), 1, "one look-up for all four");
    assert_eq!(master.recorder().count(106), 0);
    assert_eq!(master.recorder().connections(), 1);
    let status = host.replica(REPLICA).unwrap().status();
    assert_eq!(status.master, Some(master.address()));
    let source = format!("found by the name server at {}", names.address());
    assert_eq!(status.master_source, Some(source.clone()));
    assert_eq!(status.notes, [""; 0]);
    let told = std::iter::from_fn(|| events.try_recv().ok()).find_map(|event| match event {
        Event::MasterChanged { from, to, how, .. } => Some((from, to, how)),
        _ => None,
    });
    assert_eq!(told, Some((None, Some(master.address()), source)));
}

/// apache/rocketmq#7056: of two name servers the first is unreachable, and every call fails for ever.
#[tokio::test]
async fn report_37_a_black_hole_before_a_good_name_server_costs_its_share_once() {
    let (stage, master) = (Stage::new(), master("T1").await);
    let (hole, good) = (
        name_server("nobody:1").await,
        name_server(&master.address()).await,
    );
    hole.script(106, Fault::Silent, Times::Always);
    let replica = ReplicaConfig {
        request_timeout: Duration::from_millis(600),
        ..found_by(&stage, &[&hole, &good])
    };
    let host = stage.quiet_host(replica).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    assert_eq!(known_master(&host), Some(master.address()));
    let note = format!(
        "no answer from the name server at {} within 300ms",
        hole.address()
    );
    assert!(notes(&host).contains(&note), "{}", notes(&host));
}

#[tokio::test]
async fn after_a_failure_the_name_servers_are_asked_and_the_next_tick_goes_to_the_new_master() {
    let stage = Stage::new();
    let (first, second) = (master("T1").await, master("T2").await);
    let names = name_server(&first.address()).await;
    let host = stage.quiet_host(found_by(&stage, &[&names])).await;
    let mut events = host.events();
    Pass::of(&host).await.expect_all(TickResult::Updated);

    first.pause().await.unwrap();
    let error = Pass::of(&host).await.error(Slot::Topic);
    let hint = format!(
        "; {} is what the broker advertises, by the name server at {}: if it cannot be reached from here, give another address \
         in `address-map`",
        first.address(),
        names.address()
    );
    assert!(error.contains(&hint), "{error}");
    names.tables().set_broker(0, &second.address());
    let pass = Pass::of(&host).await;
    assert_eq!(pass.result(Slot::Topic), Some(TickResult::Updated));
    assert!(stage.topics().contains(&"T2".to_owned()));
    let source = routine(&host, Slot::Topic).tables[0].source.clone();
    assert_eq!(source, Some(second.address()));
    let changes: Vec<_> = std::iter::from_fn(|| events.try_recv().ok())
        .filter_map(|event| match event {
            Event::MasterChanged { from, to, .. } => Some((from, to)),
            _ => None,
        })
        .collect();
    let (first, second) = (Some(first.address()), Some(second.address()));
    assert_eq!(changes, [(None, first.clone()), (first, second)]);
}

#[tokio::test]
async fn name_servers_that_die_change_nothing_and_are_asked_again_when_they_are_back() {
    let stage = Stage::new();
    let (first, second) = (master("T1").await, master("T2").await);
    let names = name_server(&first.address()).await;
    let mut watched = Watched::start(stage.host(found_by(&stage, &[&names]))).await;
    changed(&mut watched, Some(first.address())).await;
    watched.ticks(&Slot::ALL, TickResult::Updated).await;

    names.pause().await.unwrap();
    watched.ticks(&Slot::ALL, TickResult::Unchanged).await;
    first.pause().await.unwrap();
    watched.ticks(&Slot::ALL, TickResult::Failed).await;
    watched.ticks(&Slot::ALL, TickResult::Failed).await;
    assert_eq!(known_master(&watched.host), Some(first.address()));
    let note = format!("no name server answers, so {} is still", first.address());
    assert!(
        notes(&watched.host).contains(&note),
        "{}",
        notes(&watched.host)
    );

    names.tables().set_broker(0, &second.address());
    names.resume().await.unwrap();
    let before = changed(&mut watched, Some(second.address())).await;
    assert_eq!(before, Some(first.address()));
    watched.tick(Slot::Topic, TickResult::Updated).await;
    assert_eq!(notes(&watched.host), "");
}

/// apache/rocketmq#2042: a null pointer while the master is absent.
#[tokio::test]
async fn report_38_without_id_0_the_files_are_kept_until_there_is_one_again() {
    let (stage, master) = (Stage::new(), master("T1").await);
    let names = name_server(&master.address()).await;
    let mut watched = Watched::start(stage.host(found_by(&stage, &[&names]))).await;
    watched.ticks(&Slot::ALL, TickResult::Unchanged).await;
    let before = stage.prints();

    names.tables().remove_broker(0);
    names.tables().set_broker(1, "127.0.0.1:1");
    master.pause().await.unwrap();
    assert_eq!(changed(&mut watched, None).await, Some(master.address()));
    watched.not_run(Slot::Offset, RoutineState::NoMaster).await;
    assert_eq!(watched.routine(Slot::Topic).state, RoutineState::NoMaster);
    let note = format!(
        "`broker-a` in the cluster `C1` has no master (id 0) now, by the name server at {}, only id 1 at 127.0.0.1:1; the files \
         stay as they are",
        names.address()
    );
    assert_eq!(notes(&watched.host), note);
    assert_eq!(stage.prints(), before);

    master.resume().await.unwrap();
    names.tables().set_broker(0, &master.address());
    changed(&mut watched, Some(master.address())).await;
    watched.ticks(&Slot::ALL, TickResult::Unchanged).await;
    assert_eq!(stage.prints(), before);
}

/// apache/rocketmq-connect#145: the look-up gives null, the exception is swallowed, and nothing happens for ever.
#[tokio::test]
async fn report_52_a_typo_fails_each_tick_with_what_is_known() {
    let (stage, master) = (Stage::new(), master("T1").await);
    let names = name_server(&master.address()).await;
    let cases = [
        ("C2", "broker-a", "cluster `C2`: known clusters are C1;"),
        (
            "C1",
            "broker-b",
            "`broker-b` in the cluster `C1`: known brokers there are broker-a;",
        ),
    ];
    for (cluster, broker, expected) in cases {
        let mut replica = found_by(&stage, &[&names]);
        let lookup = replica.lookup.as_mut().unwrap();
        (lookup.cluster, lookup.broker) = (cluster.to_owned(), broker.to_owned());
        let host = stage.quiet_host(replica).await;
        for _ in 0..2 {
            let pass = Pass::of(&host).await;
            for slot in Slot::ALL {
                let error = pass.error(slot);
                assert!(error.contains(expected), "{error}");
                let routine = routine(&host, slot);
                assert_eq!(routine.state, RoutineState::Failing);
                let kind = routine.last_tick.unwrap().error_kind;
                assert_eq!(kind, Some(ErrorKind::Config));
            }
        }
        assert_eq!(stage.names(), [""; 0]);
        host.shutdown().await;
    }
    assert_eq!(master.recorder().connections(), 0);
}

/// apache/rocketmq#6316: two masters claim id 0.
#[tokio::test]
async fn report_38_name_servers_that_disagree_stop_the_copying_until_they_agree() {
    let stage = Stage::new();
    let (one, other) = (master("T1").await, master("T2").await);
    let (left, right) = (
        name_server(&one.address()).await,
        name_server(&other.address()).await,
    );
    let host = stage.quiet_host(found_by(&stage, &[&left, &right])).await;
    let pass = Pass::of(&host).await;
    let claims = format!(
        "disagree on the master of `broker-a` in the cluster `C1`: {} says {}, {} says {};",
        left.address(),
        one.address(),
        right.address(),
        other.address()
    );
    for slot in Slot::ALL {
        assert!(pass.error(slot).contains(&claims), "{}", pass.error(slot));
    }
    let asked = [&one, &other].map(|stub| stub.recorder().connections());
    assert_eq!((asked, known_master(&host)), ([0, 0], None));
    right.tables().set_broker(0, &one.address());
    Pass::of(&host).await.expect_all(TickResult::Updated);
    assert_eq!(known_master(&host), Some(one.address()));
}

/// apache/rocketmq#4140: the advertised address is one of a container's bridge.
#[tokio::test]
async fn report_41_an_address_that_cannot_be_reached_is_mapped() {
    let (stage, master) = (Stage::new(), master("T1").await);
    let names = name_server("192.0.2.1:10911").await;
    let replica = ReplicaConfig {
        address_map: [("192.0.2.1:10911".to_owned(), master.address())].into(),
        ..found_by(&stage, &[&names])
    };
    let host = stage.quiet_host(replica).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let status = host.replica(REPLICA).unwrap().status();
    assert_eq!(status.master, Some(master.address()));
    let source = format!(
        "mapped from 192.0.2.1:10911, which was found by the name server at {}",
        names.address()
    );
    assert_eq!(status.master_source, Some(source));
}

#[tokio::test]
async fn a_found_master_that_is_our_own_broker_is_never_asked() {
    let (stage, master) = (Stage::new(), master("T1").await);
    let names = name_server("192.0.2.1:10911").await;
    for own in ["192.0.2.1:10911".to_owned(), master.address()] {
        let replica = ReplicaConfig {
            address_map: [("192.0.2.1:10911".to_owned(), master.address())].into(),
            own_address: Some(own),
            ..found_by(&stage, &[&names])
        };
        let host = stage.quiet_host(replica).await;
        let pass = Pass::of(&host).await;
        for slot in Slot::ALL {
            assert_eq!(pass.report(slot).not_run, Some(RoutineState::OwnAddress));
        }
        host.shutdown().await;
    }
    assert_eq!(master.recorder().connections(), 0);
}

/// Name servers by a script, on the clock of the test.
#[derive(Clone)]
struct Names {
    script: Script,
    master: Arc<Mutex<String>>,
    asked: Arc<AtomicU64>,
}

impl Masters for Names {
    fn connect(&self, address: &str, replica: &ReplicaConfig) -> Arc<dyn Fetch> {
        self.script.connect(address, replica)
    }

    fn name_server(&self, _: &str, _: &ReplicaConfig) -> Arc<dyn AskBrokers> {
        Arc::new(self.clone())
    }
}

impl AskBrokers for Names {
    fn brokers(&self, _: Duration) -> Asking<'_> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let broker = BrokerInfo {
            clusters: ["C1".to_owned()].into(),
            addresses: [(0, self.master.lock().unwrap().clone())].into(),
        };
        let brokers = [("broker-a".to_owned(), broker)].into();
        Box::pin(async move { Ok(ClusterInfo { brokers }) })
    }
}

/// A host on the clock of the test, whose master is found by the script: at 3 s, and each 10 s from there.
async fn scripted(stage: &Stage) -> (Names, Watched) {
    let names = Names {
        script: Script::new(|_, _| says()),
        master: Arc::new(Mutex::new("first:10911".to_owned())),
        asked: Arc::default(),
    };
    let mut replica = ReplicaConfig {
        period: Period::named(Duration::from_secs(10)),
        first_delay: Duration::from_secs(3),
        ..found_by(stage, &[])
    };
    let lookup = replica.lookup.as_mut().unwrap();
    lookup.name_servers = vec!["names:9876".to_owned()];
    let builder = stage.host(replica).masters(Arc::new(names.clone()));
    let watched = Watched::start(builder.ticks_on(Handle::current())).await;
    (names, watched)
}

#[tokio::test(start_paused = true)]
async fn while_all_is_well_the_name_servers_are_asked_each_minute() {
    let stage = Stage::new();
    let (names, watched) = scripted(&stage).await;
    let script = &names.script;
    script.until(8.0).await;
    *names.master.lock().unwrap() = "second:10911".to_owned();
    script.until(58.0).await;
    // Six ticks of four routines.
    assert_eq!(script.addresses(), ["first:10911"; 24]);
    assert_eq!(names.asked.load(Ordering::Relaxed), 1);
    // Asked at 63 s, beside the ticks; those of 73 s go there.
    script.until(68.0).await;
    assert_eq!(names.asked.load(Ordering::Relaxed), 2);
    assert_eq!(known_master(&watched.host).as_deref(), Some("second:10911"));
    script.until(78.0).await;
    assert_eq!(script.addresses()[28..], ["second:10911"; 4]);
    script.until(128.0).await;
    assert_eq!(names.asked.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn taking_the_role_slave_asks_the_name_servers_anew_and_a_master_asks_nobody() {
    let stage = Stage::new();
    let (names, watched) = scripted(&stage).await;
    names.script.until(8.0).await;
    watched.replica().set_role(Role::Master).await.unwrap();
    assert_eq!(known_master(&watched.host), None);
    names.script.until(600.0).await;
    assert_eq!(names.asked.load(Ordering::Relaxed), 1);

    *names.master.lock().unwrap() = "second:10911".to_owned();
    watched.replica().set_role(Role::Slave).await.unwrap();
    names.script.until(608.0).await;
    assert_eq!(names.asked.load(Ordering::Relaxed), 2);
    let (first, second) = (["first:10911"; 4], ["second:10911"; 4]);
    assert_eq!(names.script.addresses(), [first, second].concat());
}
