//! Answers that are none: closed, of another protocol, damaged, too large, refused.

use locum_remoting::code;
use locum_tables::{CONSUMER_OFFSETS, SUBSCRIPTION_GROUPS, TOPICS};
use tokio::io::AsyncWriteExt;

use super::super::{ClientOptions, LostError, RequestError};
use super::{LONG, NO_TOPICS, ONE_OFFSET, Peer, refusal, reply, said_to, text};

#[tokio::test]
async fn a_connection_that_is_closed_before_the_answer() {
    let silent = said_to("").await;
    assert!(
        matches!(
            silent,
            RequestError::Closed {
                source: LostError::Silent,
                ..
            }
        ),
        "{silent:?}"
    );
    assert!(text(&silent).contains("TLS"), "{}", text(&silent));
    let cut = said_to(&reply(0, NO_TOPICS)[..50]).await;
    assert!(
        matches!(
            cut,
            RequestError::Closed {
                source: LostError::Cut(_),
                ..
            }
        ),
        "{cut:?}"
    );
    assert!(
        text(&cut).contains("50 bytes into a frame"),
        "{}",
        text(&cut)
    );
    let closed = said_to(reply(4711, NO_TOPICS)).await;
    assert!(
        matches!(
            closed,
            RequestError::Closed {
                source: LostError::Closed,
                ..
            }
        ),
        "{closed:?}"
    );
}

#[tokio::test]
async fn peers_that_speak_something_else_are_named() {
    let cases: [(&[u8], &str); 4] = [
        (b"\x15\x03\x03\x00\x02\x02\x46", "speaks TLS"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "speaks TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP:"),
        (b"PRI * HTTP/2.0\r\n\r\n", "speaks HTTP/2"),
    ];
    for (bytes, hint) in cases {
        let error = said_to(bytes).await;
        assert!(matches!(error, RequestError::Malformed { .. }), "{error:?}");
        assert!(text(&error).contains(hint), "{}", text(&error));
    }
}

#[tokio::test]
async fn frames_that_cannot_be() {
    let cases: [(&[u8], &str); 5] = [
        (b"\x00\x00\x00\x00", "a frame length of 0 cannot be"),
        (b"\xff\xff\xff\xff", "a frame length of -1 cannot be"),
        (
            b"\x00\x00\x00\x0a\x00\x00\x00\x07",
            "a header of 7 bytes in a frame of 10",
        ),
        (
            b"\x00\x00\x00\x0a\x05\x00\x00\x06",
            "header type byte 5 is not known",
        ),
        (
            b"\x00\x00\x00\x06\x00\x00\x00\x02[]",
            "the header cannot be read: JSON header: ",
        ),
    ];
    for (bytes, expected) in cases {
        let error = said_to(bytes).await;
        assert!(matches!(error, RequestError::Malformed { .. }), "{error:?}");
        assert!(text(&error).contains(expected), "{}", text(&error));
    }
}

/// An offset table of 18 MiB, as apache/rocketmq#9467 and #10168 have it.
fn large_answer(opaque: i32) -> Vec<u8> {
    let mut body = ONE_OFFSET.as_bytes().to_vec();
    body.resize(18 << 20, b' ');
    reply(opaque, body)
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_alone() {
    let peer = Peer::with(ClientOptions {
        frame_limit: 16 << 20,
        ..ClientOptions::default()
    })
    .await;
    let answer = async {
        let mut line = peer.accept().await;
        let first = line.request().await;
        let second = line.request().await;
        let (_, opaque) = if first.0 == code::GET_ALL_CONSUMER_OFFSET {
            first
        } else {
            second
        };
        // The client closes as soon as it has the header, so not all of it can be sent.
        let _ = line.stream.write_all(&large_answer(opaque)).await;
        let mut line = peer.accept().await;
        let (code, opaque) = line.request().await;
        assert_eq!(
            code,
            code::GET_ALL_TOPIC_CONFIG,
            "the other request is asked again"
        );
        line.send(reply(opaque, NO_TOPICS)).await;
    };
    let offsets = peer.client.table(&CONSUMER_OFFSETS, LONG);
    let topics = peer.client.table(&TOPICS, LONG);
    let (offsets, topics, ()) = tokio::join!(offsets, topics, answer);
    let error = offsets.unwrap_err();
    let size = large_answer(0).len() as u64;
    assert!(
        matches!(error, RequestError::TooLarge { code: 43, size: told, limit: 16_777_216, .. } if told == size),
        "{error:?}"
    );
    assert!(error.to_string().contains("frame-limit"), "{error}");
    assert!(topics.unwrap().table.is_empty());
}

#[tokio::test]
async fn the_same_answer_within_the_limit() {
    let peer = Peer::with(ClientOptions {
        frame_limit: 64 << 20,
        ..ClientOptions::default()
    })
    .await;
    let answer = async {
        let mut line = peer.accept().await;
        let (_, opaque) = line.request().await;
        line.send(large_answer(opaque)).await;
    };
    let (result, ()) = tokio::join!(peer.client.table(&CONSUMER_OFFSETS, LONG), answer);
    assert_eq!(result.unwrap().table.len(), 1);
}

/// What a table request says when the master answers with that code and remark.
async fn answered(code: i32, remark: &str) -> RequestError {
    let peer = Peer::new().await;
    let answer = async {
        let mut line = peer.accept().await;
        let (_, opaque) = line.request().await;
        line.send(refusal(opaque, code, remark)).await;
    };
    let (result, ()) = tokio::join!(peer.client.table(&SUBSCRIPTION_GROUPS, LONG), answer);
    let error = result.unwrap_err();
    assert!(
        error.to_string().contains(&peer.client.address.to_string()),
        "{error}"
    );
    error
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let error = answered(3, " request type 402 not supported").await;
    assert!(
        matches!(error, RequestError::NotServed { code: 201, .. }),
        "{error:?}"
    );
    let error = answered(
        1,
        "No subscription group in this broker, client: 127.0.0.1:5",
    )
    .await;
    assert!(
        matches!(error, RequestError::NothingThere { .. }),
        "{error:?}"
    );
    let error = answered(
        1,
        "java.util.NoSuchElementException, java.base/java.util.LinkedList.getLast",
    )
    .await;
    assert!(
        matches!(
            error,
            RequestError::Refused {
                code: 201,
                response: 1,
                ..
            }
        ),
        "{error:?}"
    );
    let error = answered(16, "username cannot be null.").await;
    assert!(
        matches!(&error, RequestError::Refused { response: 16, remark, .. } if remark.starts_with("username"))
    );
    assert!(
        error.to_string().contains("NO_PERMISSION") && error.to_string().contains("signed"),
        "{error}"
    );
    let error = answered(
        1,
        "org.apache.rocketmq.acl.common.AclException: No accessKey is configured",
    )
    .await;
    assert!(error.to_string().contains("signed"), "{error}");
}

#[tokio::test]
async fn a_body_that_is_no_table_is_malformed_at_an_offset() {
    for body in [
        "",
        "{\"topicConfigTable\":{\"a\":",
        "{}",
        "{\"topicConfigTable\":null}",
    ] {
        let peer = Peer::new().await;
        let answer = async {
            let mut line = peer.accept().await;
            let (_, opaque) = line.request().await;
            line.send(reply(opaque, body)).await;
            line
        };
        let (result, _line) = tokio::join!(peer.client.table(&TOPICS, LONG), answer);
        let error = result.unwrap_err();
        assert!(
            matches!(error, RequestError::Malformed { code: 21, .. }),
            "{body}: {error:?}"
        );
        assert!(text(&error).contains("byte"), "{body}: {}", text(&error));
    }
}
