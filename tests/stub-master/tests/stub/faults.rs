//! Each fault as a client sees it that knows nothing but bytes.

use std::time::Duration;

use crate::common::{Client, Reply, request, start};
use stub_master::{Dialect, Fault, Gate, Times};

/// The reply's opaque.
fn opaque(reply: &Reply) -> i64 {
    reply.header_json()["opaque"].as_i64().unwrap()
}

#[tokio::test]
async fn a_silent_code_leaves_other_codes_alone() {
    let stub = start(Dialect::V5_5).await;
    stub.script(43, Fault::Silent, Times::Once);
    let mut client = Client::connect(&stub).await;
    client.ask(43, 1, &[]).await;
    client.ask(45, 2, &[]).await;
    client.ask(43, 3, &[]).await;
    assert_eq!(opaque(&client.reply().await), 2);
    assert_eq!(opaque(&client.reply().await), 3);
}

#[tokio::test]
async fn a_slow_answer_is_overtaken_and_comes() {
    let stub = start(Dialect::V4_9).await;
    stub.script(21, Fault::Slow(Duration::from_millis(50)), Times::Once);
    let mut client = Client::connect(&stub).await;
    client.ask(21, 1, &[]).await;
    client.ask(43, 2, &[]).await;
    assert_eq!(opaque(&client.reply().await), 2);
    assert_eq!(opaque(&client.reply().await), 1);
}

#[tokio::test]
async fn a_gate_holds_the_answer_as_it_was_when_asked() {
    let stub = start(Dialect::V5_0).await;
    let gate = Gate::new();
    stub.script(45, Fault::Late(gate.clone()), Times::Always);
    let mut client = Client::connect(&stub).await;
    client.ask(45, 1, &[]).await;
    gate.holding(1).await;
    stub.tables().set_delay(3, 9);
    assert_eq!(opaque(&client.exchange(43, 2).await), 2);
    gate.open();
    let reply = client.reply().await;
    assert_eq!(opaque(&reply), 1);
    assert!(reply.body_text().ends_with(r#""offsetTable":{}}"#));
    assert!(client.exchange(45, 3).await.body_text().contains("{3:9}"));
}

#[tokio::test]
async fn a_cut_frame_ends_the_stream() {
    let stub = start(Dialect::V5_5).await;
    let whole = Client::connect(&stub).await.exchange(106, 1).await;
    stub.script(106, Fault::Cut(100), Times::Once);
    let mut client = Client::connect(&stub).await;
    client.ask(106, 1, &[]).await;
    let cut = client.rest().await;
    assert_eq!(cut.len(), 100);
    assert_eq!(cut[8..], whole.header[..92]);
    // A cut after the whole frame is the whole frame.
    stub.script(106, Fault::Cut(usize::MAX), Times::Once);
    client = Client::connect(&stub).await;
    assert_eq!(client.exchange(106, 1).await, whole);
    assert!(client.rest().await.is_empty());
}

#[tokio::test]
async fn raw_bytes_come_as_they_are() {
    let stub = start(Dialect::V5_5).await;
    let wrong: [&[u8]; 5] = [
        b"\x15\x03\x03\x00\x02\x02\x28",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        &[0, 0, 0, 8, 0, 0, 0, 100, 1, 2, 3, 4],
        &[0, 0, 0, 0],
        &[0xff, 0xff, 0xff, 0xff],
    ];
    for bytes in wrong {
        stub.script(201, Fault::raw(bytes.to_vec()), Times::Once);
        let mut client = Client::connect(&stub).await;
        client.ask(201, 1, &[]).await;
        assert_eq!(client.bytes(bytes.len()).await, bytes);
        assert_eq!(
            opaque(&client.exchange(201, 2).await),
            2,
            "the connection stays open"
        );
    }
}

#[tokio::test]
async fn an_error_has_code_and_remark_and_no_body() {
    let stub = start(Dialect::V4_9).await;
    let refusal = Fault::error(16, "username cannot be null.");
    stub.script(21, refusal, Times::Count(2));
    let mut client = Client::connect(&stub).await;
    for opaque in 0..2 {
        let reply = client.exchange(21, opaque).await;
        assert_eq!(reply.header_json()["code"], 16);
        assert_eq!(reply.header_json()["remark"], "username cannot be null.");
        assert!(reply.body.is_empty());
    }
    assert_eq!(client.exchange(21, 3).await.header_json()["code"], 0);
}

#[tokio::test]
async fn an_answer_comes_twice() {
    let stub = start(Dialect::V5_5).await;
    stub.script(45, Fault::Twice, Times::Once);
    let mut client = Client::connect(&stub).await;
    let first = client.exchange(45, 7).await;
    assert_eq!(client.reply().await, first);
    assert_eq!(opaque(&client.exchange(45, 8).await), 8);
}

#[tokio::test]
async fn a_stray_answer_comes_before_the_honest_one() {
    let stub = start(Dialect::V5_5).await;
    stub.script(45, Fault::UnknownOpaque, Times::Once);
    let mut client = Client::connect(&stub).await;
    assert_eq!(opaque(&client.exchange(45, 7).await), !7);
    assert_eq!(opaque(&client.reply().await), 7);
}

#[tokio::test]
async fn honest_answers_put_a_fault_off() {
    let stub = start(Dialect::V5_5).await;
    stub.script(45, Fault::Honest, Times::Count(2));
    stub.script(45, Fault::error(2, "[REJECTREQUEST]"), Times::Always);
    let mut client = Client::connect(&stub).await;
    let mut codes = Vec::new();
    for opaque in 0..4 {
        codes.push(client.exchange(45, opaque).await.header_json()["code"].clone());
    }
    assert_eq!(codes, [0, 0, 2, 2]);
    stub.clear_script();
    assert_eq!(client.exchange(45, 9).await.header_json()["code"], 0);
}

#[tokio::test]
async fn one_way_requests_and_replies_are_not_answered() {
    let stub = start(Dialect::V5_5).await;
    let mut client = Client::connect(&stub).await;
    client.write(&request(21, 1, 2, &[])).await;
    client.write(&request(21, 2, 1, &[])).await;
    assert_eq!(opaque(&client.exchange(45, 3).await), 3);
    let codes: Vec<i32> = stub
        .recorder()
        .requests()
        .iter()
        .map(|seen| seen.code)
        .collect();
    assert_eq!(codes, [21, 45]);
}

#[tokio::test]
async fn bytes_that_are_no_frame_end_the_connection() {
    let stub = start(Dialect::V5_5).await;
    let mut client = Client::connect(&stub).await;
    client.write(b"GET / HTTP/1.1\r\n\r\n").await;
    assert!(client.rest().await.is_empty());
}
