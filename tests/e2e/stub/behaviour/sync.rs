//! What is not about time, on the stub master: one pass of the routines at a time.

use locum::status::{RoutineState, TickResult};
use locum::{ReplicaConfig, Slot};
use locum_tables::{CONSUMER_OFFSETS, DELAY_OFFSETS, KINDS, SUBSCRIPTION_GROUPS, TOPICS};
use stub_master::{Dialect, Fault, Gate, Group, Kind, Stub, Times, Topic};

use crate::support::{Pass, REPLICA, Stage, answered, routine, soon};

async fn stub() -> Stub {
    let stub = Stub::start(Dialect::V5_5).await.unwrap();
    stub.tables().set_topic("T1");
    stub.tables().set_group("G1");
    stub.tables().commit_offset("T1", "G1", 0, 5);
    stub.tables().set_delay(1, 10);
    stub
}

#[tokio::test]
async fn sync_all_runs_four_routines_each_for_itself() {
    for failing in KINDS {
        let (stage, stub) = (Stage::new(), stub().await);
        let refusal = Fault::error(1, "out of order");
        stub.script(failing.request_code, refusal, Times::Always);
        let host = stage.quiet_host(stage.replica(&stub)).await;
        let pass = Pass::of(&host).await;
        for kind in KINDS {
            let fails = kind == failing;
            let result = if fails {
                TickResult::Failed
            } else {
                TickResult::Updated
            };
            assert_eq!(pass.result(kind.slot), Some(result), "{}", kind.name);
            assert_eq!(stage.file(kind.file).exists(), !fails, "{}", kind.name);
        }
        assert!(pass.error(failing.slot).contains("out of order"));
    }
}

#[tokio::test]
async fn each_routine_asks_the_master_for_the_whole_table() {
    for dialect in Dialect::ALL {
        let stage = Stage::new();
        let stub = Stub::start(dialect).await.unwrap();
        let host = stage.quiet_host(stage.replica(&stub)).await;
        Pass::of(&host).await.expect_all(TickResult::Updated);
        let mut asked = stub.recorder().requests();
        asked.sort_by_key(|request| request.code);
        let codes: Vec<i32> = asked.iter().map(|request| request.code).collect();
        assert_eq!(codes, [21, 43, 45, 201], "once each");
        for request in asked {
            let paging = [
                "dataVersion",
                "topicSeq",
                "maxTopicNum",
                "groupSeq",
                "maxGroupNum",
            ];
            let pages = paging
                .iter()
                .any(|field| request.ext_fields.contains_key(*field));
            assert!(!pages, "{request:?}");
        }
        for kind in KINDS {
            assert!(
                stage.table(kind).same(&answered(&stub, kind)),
                "{}",
                kind.name
            );
        }
    }
}

#[tokio::test]
async fn a_tick_reads_the_masters_address_once() {
    let (stage, first, second) = (Stage::new(), stub().await, stub().await);
    first.tables().commit_offset("only-there", "G1", 0, 1);
    let gate = Gate::new();
    first.script(43, Fault::Late(gate.clone()), Times::Once);
    let host = stage.quiet_host(stage.replica(&first)).await;
    let replica = host.replica(REPLICA).unwrap();
    let pass = tokio::spawn({
        let replica = replica.clone();
        async move { replica.sync().await }
    });
    soon(gate.holding(1)).await;
    replica.set_master(Some(second.address()));
    gate.open();
    soon(pass).await.unwrap();

    assert_eq!(
        second.recorder().count(43),
        0,
        "this tick is the first one's"
    );
    assert!(stage.read("consumerOffset.json").contains("only-there@G1"));
    let source = routine(&host, Slot::Offset).tables[0].source.clone();
    assert_eq!(source, Some(first.address()), "told where it came from");
    Pass::of(&host).await;
    assert_eq!(
        second.recorder().count(43),
        1,
        "and the next one is the other's"
    );
}

#[tokio::test]
async fn without_a_master_nothing_is_asked_and_nothing_written() {
    let stage = Stage::new();
    let host = stage
        .quiet_host(ReplicaConfig::new(stage.directory()))
        .await;
    let pass = Pass::of(&host).await;
    for slot in Slot::ALL {
        assert_eq!(pass.report(slot).not_run, Some(RoutineState::NoMaster));
        assert_eq!(routine(&host, slot).state, RoutineState::NoMaster);
    }
    assert_eq!(stage.names(), [""; 0]);
}

#[tokio::test]
async fn a_master_of_the_replicas_own_address_is_never_asked() {
    let (stage, stub) = (Stage::new(), stub().await);
    let replica = ReplicaConfig {
        own_address: Some(stub.address()),
        ..stage.replica(&stub)
    };
    let host = stage.quiet_host(replica).await;
    let pass = Pass::of(&host).await;
    for slot in Slot::ALL {
        assert_eq!(pass.report(slot).not_run, Some(RoutineState::OwnAddress));
        assert_eq!(routine(&host, slot).state, RoutineState::OwnAddress);
    }
    assert_eq!(stub.recorder().connections(), 0);
    assert_eq!(stage.names(), [""; 0]);
}

