//! What a test can do to the stub while it runs.

use std::io::ErrorKind;
use std::time::Duration;

use crate::common::{Client, seed, start, without_times};
use stub_master::{Dialect, Fill, Kind, Live, Topic, Version};
use tokio::net::TcpStream;

async fn body(stub: &stub_master::Stub, code: i32) -> String {
    Client::connect(stub)
        .await
        .exchange(code, 1)
        .await
        .body_text()
}

#[tokio::test]
async fn a_changed_topic_makes_a_version_unless_done_quietly() {
    let stub = start(Dialect::V5_5).await;
    let tables = stub.tables();
    tables.set_version(Kind::Topics, Version::known(5, 41));
    tables.quietly().set_topic(Topic::new("T").perm(4));
    assert_eq!(tables.version(Kind::Topics), Version::known(5, 41));
    assert!(body(&stub, 21).await.contains(r#""perm":4"#));
    tables.remove_topic("T");
    assert!(
        matches!(tables.version(Kind::Topics), Version::Known { counter: 42, timestamp, .. } if timestamp > 5)
    );
    assert!(!tables.topics().contains(&"T".to_owned()));
    tables.bump(Kind::Topics);
    assert!(matches!(
        tables.version(Kind::Topics),
        Version::Known { counter: 43, .. }
    ));
}

#[tokio::test]
async fn offsets_make_a_version_at_each_500th_commit() {
    let stub = start(Dialect::V5_0).await;
    let tables = stub.tables();
    let counter = || match tables.version(Kind::ConsumerOffsets) {
        Version::Known { counter, .. } => counter,
        other => panic!("{other:?}"),
    };
    for offset in 1..500 {
        tables.commit_offset("T", "G", 0, offset);
    }
    assert_eq!(counter(), 0);
    tables.commit_offset("T", "G", 0, 500);
    tables.remove_offset("T", "other");
    assert_eq!(counter(), 1);
    assert_eq!(tables.offset("T", "G", 0), Some(500));
    tables.remove_offset("T", "G");
    assert_eq!(tables.offset("T", "G", 0), None);
    assert_eq!(counter(), 1);
}

#[tokio::test]
async fn a_deleted_topic_takes_its_offsets_along_since_5() {
    for dialect in Dialect::ALL {
        let stub = start(dialect).await;
        let tables = stub.tables();
        tables.set_topic("T");
        tables.commit_offset("T", "G", 0, 7);
        tables.commit_offset("T2", "G", 0, 7);
        tables.remove_topic("T");
        let kept = tables.offset("T", "G", 0).is_some();
        assert_eq!(kept, dialect == Dialect::V4_9, "{dialect}");
        assert_eq!(tables.offset("T2", "G", 0), Some(7));
    }
}

#[tokio::test]
async fn odd_versions_come_as_scripted() {
    let stub = start(Dialect::V5_5).await;
    let tables = stub.tables();
    for (version, start) in [
        (Version::null(), r#"{"dataVersion":null,"#),
        (Version::empty(), r#"{"dataVersion":{},"#),
        (
            Version::Text(r#"{"counter":1}"#.to_owned()),
            r#"{"dataVersion":{"counter":1},"#,
        ),
        (Version::Absent, r#"{"groupTopicMap""#),
        (
            Version::known(7, 1),
            r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":7},"#,
        ),
    ] {
        tables.set_version(Kind::ConsumerOffsets, version);
        let body = body(&stub, 43).await;
        assert!(body.starts_with(start), "{body}");
    }
}

#[tokio::test]
async fn unknown_members_and_attributes_stand_in_the_value() {
    let stub = start(Dialect::V5_5).await;
    let topic = Topic::new("T")
        .attribute("message.type", "FIFO")
        .member("futureField", "[1,2]");
    stub.tables().set_topic(topic);
    let text = concat!(
        r#""T":{"attributes":{"message.type":"FIFO"},"futureField":[1,2],"order":false,"perm":6,"#,
        r#""readQueueNums":8,"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":8}"#
    );
    let body = body(&stub, 21).await;
    assert!(body.contains(text), "{body}");
}

#[tokio::test]
async fn a_body_stands_in_until_the_master_is_honest_again() {
    let stub = start(Dialect::V4_9).await;
    let tables = stub.tables();
    let honest = body(&stub, 43).await;
    tables.answer_body(43, r#"{"offsetTable":{"T@G":{"0":7}}}"#);
    tables.answer_body(402, "known now");
    assert_eq!(body(&stub, 43).await, r#"{"offsetTable":{"T@G":{"0":7}}}"#);
    assert_eq!(body(&stub, 402).await, "known now");
    tables.answer_honestly(43);
    assert_eq!(body(&stub, 43).await, honest);
    tables.reset();
    assert_eq!(tables.body(402), None);
}

#[tokio::test]
async fn reset_gives_a_fresh_master() {
    let stub = start(Dialect::V5_5).await;
    let fresh = without_times(&body(&stub, 21).await);
    seed(&stub);
    assert_ne!(without_times(&body(&stub, 21).await), fresh);
    stub.tables().reset();
    assert_eq!(without_times(&body(&stub, 21).await), fresh);
}

#[tokio::test]
async fn the_name_server_role_shows_what_it_is_told() {
    let stub = start(Dialect::V4_9).await;
    let tables = stub.tables();
    tables.remove_broker(0);
    tables.set_broker(-1, "192.0.2.1:1");
    tables.set_broker(9_999_999_999, "[2001:db8::1]:10911");
    let body = body(&stub, 106).await;
    let addresses = r#""brokerAddrs":{-1:"192.0.2.1:1",9999999999:"[2001:db8::1]:10911"}"#;
    assert!(body.contains(addresses), "{body}");
}

#[tokio::test]
async fn a_paused_master_refuses_and_comes_back_on_its_port() {
    let stub = start(Dialect::V5_5).await;
    let mut client = Client::connect(&stub).await;
    client.exchange(45, 1).await;
    stub.pause().await.unwrap();
    stub.pause().await.unwrap();
    assert!(client.rest().await.is_empty(), "its connections end");
    let refused = TcpStream::connect(stub.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    stub.resume().await.unwrap();
    stub.resume().await.unwrap();
    let again = Client::connect(&stub).await.exchange(45, 2).await;
    assert_eq!(again.header_json()["opaque"], 2);
    assert_eq!(stub.recorder().connections(), 2);
}

#[tokio::test]
async fn dropping_it_frees_the_port() {
    let stub = start(Dialect::V5_5).await;
    let mut client = Client::connect(&stub).await;
    client.exchange(45, 1).await;
    drop(stub);
    assert!(client.rest().await.is_empty());
}

#[tokio::test]
async fn the_recorder_tells_what_was_asked_and_on_which_connection() {
    let stub = start(Dialect::V5_5).await;
    let recorder = stub.recorder().clone();
    let waiting = tokio::spawn(async move { recorder.wait_for(21, 2).await });
    Client::connect(&stub).await.exchange(21, 5).await;
    let mut second = Client::connect(&stub).await;
    second.exchange(43, 6).await;
    second
        .ask(21, 7, &[("topicSeq", "0"), ("dataVersion", "")])
        .await;
    let seen = waiting.await.unwrap();
    assert_eq!((seen.opaque, seen.connection, seen.version), (7, 2, 401));
    assert_eq!(seen.ext_fields["topicSeq"], "0");
    stub.recorder().wait_for_connections(2).await;
    assert_eq!(stub.recorder().count(21), 2);
    assert_eq!(stub.recorder().requests().len(), 3);
    stub.recorder().forget();
    assert_eq!(stub.recorder().requests(), []);
    second.ask(45, 8, &[]).await;
    assert_eq!(stub.recorder().wait_for(45, 1).await.opaque, 8);
    assert_eq!(stub.recorder().count(21), 0);
    assert_eq!(stub.recorder().connections(), 2);
}

#[tokio::test]
async fn a_fill_is_the_same_for_the_same_seed() {
    let fill: Fill = "topics=50,groups=5,offsets=200,queues=2,seed=9"
        .parse()
        .unwrap();
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let stub = start(Dialect::V4_9).await;
        stub.tables().fill(&fill);
        assert_eq!(stub.tables().topics().len(), 58);
        assert_eq!(stub.tables().groups().len(), 12);
        bodies.push(body(&stub, 43).await);
    }
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(bodies[0].matches("@group-").count(), 200);
}

#[tokio::test]
async fn live_tables_change_at_each_step() {
    let stub = start(Dialect::V5_5).await;
    let tables = stub.tables();
    let mut last = String::new();
    for step in 0..30 {
        Live::step(&tables, step);
        let now = body(&stub, 43).await;
        assert_ne!(now, last, "step {step}");
        last = now;
    }
    let topics = tables.topics();
    assert!(topics.contains(&"orders".to_owned()) && topics.contains(&"batch-009".to_owned()));
    assert!(
        !topics.contains(&"batch-004".to_owned()),
        "old ones have gone"
    );
    assert!(tables.groups().contains(&"audit-005".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn live_steps_at_once_and_then_at_each_interval() {
    let stub = start(Dialect::V5_5).await;
    let tables = stub.tables();
    let live = Live::start(tables.clone(), Duration::from_secs(1));
    // The clock stands still but for this: steps 0 to 2, at 0, 1 and 2 s.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(tables.offset("orders", "billing", 0), Some(200));
    drop(live);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(tables.offset("orders", "billing", 0), Some(200));
}
