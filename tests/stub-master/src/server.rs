//! Connections: requests in, answers and faults out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use locum_remoting::{Decoder, Frame, HeaderForm, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::acl::Acl;
use crate::answer::{self, Answer};
use crate::dialect::Dialect;
use crate::fault::{Fault, Gate};
use crate::recorder::{Recorder, Seen};
use crate::script::Script;
use crate::tables::Tables;
use crate::wire;

/// Largest request that a Java broker takes.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// What all connections of a stub share.
#[derive(Debug)]
pub(crate) struct Master {
    pub(crate) dialect: Dialect,
    pub(crate) tables: Tables,
    pub(crate) script: Script,
    pub(crate) recorder: Recorder,
    pub(crate) acl: Acl,
    /// The header form of replies that do not follow the request's.
    pub(crate) form: Mutex<HeaderForm>,
}

/// Takes connections until `stop` is sent or dropped, then ends them all.
pub(crate) async fn serve(
    listener: TcpListener,
    master: Arc<Master>,
    mut stop: oneshot::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stop => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let connection = master.recorder.connected();
                    connections.spawn(converse(stream, connection, Arc::clone(&master)));
                }
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// What is sent for one request, and when.
enum Delivery {
    Now(Bytes),
    Later(Wait, Bytes),
    Never,
    /// These bytes, then the end of the stream.
    Torn(Bytes),
}

enum Wait {
    Time(Duration),
    Gate(Gate),
}

impl Wait {
    async fn over(self) {
        match self {
            Self::Time(time) => tokio::time::sleep(time).await,
            Self::Gate(gate) => gate.pass().await,
        }
    }
}

async fn converse(stream: TcpStream, connection: u64, master: Arc<Master>) {
    // Answers are written whole; without this a small one would wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let (mut reader, writer) = stream.into_split();
    let writer = Arc::new(tokio::sync::Mutex::new(writer));
    let mut decoder = Decoder::new(Limits {
        frame: REQUEST_BYTES,
        ..Limits::default()
    });
    let mut late = JoinSet::new();
    while let Some(frame) = next_frame(&mut reader, &mut decoder).await {
        // Keeps the set from growing with what has been sent.
        while late.try_join_next().is_some() {}
        if frame.command.is_response() {
            continue;
        }
        master.recorder.saw(Seen::new(&frame, connection));
        if frame.command.is_oneway() {
            continue;
        }
        match master.delivery(&frame) {
            Delivery::Now(bytes) => send(&writer, &bytes).await,
            Delivery::Never => {}
            Delivery::Later(wait, bytes) => {
                let writer = Arc::clone(&writer);
                late.spawn(async move {
                    wait.over().await;
                    send(&writer, &bytes).await;
                });
            }
            Delivery::Torn(bytes) => {
                send(&writer, &bytes).await;
                let _ = writer.lock().await.shutdown().await;
                // Read on to the end: a close with unread bytes would be a reset, which may overtake what was sent.
                while next_frame(&mut reader, &mut decoder).await.is_some() {}
                break;
            }
        }
    }
}

/// The next request, none at the end of the stream or after bytes that are no frame.
async fn next_frame(reader: &mut OwnedReadHalf, decoder: &mut Decoder) -> Option<Frame> {
    loop {
        if let Some(frame) = decoder.next().ok()? {
            return Some(frame);
        }
        let read = reader.read_buf(decoder.buffer()).await;
        if read.ok()? == 0 {
            return None;
        }
    }
}

/// The client may be gone by now, which is its right.
async fn send(writer: &tokio::sync::Mutex<OwnedWriteHalf>, bytes: &[u8]) {
    let _ = writer.lock().await.write_all(bytes).await;
}

impl Master {
    fn delivery(&self, frame: &Frame) -> Delivery {
        let command = &frame.command;
        let fault = self.script.next(command.code);
        let answer = match &fault {
            Fault::Error { code, remark } => Answer::error(*code, remark),
            _ => self
                .acl
                .refusal(self.dialect, command)
                .unwrap_or_else(|| answer::answer(&self.tables.lock(), command)),
        };
        let form = self.form_of(&answer, frame.form);
        let reply_to = |opaque| wire::frame(&answer, opaque, self.dialect.version(), form);
        let reply = reply_to(command.opaque);
        match fault {
            Fault::Honest | Fault::Error { .. } => Delivery::Now(reply),
            Fault::Slow(time) => Delivery::Later(Wait::Time(time), reply),
            Fault::Late(gate) => Delivery::Later(Wait::Gate(gate), reply),
            Fault::Silent => Delivery::Never,
            Fault::Cut(bytes) => Delivery::Torn(reply.slice(..bytes.min(reply.len()))),
            Fault::RawBytes(bytes) => Delivery::Now(bytes),
            Fault::Twice => Delivery::Now([reply.clone(), reply].concat().into()),
            Fault::UnknownOpaque => {
                Delivery::Now([reply_to(!command.opaque), reply].concat().into())
            }
        }
    }

    /// 4.9 answers in the request's form, also "not supported"; its other errors and all of 5.x take the server's.
    fn form_of(&self, answer: &Answer, asked: HeaderForm) -> HeaderForm {
        if self.dialect == Dialect::V4_9 && answer.follows_request() {
            asked
        } else {
            *self.form.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
