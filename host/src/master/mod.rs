//! The way to a master: one connection, many requests at a time; and the way to find one, by name servers.
//!
//! A task of its own owns the socket; [`Client`]s hand it requests over a channel. It connects when something is
//! asked and no connection is there, resolves the name again each time, and backs off between failed attempts: what is
//! asked meanwhile fails at once with the last cause, so that no tick waits for an outage. Each request has its own
//! deadline. What the master sends unasked is dropped and counted.
//!
//! Knows nothing of files, policies and schedules.

mod backoff;
mod connection;
mod error;
pub(crate) mod keys;
mod lookup;
mod name_server;
mod name_servers;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use locum_remoting::{Command, Credentials, DroppedCounts, Limits, response};
use locum_tables::{ReadLimits, Table, TableKind};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::{task, time};

use crate::config::AclConfig;
use connection::{Asked, Connection};
pub(crate) use error::explained;
pub use error::{ConnectError, LostError, MalformedError, RequestError};
pub use keys::KeyError;
pub use lookup::{Answers, Followed, UnfoundError, Wanted, master_of};
pub use name_server::{
    AskBrokers, Asking, BrokerInfo, ClusterInfo, ClusterInfoError, NameServer, NameServerError,
    NameServerReplyError,
};
pub use name_servers::{Heard, NameServers};

/// Requests that may wait for the connection's task. A client asks a handful at a time.
const QUEUE: usize = 64;

/// How a master is talked to.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Largest frame that is accepted, in bytes. Default 256 MiB; Java's own receivers stop at 16 MiB.
    pub frame_limit: usize,
    /// How long resolving and connecting may take. Default 3 s, as in RocketMQ.
    pub connect_timeout: Duration,
    /// Pause after the first failed attempt to connect; it doubles with each further one. Default 200 ms.
    pub backoff_first: Duration,
    /// Longest pause between attempts, so that copying resumes soon after any outage. Default 5 s.
    pub backoff_cap: Duration,
    /// Limits for the table in an answer.
    pub read_limits: ReadLimits,
    /// Where the keys are that requests are signed with. Default none: requests are not signed.
    pub acl: Option<AclConfig>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            frame_limit: Limits::default().frame,
            connect_timeout: Duration::from_secs(3),
            backoff_first: Duration::from_millis(200),
            backoff_cap: Duration::from_secs(5),
            read_limits: ReadLimits::default(),
            acl: None,
        }
    }
}

/// What happened on a master's connections so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Connections that came about.
    pub connected: u64,
    /// Attempts to connect that failed.
    pub failed: u64,
    /// Connections that ended, for whatever reason.
    pub ended: u64,
    /// Received commands that nobody waited for.
    pub dropped: DroppedCounts,
}

/// A table as a master gave it.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The table.
    pub table: Table,
    /// The master's version: the ordinal of `MQVersion.Version` (407 is 4.9.7, 513 is 5.5.0), 0 if it did not say.
    pub version: i32,
}

/// Asks one master. Clones share its connection, which is closed when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Client {
    address: Arc<str>,
    read_limits: ReadLimits,
    acl: Option<Arc<AclConfig>>,
    requests: mpsc::Sender<Asked>,
    counts: watch::Receiver<Counts>,
}

impl Client {
    /// A client of the master at `address` (`host:port`). It connects when it is first asked.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, as `tokio::spawn` does.
    #[must_use]
    pub fn new(address: impl Into<Arc<str>>, options: ClientOptions) -> Self {
        let address = address.into();
        let read_limits = options.read_limits;
        let acl = options.acl.clone().map(Arc::new);
        let (requests, queue) = mpsc::channel(QUEUE);
        let (publish, counts) = watch::channel(Counts::default());
        tokio::spawn(Connection::new(Arc::clone(&address), options, queue, publish).run());
        Self {
            address,
            read_limits,
            acl,
            requests,
            counts,
        }
    }

