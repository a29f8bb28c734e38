//! The client against peers whose bytes are written by hand, on real sockets.

mod answers;
mod keys;
mod matching;
mod names;
mod outages;

use std::error::Error;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use locum_tables::TOPICS;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Client, ClientOptions, Counts, RequestError};

/// Long enough for anything that happens, so that only a bug makes a test wait for it.
const LONG: Duration = Duration::from_secs(60);
/// For requests that are never answered in time.
const SHORT: Duration = Duration::from_millis(30);

const NO_TOPICS: &str =
    r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":2},"topicConfigTable":{}}"#;
const ONE_OFFSET: &str = r#"{"offsetTable":{"T@G":{"0":9007199254740993}}}"#;

/// A frame with a JSON header, put together by hand.
fn frame(header: &str, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(4 + header.len() + body.len()).unwrap_or(u32::MAX);
    let word = u32::try_from(header.len()).unwrap_or(u32::MAX);
    [
        &length.to_be_bytes(),
        &word.to_be_bytes(),
        header.as_bytes(),
        body,
    ]
    .concat()
}

fn reply(opaque: i32, body: impl AsRef<[u8]>) -> Vec<u8> {
    let header = format!(
        r#"{{"code":0,"flag":1,"language":"JAVA","opaque":{opaque},"serializeTypeCurrentRPC":"JSON","version":513}}"#
    );
    frame(&header, body.as_ref())
}

fn refusal(opaque: i32, code: i32, remark: &str) -> Vec<u8> {
    frame(
        &format!(
            r#"{{"code":{code},"flag":1,"opaque":{opaque},"remark":"{remark}","version":407}}"#
        ),
        b"",
    )
}

/// A peer on a port of its own, and a client of it.
struct Peer {
    listener: TcpListener,
    client: Client,
}

impl Peer {
    async fn new() -> Self {
        Self::with(ClientOptions::default()).await
    }

    async fn with(options: ClientOptions) -> Self {
        Self::on("127.0.0.1", options).await
    }

    /// On a loopback address of its own: no other test takes a port that is given up here.
    async fn on(host: &str, options: ClientOptions) -> Self {
        let listener = TcpListener::bind((host, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("its address").to_string();
        Self {
            client: Client::new(address, options),
            listener,
        }
    }

    async fn accept(&self) -> Line {
        let (stream, _) = self.listener.accept().await.expect("a connection");
        Line {
            stream,
            buffer: BytesMut::new(),
        }
    }

    /// Waits until the counts are so.
    async fn counted(&self, so: impl FnMut(&Counts) -> bool) {
        self.client
            .counts
            .clone()
            .wait_for(so)
            .await
            .expect("the connection's task");
    }
}

/// One connection, as the peer sees it.
struct Line {
    stream: TcpStream,
    buffer: BytesMut,
}

impl Line {
    /// Code and opaque of the next request, read by hand.
    async fn request(&mut self) -> (i32, i32) {
        loop {
            if let Some(length) = self
                .buffer
                .first_chunk()
                .map(|word| u32::from_be_bytes(*word) as usize)
                && self.buffer.len() >= 4 + length
            {
                let mut frame = self.buffer.split_to(4 + length);
                frame.advance(8);
                let header = String::from_utf8(frame.to_vec()).expect("a JSON header");
                return (number(&header, "code"), number(&header, "opaque"));
            }
            let count = self
                .stream
                .read_buf(&mut self.buffer)
                .await
                .expect("bytes of a request");
            assert_ne!(count, 0, "the client closed the connection");
        }
    }

    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream
            .write_all(bytes.as_ref())
            .await
            .expect("bytes sent");
    }

    /// Waits until the client has closed the connection.
    async fn closed(&mut self) {
        while matches!(self.stream.read_buf(&mut self.buffer).await, Ok(1..)) {}
    }
}

fn number(header: &str, member: &str) -> i32 {
    let after = header
        .split_once(&format!("\"{member}\":"))
        .map(|(_, after)| after)
        .expect("the member");
    let end = after.find([',', '}']).expect("its end");
    after[..end].parse().expect("a number")
}

/// The error and its causes as one text.
fn text(error: &RequestError) -> String {
    said(error)
}

fn said(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// What the client says when the peer answers its request for topics with these bytes and then closes.
async fn said_to(bytes: impl AsRef<[u8]>) -> RequestError {
    let peer = Peer::new().await;
    // What an earlier connection heard says nothing about the next one.
    answers_on_a_new_connection(&peer).await;
    peer.counted(|counts| counts.ended == 1).await;
    let answer = async {
        let mut line = peer.accept().await;
        line.request().await;
        line.send(bytes).await;
    };
    let (result, ()) = tokio::join!(peer.client.table(&TOPICS, LONG), answer);
    let error = result.expect_err("no answer");
    let address = peer.client.address.to_string();
    assert!(error.to_string().contains(&address), "{error}");
    answers_on_a_new_connection(&peer).await;
    error
}

/// The client is usable: it connects again and gets its answer.
async fn answers_on_a_new_connection(peer: &Peer) {
    let answer = async {
        let mut line = peer.accept().await;
        let (_, opaque) = line.request().await;
        line.send(reply(opaque, NO_TOPICS)).await;
    };
    let (result, ()) = tokio::join!(peer.client.table(&TOPICS, LONG), answer);
    assert!(result.expect("an answer").table.is_empty());
}
