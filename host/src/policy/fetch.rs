//! Where a policy's `fetch` goes: the replica fills this trait from its master.

use std::pin::Pin;
use std::time::Duration;

use locum_tables::{Table, TableKind};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Asks the master for a whole table. One implementation serves one replica.
pub trait Fetch: Send + Sync {
    /// The table as the master holds it now. It must end by itself: the deadline of one request is the implementation's; the
    /// slot's limits `fetch-time` and `tick-time` only drop what is still waiting then.
    fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>>;
}

/// Why no table came; the replica stays as it is. The same cases as `fetch-error` in the WIT, and two more: there
/// [`OverTime`](Self::OverTime) is a `timed-out`, and [`NotSigned`](Self::NotSigned) is an `other`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The host knows no table of this name.
    #[error("this host knows no table `{0}`")]
    UnknownTable(String),
    /// The master is older than the table, or has the feature switched off.
    #[error("the master does not serve this table")]
    NotServed,
    /// The master has nothing in this table and says so with an error; its remark.
    #[error("the master has nothing in this table: {0}")]
    NothingThere(String),
    /// No connection, or it broke.
    #[error("the master cannot be reached: {0}")]
    Unreachable(String),
    /// No answer within the request's time.
    #[error("the master did not answer in time")]
    TimedOut,
    /// No answer within the slot's limit `fetch-time`. The guest sees `timed-out`.
    #[error("the master did not answer within the limit `fetch-time` of {0:?}")]
    OverTime(Duration),
    /// The request was not sent, since there are no keys to sign it with; which file, and what is wrong with it. The guest
    /// sees `other`.
    #[error("{0}")]
    NotSigned(String),
    /// The master answered an error.
    #[error("the master refused with code {code}: {remark}")]
    Refused {
        /// RocketMQ's response code.
        code: i32,
        /// The master's own words.
        remark: String,
    },
    /// The answer is over a limit.
    #[error("the answer has {size} bytes, over the limit of {limit}")]
    TooLarge {
        /// Bytes that were announced or received.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The answer is not what the protocol says.
    #[error("the master's answer is malformed: {0}")]
    Malformed(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}