    /// Sends a request, signed if there are keys, and waits for its reply, whatever that says. The opaque is set here.
    ///
    /// For requests that only read: one that shares a connection with an answer over the frame limit is sent again.
    ///
    /// # Errors
    ///
    /// When the keys cannot be read, or there is no reply within `timeout`.
    pub async fn request(
        &self,
        command: Command,
        timeout: Duration,
    ) -> Result<Command, RequestError> {
        let code = command.code;
        let replied = time::timeout(timeout, self.signed_exchange(command, timeout));
        replied.await.unwrap_or_else(|_| {
            Err(RequestError::TimedOut {
                address: Arc::clone(&self.address),
                code,
                timeout,
            })
        })
    }

    async fn signed_exchange(
        &self,
        command: Command,
        timeout: Duration,
    ) -> Result<Command, RequestError> {
        let Some(files) = &self.acl else {
            return self.exchange(command, timeout).await;
        };
        let credentials = self.credentials(files).await?;
        let signed = credentials.sign(command);
        let mut reply = self.exchange(signed.clone(), timeout).await?;
        // It goes into errors and logs, and the master knows our secrets.
        let remark = reply.remark.take();
        reply.remark = remark.map(|remark| credentials.conceal(remark, &signed));
        Ok(reply)
    }

    async fn exchange(&self, command: Command, timeout: Duration) -> Result<Command, RequestError> {
        let (reply, answered) = oneshot::channel();
        let asked = Asked::new(command, timeout, reply);
        // The task only ends with the runtime.
        let stopped = || self.lost(LostError::Stopped);
        self.requests.send(asked).await.map_err(|_| stopped())?;
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// The keys as they are in the files now.
    async fn credentials(&self, files: &Arc<AclConfig>) -> Result<Credentials, RequestError> {
        let files = Arc::clone(files);
        let read = task::spawn_blocking(move || keys::read(&files));
        let read = read.await.map_err(|_| self.lost(LostError::Stopped))?;
        read.map_err(|source| RequestError::NotSigned {
            address: Arc::clone(&self.address),
            source,
        })
    }

    /// Asks for a whole table. It is read on the caller's task.
    ///
    /// # Errors
    ///
    /// When there is no reply within `timeout`, when it is a refusal, or when it does not hold a table of that kind.
    pub async fn table(
        &self,
        kind: &'static TableKind,
        timeout: Duration,
    ) -> Result<Answer, RequestError> {
        let code = kind.request_code;
        let reply = self.request(Command::request(code), timeout).await?;
        if reply.code != response::SUCCESS {
            return Err(self.refusal(code, reply));
        }
        let table = Table::from_answer(kind, &reply.body, &self.read_limits).map_err(|error| {
            RequestError::Malformed {
                address: Arc::clone(&self.address),
                code,
                source: MalformedError::table(error),
            }
        })?;
        Ok(Answer {
            table,
            version: reply.version,
        })
    }

    /// What happened on the connections so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    fn refusal(&self, code: i32, reply: Command) -> RequestError {
        let address = Arc::clone(&self.address);
        let remark = reply.remark.unwrap_or_default();
        match reply.code {
            response::REQUEST_CODE_NOT_SUPPORTED => RequestError::NotServed { address, code },
            response::SYSTEM_ERROR if is_nothing_there(&remark) => RequestError::NothingThere {
                address,
                code,
                remark,
            },
            response => RequestError::Refused {
                address,
                code,
                response,
                remark,
                signed: self.acl.is_some(),
            },
        }
    }

    fn lost(&self, source: LostError) -> RequestError {
        RequestError::Closed {
            address: Arc::clone(&self.address),
            source,
        }
    }
}

/// `AdminBrokerProcessor` answers code 1 for a table that it does not have: `No topic in this broker, client: ...`.
fn is_nothing_there(remark: &str) -> bool {
    remark.starts_with("No ") && remark.contains(" in this broker")
}
