//! The task that owns the socket.
//!
//! It sleeps until something is asked, connects if needed, and then moves bytes until the connection ends. Matching
//! and bounds are in `locum-remoting`, the pause between attempts in `backoff`.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use locum_remoting::{
    Command, Decoder, Frame, FrameError, HeaderForm, InFlight, Limits, Taken, TooMany, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{self, Instant};

use super::backoff::Backoff;
use super::error::{ConnectError, LostError, MalformedError, NotSentError, RequestError};
use super::{ClientOptions, Counts};

/// Room for one read. The buffer grows by what arrives, never by what a length word says.
const READ: usize = 16 * 1024;

/// A request on its way, with where its reply goes.
#[derive(Debug)]
pub(super) struct Asked {
    command: Command,
    timeout: Duration,
    deadline: Instant,
    /// When it was last sent.
    sent: Option<Instant>,
    /// It was sent again already after a connection was lost through another request.
    again: bool,
    reply: oneshot::Sender<Result<Command, RequestError>>,
}

impl Asked {
    pub(super) fn new(
        command: Command,
        timeout: Duration,
        reply: oneshot::Sender<Result<Command, RequestError>>,
    ) -> Self {
        Self {
            command,
            timeout,
            deadline: Instant::now() + timeout,
            sent: None,
            again: false,
            reply,
        }
    }

    /// Who asked may have given up; then nobody wants to know.
    fn answer(self, result: Result<Command, RequestError>) {
        let _ = self.reply.send(result);
    }
}

/// Why a connection is over.
enum End {
    /// All clients are gone.
    Unused,
    /// It was lost; requests in flight are.
    Lost(LostError),
    /// The peer does not speak the protocol, or an answer is over the limit.
    Unreadable(FrameError),
    /// A request ran out of time and no whole answer came since it was sent: what waits goes to a new connection.
    Dead,
}

pub(super) struct Connection {
    address: Arc<str>,
    options: ClientOptions,
    requests: mpsc::Receiver<Asked>,
    counts: watch::Sender<Counts>,
    backoff: Backoff,
    last_failure: Option<ConnectError>,
    /// To be sent, in order.
    unsent: VecDeque<Asked>,
    in_flight: InFlight<Asked>,
    /// Whether any byte came on this connection.
    heard: bool,
    /// When a whole frame last came on it.
    framed: Option<Instant>,
}

impl Connection {
    pub(super) fn new(
        address: Arc<str>,
        options: ClientOptions,
        requests: mpsc::Receiver<Asked>,
        counts: watch::Sender<Counts>,
    ) -> Self {
        Self {
            backoff: Backoff::new(options.backoff_first, options.backoff_cap),
            address,
            options,
            requests,
            counts,
            last_failure: None,
            unsent: VecDeque::new(),
            in_flight: InFlight::default(),
            heard: false,
            framed: None,
        }
    }

    /// Runs until all clients are gone.
    pub(super) async fn run(mut self) {
        while let Some(asked) = self.next_asked().await {
            match self.connect().await {
                Err(error) => asked.answer(Err(error)),
                Ok(stream) => {
                    self.unsent.push_front(asked);
                    let end = self.serve(stream).await;
                    self.ended(end);
                }
            }
        }
    }

    async fn next_asked(&mut self) -> Option<Asked> {
        match self.unsent.pop_front() {
            Some(asked) => Some(asked),
            None => self.requests.recv().await,
        }
    }

    /// Connects, if an attempt is due.
    async fn connect(&mut self) -> Result<TcpStream, RequestError> {
        let now = Instant::now();
        let left = self.backoff.left(now.into_std());
        if let (Some(left), Some(last)) = (left, &self.last_failure) {
            return Err(self.unreachable(Some(left), last.clone()));
        }
        let limit = self.options.connect_timeout;
        // The name is resolved here, so each time.
        let failure = match time::timeout(limit, TcpStream::connect(&*self.address)).await {
            Ok(Ok(stream)) => return Ok(self.connected(stream)),
            Ok(Err(error)) => ConnectError::Io(Arc::new(error)),
            Err(_) => ConnectError::TimedOut(limit),
        };
        tracing::debug!(address = %self.address, cause = %failure, "cannot connect");
        self.counts.send_modify(|counts| counts.failed += 1);
        self.backoff.failed(Instant::now().into_std(), chance());
        self.last_failure = Some(failure.clone());
        Err(self.unreachable(None, failure))
    }

