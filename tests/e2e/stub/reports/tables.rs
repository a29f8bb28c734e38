//! What a master answers, and what becomes of it in the files.

use locum::status::TickResult;
use locum::{ReplicaConfig, RoutineConfig, Slot};
use locum_tables::TOPICS;
use serde_json::json;
use stub_master::{Dialect, Kind, Stub, Topic, Version};

use crate::support::{Pass, Stage, routine};

async fn stub() -> Stub {
    Stub::start(Dialect::V5_5).await.unwrap()
}

/// apache/rocketmq#10284: fastjson 1 writes integer map keys bare, and strict parsers refuse them.
#[tokio::test]
async fn report_1_bare_and_quoted_integer_keys_give_the_same_file() {
    let mut files = Vec::new();
    for body in [
        r#"{"offsetTable":{"T@G":{0:7,1:9}}}"#,
        r#"{"offsetTable":{"T@G":{"0":7,"1":9}}}"#,
    ] {
        let (stage, stub) = (Stage::new(), stub().await);
        stub.tables().answer_body(43, body);
        stub.tables()
            .set_topic(Topic::new("T").attribute("note", "{0:1}"));
        let host = stage.quiet_host(stage.replica(&stub)).await;
        Pass::of(&host).await.expect_all(TickResult::Updated);
        let topics = stage.json("topics.json");
        let note = &topics["topicConfigTable"]["T"]["attributes"]["note"];
        assert_eq!(note, "{0:1}", "the inside of a text is left alone");
        files.push(stage.read("consumerOffset.json"));
    }
    assert_eq!(files[0], files[1]);
    assert!(files[0].contains(r#"{"0":7,"1":9}"#), "{}", files[0]);
}

/// mxsm/rocketmq-rust#411: the field has no default in the wrapper; a Java slave throws before it persists.
#[tokio::test]
async fn report_2_a_version_that_is_null_missing_or_empty_is_saved_as_unknown() {
    let (stage, stub) = (Stage::new(), stub().await);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    for (n, version) in [Version::null(), Version::Absent, Version::empty()]
        .into_iter()
        .enumerate()
    {
        let topic = format!("T{n}");
        stub.tables().quietly().set_topic(topic.as_str());
        stub.tables().commit_offset(&topic, "G", 0, 1);
        for kind in [Kind::Topics, Kind::ConsumerOffsets] {
            stub.tables().set_version(kind, version.clone());
        }
        let pass = Pass::of(&host).await;
        for slot in [Slot::Topic, Slot::Offset] {
            assert_eq!(pass.result(slot), Some(TickResult::Updated), "{version:?}");
            assert_eq!(routine(&host, slot).tables[0].version, None);
        }
        assert!(stage.topics().contains(&topic), "{version:?}");
        assert!(
            stage
                .read("consumerOffset.json")
                .contains(&format!("{topic}@G"))
        );
    }
    let asked = stub.recorder().count(21);
    Pass::of(&host).await.expect_all(TickResult::Unchanged);
    assert_eq!(
        stub.recorder().count(21),
        asked + 1,
        "unknown equals nothing: it asks again"
    );
}

/// apache/rocketmq#9499, #9547: attributes went through the operator's edit path, and the version was set before the table.
#[tokio::test]
async fn report_3_what_is_not_understood_is_kept_and_a_version_never_comes_without_its_table() {
    let (stage, stub) = (Stage::new(), stub().await);
    let topic = Topic::new("T").attribute("message.type", "FIFO");
    stub.tables()
        .set_topic(topic.member("futureField", "[1,2]"));
    let replica = stage.misbehaving(&stub, "trap-at-tick", "2");
    let host = stage.quiet_host(replica).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let topic = &stage.json("topics.json")["topicConfigTable"]["T"];
    assert_eq!(topic["attributes"], json!({"message.type": "FIFO"}));
    assert_eq!(topic["futureField"], json!([1, 2]));

    let before = stage.prints();
    stub.tables().set_topic("T2");
    let pass = Pass::of(&host).await;
    assert_eq!(
        pass.result(Slot::Topic),
        Some(TickResult::Failed),
        "it trapped"
    );
    assert_eq!(stage.prints(), before, "old table, old version");
    Pass::of(&host).await;
    assert!(
        stage.topics().contains(&"T2".to_owned()),
        "the next tick asked again"
    );
}

/// apache/rocketmq#9984: a Java slave deleted every topic and group on each round.
#[tokio::test]
async fn report_4_nothing_leaves_but_what_is_missing_in_a_whole_answer() {
    let (stage, stub) = (Stage::new(), stub().await);
    for topic in ["T1", "T2", "T3"] {
        stub.tables().set_topic(topic);
    }
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let before = (stage.prints(), stage.topics());
    Pass::of(&host).await.expect_all(TickResult::Unchanged);
    assert_eq!((stage.prints(), stage.topics()), before);

    stub.tables().remove_topic("T2");
    let pass = Pass::of(&host).await;
    assert_eq!(pass.report(Slot::Topic).changes[0].removed, ["T2"]);
    let mut expected = before.1;
    expected.retain(|topic| topic != "T2");
    assert_eq!(stage.topics(), expected, "exactly one is gone");
}

/// apache/rocketmq#9777, #9711: a version that moves by itself, or does not move with its table.
#[tokio::test]
async fn report_6_version_and_content_are_judged_each_for_itself() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.tables().set_topic("T");
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let first = stage.prints();
    for _ in 0..9 {
        Pass::of(&host).await.expect_all(TickResult::Unchanged);
    }
    assert_eq!(stage.prints(), first, "ten ticks, one write");

    stub.tables().quietly().set_topic(Topic::new("T").perm(2));
    Pass::of(&host).await;
    let corrected = stage.json("topics.json");
    assert_eq!(
        corrected["topicConfigTable"]["T"]["perm"], 2,
        "under the same version"
    );

    stub.tables().bump(Kind::Topics);
    Pass::of(&host).await;
    let Version::Known { counter, .. } = stub.tables().version(Kind::Topics) else {
        panic!("it is known");
    };
    let bumped = stage.json("topics.json");
    assert_eq!(bumped["dataVersion"]["counter"], counter);
    assert_eq!(bumped["topicConfigTable"], corrected["topicConfigTable"]);
}

/// apache/rocketmq#9703: offsets are put into ours and never leave; those of a deleted topic apply to its successor.
#[tokio::test]
async fn report_8_with_offset_mirror_the_replica_equals_the_snapshot() {
    let (stage, stub) = (Stage::new(), stub().await);
    let mirror = policies::all().bytes("offset-mirror");
    std::fs::write(stage.plugins().join("offset-mirror.wasm"), mirror).unwrap();
    let routine = RoutineConfig {
        plugin: Some("offset-mirror.wasm".into()),
        ..RoutineConfig::default()
    };
    let replica = ReplicaConfig {
        routines: [(Slot::Offset, routine)].into(),
        ..stage.replica(&stub)
    };
    let host = stage.quiet_host(replica).await;
    let offsets = || stage.json("consumerOffset.json")["offsetTable"].clone();
    stub.tables().commit_offset("T1", "G", 0, 900);
    stub.tables().commit_offset("T2", "G", 0, 5);
    Pass::of(&host).await;
    assert_eq!(offsets(), json!({"T1@G": {"0": 900}, "T2@G": {"0": 5}}));

    stub.tables().remove_offset("T2", "G");
    Pass::of(&host).await;
    assert_eq!(offsets(), json!({"T1@G": {"0": 900}}));

    stub.tables().remove_offset("T1", "G");
    stub.tables().commit_offset("T1", "G", 0, 0);
    Pass::of(&host).await;
    assert_eq!(offsets(), json!({"T1@G": {"0": 0}}), "not the old topic's");
}

/// apache/rocketmq#2259, #3358: the master's body was written to the file raw and unvalidated.
#[tokio::test]
async fn report_12_a_bad_body_of_delay_offsets_never_reaches_the_file() {
    let (stage, stub) = (Stage::new(), stub().await);
    stub.tables().set_delay(1, 10);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let before = stage.prints();
    for body in [
        r#"{"offsetTable":{1:10,2:2"#,
        "<html><body>502 Bad Gateway</body></html>",
        "{}",
        "null",
        r#"{"offsetTable":null}"#,
        r#"{"offsetTable":{-1:10}}"#,
        r#"{"offsetTable":{1:"abc"}}"#,
        r#"{"offsetTable":{1:-10}}"#,
    ] {
        stub.tables().answer_body(45, body);
        let pass = Pass::of(&host).await;
        assert_eq!(pass.result(Slot::Delay), Some(TickResult::Failed), "{body}");
        assert!(
            pass.error(Slot::Delay).contains("at byte "),
            "{}",
            pass.error(Slot::Delay)
        );
        assert_eq!(stage.prints(), before, "{body}");
    }
    stub.tables().answer_honestly(45);
    Pass::of(&host).await.expect_all(TickResult::Unchanged);
}

/// Newer masters' offset body: more tables than an older broker's file may hold, with bare keys in them.
#[tokio::test]
async fn report_35_members_that_nobody_knows_are_kept_or_dropped_as_the_list_says() {
    let (stage, stub) = (Stage::new(), stub().await);
    let body = r#"{"dataVersion":{"counter":3,"stateVersion":0,"timestamp":2},"groupTopicMap":{"G":["T"]},
        "offsetTable":{"T@G":{0:1}},"pullOffsetTable":{"T@P":{0:2}},"resetOffsetTable":{"T@R":{0:3}}}"#;
    stub.tables().answer_body(43, body);
    let host = stage.quiet_host(stage.replica(&stub)).await;
    Pass::of(&host).await.expect_all(TickResult::Updated);
    let file = stage.json("consumerOffset.json");
    let mut members: Vec<&String> = file.as_object().unwrap().keys().collect();
    members.sort_unstable();
    let kept = [
        "dataVersion",
        "offsetTable",
        "pullOffsetTable",
        "resetOffsetTable",
    ];
    assert_eq!(
        members, kept,
        "all but groupTopicMap, which a broker makes itself"
    );
    assert_eq!(file["pullOffsetTable"], json!({"T@P": {"0": 2}}));
    assert!(stage.table(&TOPICS).version().is_some());
}