#[tokio::test]
async fn topics_of_another_version_are_taken_over_whole() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    stub.tables().remove_topic("T1");
    stub.tables().set_topic(Topic::new("T2").perm(4));
    let pass = Pass::of(&host).await;
    assert_eq!(pass.result(Slot::Topic), Some(TickResult::Updated));

    let (ours, theirs) = (stage.table(&TOPICS), answered(&stub, &TOPICS));
    assert!(ours.same_version(&theirs) && ours.same(&theirs));
    assert!(ours.get("T1").is_none(), "the table was cleared first");
    assert!(ours.get("T2").unwrap().contains(r#""perm":4"#));
    let change = &pass.report(Slot::Topic).changes[0];
    assert_eq!(
        (&change.added[..], &change.removed[..]),
        (&["T2".to_owned()][..], &["T1".to_owned()][..])
    );
}

#[tokio::test]
async fn groups_of_another_version_are_taken_over_whole() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.tables().forbid("G1", "T1", 4);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    stub.tables().remove_group("G1");
    stub.tables().set_group(Group::new("G2").retries(2, 3));
    Pass::of(&host).await;

    let theirs = answered(&stub, &SUBSCRIPTION_GROUPS);
    let ours = stage.table(&SUBSCRIPTION_GROUPS);
    assert!(ours.same_version(&theirs) && ours.same(&theirs));
    assert!(ours.get("G1").is_none(), "the table was cleared first");
    assert!(ours.get("G2").unwrap().contains(r#""retryMaxTimes":3"#));
    let forbidden = ours.member("forbiddenTable");
    assert_eq!(forbidden, Some(r#"{"G1":{"T1":4}}"#), "kept as it came");
}

#[tokio::test]
async fn topics_and_groups_of_the_same_version_are_left_alone() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let before = stage.prints();
    for _ in 0..3 {
        Pass::of(&host).await.expect_all(TickResult::Unchanged);
    }
    assert_eq!(stage.prints(), before, "no write, no new inode");
}

#[tokio::test]
async fn topics_and_groups_that_differ_under_one_version_are_taken_over_too() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let versions = [Kind::Topics, Kind::SubscriptionGroups].map(|kind| stub.tables().version(kind));
    stub.tables().quietly().set_topic(Topic::new("T1").perm(2));
    stub.tables().quietly().remove_group("G1");
    let pass = Pass::of(&host).await;
    for (slot, kind) in [
        (Slot::Topic, &TOPICS),
        (Slot::Subgroup, &SUBSCRIPTION_GROUPS),
    ] {
        assert_eq!(pass.result(slot), Some(TickResult::Updated));
        assert!(stage.table(kind).same(&answered(&stub, kind)));
    }
    let after = [Kind::Topics, Kind::SubscriptionGroups].map(|kind| stub.tables().version(kind));
    assert_eq!(after, versions, "their versions did not move");
}

#[tokio::test]
async fn consumer_offsets_are_put_into_ours() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.tables().commit_offset("T1", "G2", 0, 100);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    stub.tables().remove_offset("T1", "G1");
    stub.tables().commit_offset("T1", "G2", 0, 40);
    stub.tables().commit_offset("T2", "G2", 3, i64::MAX);
    Pass::of(&host).await;

    let offsets = stage.json("consumerOffset.json");
    let expected = serde_json::json!({
        "T1@G1": {"0": 5}, "T1@G2": {"0": 40}, "T2@G2": {"3": i64::MAX},
    });
    assert_eq!(
        offsets["offsetTable"], expected,
        "what is only ours stays, the rest is theirs"
    );
    assert!(
        stage
            .table(&CONSUMER_OFFSETS)
            .member("groupTopicMap")
            .is_none()
    );
}

#[tokio::test]
async fn delay_offsets_are_what_came() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.tables().set_delay(18, 7);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    assert!(
        stage
            .table(&DELAY_OFFSETS)
            .same(&answered(&stub, &DELAY_OFFSETS))
    );
    stub.tables().answer_body(45, r#"{"offsetTable":{18:9}}"#);
    Pass::of(&host).await;
    let delays = stage.json("delayOffset.json");
    assert_eq!(
        delays["offsetTable"],
        serde_json::json!({"18": 9}),
        "level 1 is gone"
    );
}

#[tokio::test]
async fn persisting_writes_a_new_file_keeps_the_old_one_as_bak_and_leaves_nothing_else() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let first = stage.prints();
    assert!(
        !first.contains_key("topics.json.bak"),
        "there was none before"
    );
    stub.tables().set_topic("T2");
    Pass::of(&host).await;

    let second = stage.prints();
    assert_eq!(
        second["topics.json.bak"], first["topics.json"],
        "the same file by another name"
    );
    assert_ne!(
        second["topics.json"].0, first["topics.json"].0,
        "not written in place"
    );
    serde_json::from_slice::<serde_json::Value>(&second["topics.json"].2).unwrap();
    let names = [
        "consumerOffset.json",
        "delayOffset.json",
        "subscriptionGroup.json",
        "topics.json",
        "topics.json.bak",
    ];
    assert_eq!(stage.names(), names, "no temporary file is left");
}