    fn connected(&mut self, stream: TcpStream) -> TcpStream {
        tracing::debug!(address = %self.address, "connected");
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(address = %self.address, %error, "small requests may be delayed");
        }
        self.backoff.succeeded();
        self.last_failure = None;
        self.heard = false;
        self.framed = None;
        self.counts.send_modify(|counts| counts.connected += 1);
        stream
    }

    /// Moves bytes until the connection ends.
    async fn serve(&mut self, mut stream: TcpStream) -> End {
        let (mut reader, mut writer) = stream.split();
        let limits = Limits {
            frame: self.options.frame_limit,
            ..Limits::default()
        };
        let mut decoder = Decoder::new(limits);
        let mut outgoing = BytesMut::new();
        loop {
            if self.send_all(&mut outgoing) {
                return End::Dead;
            }
            decoder.buffer().reserve(READ);
            tokio::select! {
                biased; // Reading first: a peer that closed an idle connection is noticed before a request is lost on it.
                read = reader.read_buf(decoder.buffer()) => if let Some(end) = self.received(read, &mut decoder) {
                    return end;
                },
                asked = self.requests.recv() => match asked {
                    Some(asked) => self.unsent.push_back(asked),
                    None => return End::Unused,
                },
                written = writer.write_buf(&mut outgoing), if !outgoing.is_empty() => {
                    if let Err(error) = written {
                        return End::Lost(LostError::Io(Arc::new(error)));
                    }
                },
            }
        }
    }

    /// Puts what is to be sent into the buffer, unless the connection turns out to be dead.
    fn send_all(&mut self, outgoing: &mut BytesMut) -> bool {
        if self.unsent.is_empty() {
            return false;
        }
        if self.expire() {
            return true;
        }
        while let Some(asked) = self.unsent.pop_front() {
            self.send(asked, outgoing);
        }
        false
    }

    fn send(&mut self, mut asked: Asked, outgoing: &mut BytesMut) {
        if asked.reply.is_closed() {
            return;
        }
        let mut command = asked.command.clone();
        asked.sent = Some(Instant::now());
        let deadline = asked.deadline.into_std();
        command.opaque = match self.in_flight.issue(asked, deadline) {
            Ok(opaque) => opaque,
            Err(TooMany(asked)) => return self.not_sent(asked, NotSentError::TooMany),
        };
        match encode(&command, HeaderForm::Json) {
            Ok(bytes) => outgoing.extend_from_slice(&bytes),
            Err(error) => {
                if let Some(asked) = self.in_flight.cancel(command.opaque) {
                    self.not_sent(asked, NotSentError::Encode(Arc::new(error)));
                }
            }
        }
    }

    /// Gives up what ran out of time. Whether the connection seems dead: no whole answer came since one of those was sent.
    ///
    /// Without this a connection that a firewall forgot would swallow every request until TCP gives up, and one wrong length
    /// would swallow every answer until as many bytes have come.
    fn expire(&mut self) -> bool {
        let mut dead = false;
        for asked in self.in_flight.expire(Instant::now().into_std()) {
            dead |= asked.sent >= self.framed;
            let (address, code, timeout) =
                (Arc::clone(&self.address), asked.command.code, asked.timeout);
            asked.answer(Err(RequestError::TimedOut {
                address,
                code,
                timeout,
            }));
        }
        dead
    }

    /// Hands on what a read brought; the end, if it was one.
    fn received(&mut self, read: io::Result<usize>, decoder: &mut Decoder) -> Option<End> {
        match read {
            Err(error) => return Some(End::Lost(LostError::Io(Arc::new(error)))),
            Ok(0) => {
                return Some(End::Lost(LostError::ended(self.heard, decoder.end())));
            }
            Ok(_) => self.heard = true,
        }
        loop {
            match decoder.next() {
                Ok(Some(frame)) => self.hand_on(frame),
                Ok(None) => return None,
                Err(error) => return Some(End::Unreadable(error)),
            }
        }
    }

    fn hand_on(&mut self, Frame { command, .. }: Frame) {
        self.expire();
        self.framed = Some(Instant::now());
        let (code, opaque) = (command.code, command.opaque);
        match self.in_flight.take(&command) {
            Taken::Waiter(asked) => asked.answer(Ok(command)),
            Taken::Dropped(why) => {
                tracing::debug!(address = %self.address, code, opaque, ?why, "dropped a command that nobody waits for");
                let dropped = self.in_flight.counts();
                self.counts.send_modify(|counts| counts.dropped = dropped);
            }
        }
    }

    /// Tells those who waited on a connection that is over.
    fn ended(&mut self, end: End) {
        match end {
            End::Unused => {}
            End::Lost(cause) => {
                tracing::debug!(address = %self.address, %cause, waiting = self.in_flight.len(), "the connection ended");
                self.fail_all(|connection, _| connection.closed(cause.clone()));
            }
            End::Dead => {
                tracing::debug!(address = %self.address, "the connection is dead");
                self.ask_again(&LostError::Dead);
            }
            End::Unreadable(error) => {
                tracing::debug!(address = %self.address, %error, "closed a connection that cannot be read on");
                self.unreadable(error);
            }
        }
        self.counts.send_modify(|counts| counts.ended += 1);
    }

    /// One answer over the limit fails its own request; the others are asked again on a new connection.
    fn unreadable(&mut self, error: FrameError) {
        let whose = match &error {
            FrameError::TooLarge {
                opaque: Some(opaque),
                ..
            } => *opaque,
            _ => {
                return self.fail_all(|connection, code| {
                    connection.unreadable_answer(code, error.clone())
                });
            }
        };
        if let Some(asked) = self.in_flight.cancel(whose) {
            let failure = self.unreadable_answer(asked.command.code, error);
            asked.answer(Err(failure));
        }
        self.ask_again(&LostError::Sibling);
    }

    fn fail_all(&mut self, failure: impl Fn(&Self, i32) -> RequestError) {
        for asked in self.in_flight.drain() {
            let failure = failure(self, asked.command.code);
            asked.answer(Err(failure));
        }
    }

    /// What waits through no fault of its own is sent once more.
    fn ask_again(&mut self, cause: &LostError) {
        for mut asked in self.in_flight.drain() {
            if asked.again {
                let failure = self.closed(cause.clone());
                asked.answer(Err(failure));
            } else {
                asked.again = true;
                self.unsent.push_back(asked);
            }
        }
    }

    fn unreachable(&self, retry_in: Option<Duration>, source: ConnectError) -> RequestError {
        RequestError::Unreachable {
            address: Arc::clone(&self.address),
            retry_in,
            source,
        }
    }

    fn closed(&self, source: LostError) -> RequestError {
        RequestError::Closed {
            address: Arc::clone(&self.address),
            source,
        }
    }

    fn unreadable_answer(&self, code: i32, error: FrameError) -> RequestError {
        let address = Arc::clone(&self.address);
        match error {
            FrameError::TooLarge {
                size,
                limit,
                peer: None,
                ..
            } => RequestError::TooLarge {
                address,
                code,
                size,
                limit,
            },
            error => RequestError::Malformed {
                address,
                code,
                source: MalformedError::Frame(error),
            },
        }
    }

    fn not_sent(&self, asked: Asked, source: NotSentError) {
        let (address, code) = (Arc::clone(&self.address), asked.command.code);
        asked.answer(Err(RequestError::NotSent {
            address,
            code,
            source,
        }));
    }
}

/// A number by chance, from the keys of std's hasher.
fn chance() -> u32 {
    u32::try_from(RandomState::new().hash_one(0u8) >> 32).unwrap_or_default()
}
