//! Connections that end, masters that are away, and when to try again.

use std::error::Error;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use locum_tables::TOPICS;
use proptest::prelude::*;
use tokio::net::TcpListener;

use super::super::backoff::Backoff;
use super::super::{Client, ClientOptions, ConnectError, RequestError};
use super::{LONG, Line, Peer, SHORT, answers_on_a_new_connection};

#[tokio::test]
async fn the_end_of_an_idle_connection_is_normal() {
    let peer = Peer::new().await;
    answers_on_a_new_connection(&peer).await;
    peer.counted(|counts| counts.ended == 1).await;
    answers_on_a_new_connection(&peer).await;
    assert_eq!(peer.client.counts().failed, 0);
}

#[tokio::test]
async fn a_master_that_is_down_and_comes_back() {
    let due_at_once = ClientOptions {
        backoff_first: Duration::ZERO,
        ..ClientOptions::default()
    };
    let peer = Peer::on("127.0.0.2", due_at_once).await;
    answers_on_a_new_connection(&peer).await;
    let Peer { listener, client } = peer;
    let address = listener.local_addr().unwrap();
    drop(listener);
    for _ in 0..5 {
        let error = client.table(&TOPICS, LONG).await.unwrap_err();
        let lost = matches!(
            error,
            RequestError::Unreachable {
                retry_in: None,
                source: ConnectError::Io(_),
                ..
            }
        );
        assert!(
            lost || matches!(error, RequestError::Closed { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }
    let listener = TcpListener::bind(address).await.unwrap();
    answers_on_a_new_connection(&Peer { listener, client }).await;
}

#[tokio::test]
async fn what_is_asked_during_the_pause_fails_at_once_with_the_last_cause() {
    let hour = Duration::from_secs(3600);
    let options = ClientOptions {
        backoff_first: hour,
        backoff_cap: hour,
        ..ClientOptions::default()
    };
    let Peer { listener, client } = Peer::on("127.0.0.3", options).await;
    drop(listener);
    let tried = client.table(&TOPICS, LONG).await.unwrap_err();
    assert!(
        matches!(tried, RequestError::Unreachable { retry_in: None, .. }),
        "{tried:?}"
    );
    let paused = client.table(&TOPICS, LONG).await.unwrap_err();
    assert!(
        matches!(
            paused,
            RequestError::Unreachable {
                retry_in: Some(_),
                ..
            }
        ),
        "{paused:?}"
    );
    assert_eq!(
        paused.source().map(ToString::to_string),
        tried.source().map(ToString::to_string)
    );
    assert_eq!(client.counts().failed, 1, "one attempt");
}

#[tokio::test]
async fn a_name_that_does_not_resolve() {
    let client = Client::new("no port here", ClientOptions::default());
    let error = client.table(&TOPICS, LONG).await.unwrap_err();
    assert!(
        matches!(error, RequestError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("no port here"), "{error}");
}

#[tokio::test]
async fn the_connection_is_closed_with_the_last_client() {
    let Peer { listener, client } = Peer::new().await;
    let further = client.clone();
    let accept = async { listener.accept().await.unwrap().0 };
    let (_, stream) = tokio::join!(client.table(&TOPICS, SHORT), accept);
    drop(client);
    drop(further);
    Line {
        stream,
        buffer: BytesMut::new(),
    }
    .closed()
    .await;
}

proptest! {
    /// Each pause is between half of the doubled first one and that, and never over the cap.
    #[test]
    fn pauses(first in 0u64..10_000, cap in 0u64..10_000, failures in 1u32..80, chance: u32) {
        let (first, cap) = (Duration::from_millis(first), Duration::from_millis(cap));
        let mut backoff = Backoff::new(first, cap);
        let now = Instant::now();
        for _ in 0..failures {
            backoff.failed(now, chance);
        }
        let whole = first.saturating_mul(2u32.saturating_pow(failures - 1)).min(cap);
        let left = backoff.left(now).unwrap_or_default();
        prop_assert!(left <= whole && left >= whole.mul_f64(0.499), "{left:?} of {whole:?}");
        prop_assert_eq!(backoff.left(now + whole), None);
        backoff.succeeded();
        prop_assert_eq!(backoff.left(now), None);
    }
}
