//! Each reply to its request, each request with its own deadline.

use std::collections::BTreeMap;

use locum_remoting::{Command, DroppedCounts, code};
use locum_tables::{CONSUMER_OFFSETS, TOPICS};
use tokio::io::AsyncWriteExt;

use super::super::{Counts, RequestError};
use super::{LONG, NO_TOPICS, ONE_OFFSET, Peer, SHORT, answers_on_a_new_connection, frame, reply};

#[tokio::test]
async fn a_table_with_the_masters_version() {
    let peer = Peer::new().await;
    let answer = async {
        let mut line = peer.accept().await;
        let (code, opaque) = line.request().await;
        assert_eq!(code, code::GET_ALL_CONSUMER_OFFSET);
        line.send(reply(opaque, ONE_OFFSET)).await;
        line
    };
    let (result, _line) = tokio::join!(peer.client.table(&CONSUMER_OFFSETS, LONG), answer);
    let answer = result.unwrap();
    assert_eq!((answer.table.len(), answer.version), (1, 513));
    assert_eq!(
        peer.client.counts(),
        Counts {
            connected: 1,
            ..Counts::default()
        }
    );
}

#[tokio::test]
async fn replies_in_any_order_and_in_small_pieces_on_one_connection() {
    let peer = Peer::new().await;
    let answer = async {
        let mut line = peer.accept().await;
        let mut opaques = BTreeMap::new();
        for _ in 0..2 {
            let (code, opaque) = line.request().await;
            opaques.insert(code, opaque);
        }
        line.send(reply(opaques[&21], NO_TOPICS)).await;
        for piece in reply(opaques[&43], ONE_OFFSET).chunks(7) {
            line.send(piece).await;
            line.stream.flush().await.unwrap();
        }
    };
    let offsets = peer.client.table(&CONSUMER_OFFSETS, LONG);
    let topics = peer.client.table(&TOPICS, LONG);
    let (offsets, topics, ()) = tokio::join!(offsets, topics, answer);
    assert_eq!(
        (offsets.unwrap().table.len(), topics.unwrap().table.len()),
        (1, 0)
    );
    assert_eq!(peer.client.counts().connected, 1);
}

#[tokio::test]
async fn late_double_unknown_and_unasked_commands_are_dropped_and_counted() {
    let peer = Peer::new().await;
    let mut line = {
        let (result, mut line) = tokio::join!(peer.client.table(&TOPICS, SHORT), peer.accept());
        assert!(
            matches!(result, Err(RequestError::TimedOut { .. })),
            "{result:?}"
        );
        let (_, opaque) = line.request().await;
        line.send(reply(opaque, NO_TOPICS)).await;
        line
    };
    peer.counted(|counts| counts.dropped.late == 1).await;
    let answer = async {
        let (_, opaque) = line.request().await;
        line.send(reply(4711, NO_TOPICS)).await;
        line.send(frame(r#"{"code":40,"flag":0,"opaque":0}"#, b""))
            .await;
        line.send(reply(opaque, NO_TOPICS)).await;
        line.send(reply(opaque, NO_TOPICS)).await;
    };
    let (result, ()) = tokio::join!(peer.client.table(&TOPICS, LONG), answer);
    assert!(result.is_ok(), "{result:?}");
    let all = DroppedCounts {
        late: 1,
        double: 1,
        unknown: 1,
        not_a_response: 1,
    };
    peer.counted(|counts| counts.dropped == all).await;
    assert_eq!(peer.client.counts().connected, 1);
}

#[tokio::test]
async fn a_silent_peer_costs_one_deadline_and_its_connection() {
    let peer = Peer::new().await;
    let (result, mut silent) = tokio::join!(peer.client.table(&TOPICS, SHORT), peer.accept());
    let error = result.unwrap_err();
    assert!(
        matches!(
            error,
            RequestError::TimedOut {
                code: 21,
                timeout: SHORT,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("GET_ALL_TOPIC_CONFIG"),
        "{error}"
    );
    answers_on_a_new_connection(&peer).await;
    silent.closed().await;
}

/// A wrong length swallows the right answers behind it: bytes come all the time, and no frame is ever whole.
#[tokio::test]
async fn a_wrong_length_costs_one_deadline_and_its_connection() {
    let peer = Peer::new().await;
    let swallowed = async {
        let mut line = peer.accept().await;
        let (_, opaque) = line.request().await;
        line.send((20_u32 << 20).to_be_bytes()).await;
        line.send(reply(opaque, NO_TOPICS)).await;
        line
    };
    let (result, line) = tokio::join!(peer.client.table(&TOPICS, SHORT), swallowed);
    let error = result.expect_err("no answer");
    assert!(matches!(error, RequestError::TimedOut { .. }), "{error:?}");
    answers_on_a_new_connection(&peer).await;
    drop(line);
}

#[tokio::test]
async fn a_deadline_is_each_requests_own() {
    let peer = Peer::new().await;
    let answer = async {
        let mut line = peer.accept().await;
        let first = line.request().await;
        let second = line.request().await;
        let (_, opaque) = if first.0 == code::GET_ALL_CONSUMER_OFFSET {
            first
        } else {
            second
        };
        (line, opaque)
    };
    let hurried = async {
        let result = peer.client.table(&TOPICS, SHORT).await;
        assert!(
            matches!(result, Err(RequestError::TimedOut { .. })),
            "{result:?}"
        );
    };
    let patient = peer.client.table(&CONSUMER_OFFSETS, LONG);
    let answer_after = async {
        let ((mut line, opaque), ()) = tokio::join!(answer, hurried);
        line.send(reply(opaque, ONE_OFFSET)).await;
    };
    let (result, ()) = tokio::join!(patient, answer_after);
    assert_eq!(result.unwrap().table.len(), 1);
}

#[tokio::test]
async fn a_request_that_has_no_bytes_is_not_sent() {
    let peer = Peer::new().await;
    let too_long = Command::request(21).with_ext("k", "v".repeat(17 << 20));
    let (result, _line) = tokio::join!(peer.client.request(too_long, LONG), peer.accept());
    assert!(
        matches!(result, Err(RequestError::NotSent { code: 21, .. })),
        "{result:?}"
    );
}
