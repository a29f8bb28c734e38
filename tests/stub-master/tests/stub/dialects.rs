//! Each dialect against bytes that real brokers of its release sent.

use crate::common::{Client, fixture, fixture_text, seed, start, without_times};
use stub_master::{Dialect, HeaderForm, Kind, Stub, Version};

/// Asks what a captured client asked, and compares header and body, times and ports aside.
async fn same_as_captured(stub: &Stub, folder: &str, name: &str) {
    let dialect = stub.dialect();
    let code: i32 = name.split('-').next().unwrap().parse().unwrap();
    let header = fixture_text(dialect, &format!("{folder}-{name}.header.json"));
    let opaque = serde_json::from_str::<serde_json::Value>(&header).unwrap()["opaque"].clone();
    let opaque = i32::try_from(opaque.as_i64().unwrap()).unwrap();
    let reply = Client::connect(stub).await.exchange(code, opaque).await;
    assert_eq!(reply.form, 0);
    assert_eq!(reply.header_text(), header, "header of {name} in {dialect}");
    let body = fixture(dialect, &format!("{folder}-{name}.body")).unwrap_or_default();
    assert_eq!(
        without_times(&reply.body_text()),
        without_times(&String::from_utf8(body).unwrap()),
        "body of {name} in {dialect}"
    );
}

#[tokio::test]
async fn a_fresh_master_answers_as_the_real_one() {
    for dialect in Dialect::ALL {
        let stub = start(dialect).await;
        for name in [
            "21-topic",
            "43-offset",
            "45-delay",
            "201-subgroup",
            "402-reqmode",
            "61-timermetrics",
            "106-cluster",
            "9999-unsupported",
        ] {
            same_as_captured(&stub, "fresh", name).await;
        }
    }
}

#[tokio::test]
async fn a_seeded_master_answers_as_the_real_one() {
    for dialect in Dialect::ALL {
        let stub = start(dialect).await;
        seed(&stub);
        for name in [
            "21-topic",
            "43-offset",
            "45-delay",
            "201-subgroup",
            "402-reqmode",
        ] {
            same_as_captured(&stub, "seeded", name).await;
        }
    }
}

#[tokio::test]
async fn the_timer_checkpoint_is_seven_integers_since_5() {
    let old = start(Dialect::V4_9).await;
    same_as_captured(&old, "fresh", "60-timercheckpoint").await;
    let stub = start(Dialect::V5_5).await;
    let reply = Client::connect(&stub).await.exchange(60, 1).await;
    assert_eq!(reply.body.len(), 56);
}

#[tokio::test]
async fn runtime_info_names_the_release() {
    for dialect in Dialect::ALL {
        let stub = start(dialect).await;
        let reply = Client::connect(&stub).await.exchange(28, 1).await;
        let info: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(info["table"]["brokerVersionDesc"], dialect.version_name());
        assert_eq!(reply.header_json()["version"], dialect.version());
        assert_eq!(
            info["table"]["brokerVersion"].is_string(),
            dialect != Dialect::V5_5
        );
    }
}

#[tokio::test]
async fn pulled_offsets_show_in_5_5_alone() {
    for dialect in Dialect::ALL {
        let stub = start(dialect).await;
        stub.tables().set_pull_offset("T_plain", "G_plain", 0, 4);
        let reply = Client::connect(&stub).await.exchange(43, 1).await;
        let filled = reply
            .body_text()
            .ends_with(r#""pullOffsetTable":{"T_plain@G_plain":{0:4}}}"#);
        assert_eq!(filled, dialect == Dialect::V5_5, "{}", reply.body_text());
    }
}

#[tokio::test]
async fn binary_requests_get_binary_replies_from_4_9_alone() {
    let request = fixture(Dialect::V4_9, "binary-21-topic.req.bin").unwrap();
    for dialect in Dialect::ALL {
        let stub = start(dialect).await;
        let mut client = Client::connect(&stub).await;
        client.write(&request).await;
        let reply = client.reply().await;
        assert_eq!(reply.form == 1, dialect == Dialect::V4_9, "{dialect}");
        assert!(!reply.body.is_empty());
        assert_eq!(stub.recorder().requests()[0].form, HeaderForm::Binary);
    }
}

#[tokio::test]
async fn binary_headers_are_those_of_4_9_7() {
    let stub = start(Dialect::V4_9).await;
    let mut client = Client::connect(&stub).await;
    for name in ["21-topic", "9999-unsupported"] {
        let file = |part: &str| fixture(Dialect::V4_9, &format!("binary-{name}.{part}")).unwrap();
        client.write(&file("req.bin")).await;
        assert_eq!(client.reply().await.header, file("header.bin"), "{name}");
    }
}

#[tokio::test]
async fn a_binary_server_writes_its_own_form() {
    let stub = start(Dialect::V5_5).await;
    seed(&stub);
    stub.reply_in(HeaderForm::Binary);
    let captured = fixture(Dialect::V5_5, "binary-server-21-topic.header.bin").unwrap();
    let opaque = i32::from_be_bytes(captured[5..9].try_into().unwrap());
    let reply = Client::connect(&stub).await.exchange(21, opaque).await;
    assert_eq!(reply.form, 1);
    assert_eq!(reply.header, captured);
}

#[tokio::test]
async fn pages_are_those_of_5_5_0() {
    let stub = start(Dialect::V5_5).await;
    seed(&stub);
    let mut client = Client::connect(&stub).await;
    let version = |kind| {
        let Version::Known {
            timestamp, counter, ..
        } = stub.tables().version(kind)
        else {
            panic!("an odd version");
        };
        format!(r#"{{"counter":{counter},"stateVersion":0,"timestamp":{timestamp}}}"#)
    };
    let topics = version(Kind::Topics);
    for (page, sequence, version) in [("p1", "0", ""), ("p2", "3", &topics), ("p8", "21", &topics)]
    {
        let ext = [
            ("topicSeq", sequence),
            ("maxTopicNum", "3"),
            ("dataVersion", version),
        ];
        client.ask(21, 1, &ext).await;
        let reply = client.reply().await;
        assert_eq!(reply.header_json()["extFields"]["totalTopicNum"], "23");
        let captured = fixture_text(Dialect::V5_5, &format!("paged-21-topic-{page}.body"));
        assert_eq!(
            without_times(&reply.body_text()),
            without_times(&captured),
            "{page}"
        );
    }
    let groups = version(Kind::SubscriptionGroups);
    let ext = [
        ("groupSeq", "12"),
        ("maxGroupNum", "3"),
        ("dataVersion", groups.as_str()),
    ];
    client.ask(201, 2, &ext).await;
    let captured = fixture_text(Dialect::V5_5, "paged-201-subgroup-p5.body");
    let body = client.reply().await.body_text();
    assert_eq!(without_times(&body), without_times(&captured));
}

#[tokio::test]
async fn bad_paging_fields_are_code_1_and_older_masters_ignore_them() {
    for dialect in Dialect::ALL {
        let stub = start(dialect).await;
        let mut client = Client::connect(&stub).await;
        client
            .ask(21, 1, &[("topicSeq", "0"), ("maxTopicNum", "0")])
            .await;
        let code = if dialect == Dialect::V5_5 { 1 } else { 0 };
        assert_eq!(
            client.reply().await.header_json()["code"],
            code,
            "{dialect}"
        );
    }
}
