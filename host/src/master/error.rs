//! Why a request has no usable answer. Each text names the address and says what to do; causes are sources.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use locum_remoting::{EncodeError, FrameError, code, response};
use locum_tables::ReadError;

use super::keys::KeyError;

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RequestError {
    /// There is no connection. The text is the same whether it was tried now or a moment ago, so that a log can count it.
    #[error(
        "cannot reach the master at {address}: check that it runs, and that this is its listen port"
    )]
    Unreachable {
        /// The master.
        address: Arc<str>,
        /// Set if nothing was tried now, since an attempt failed just before: when the next one is due.
        retry_in: Option<Duration>,
        /// How the last attempt failed.
        source: ConnectError,
    },
    /// The deadline came before the reply.
    ///
    /// A 4.9 name server that is asked for a table never answers, so a wrong address can look like this.
    #[error(
        "no answer from {address} to {} within {timeout:?}: the master hangs, is too slow for the request timeout, or \
         this is not a broker's port",
        named(*.code)
    )]
    TimedOut {
        /// The master.
        address: Arc<str>,
        /// Request code.
        code: i32,
        /// The deadline that the request had.
        timeout: Duration,
    },
    /// The connection ended before the reply.
    #[error(
        "the connection to the master at {address} ended before its answer: the next request connects again"
    )]
    Closed {
        /// The master.
        address: Arc<str>,
        /// How it ended.
        source: LostError,
    },
    /// The master answered that it will not.
    #[error(
        "the master at {address} refused {} with code {response}{}: {}",
        named(*.code),
        response_name(*.response),
        explained(*.response, .remark, *.signed)
    )]
    Refused {
        /// The master.
        address: Arc<str>,
        /// Request code.
        code: i32,
        /// Response code.
        response: i32,
        /// What it says.
        remark: String,
        /// Whether the request was signed.
        signed: bool,
    },
    /// The master's version does not know the request: response code 3, as 4.9 answers to 402.
    #[error("the master at {address} does not know {}: its version has no such table", named(*.code))]
    NotServed {
        /// The master.
        address: Arc<str>,
        /// Request code.
        code: i32,
    },
    /// The master has no such table: response code 1, `No ... in this broker`.
    #[error("the master at {address} has nothing for {}: {remark}", named(*.code))]
    NothingThere {
        /// The master.
        address: Arc<str>,
        /// Request code.
        code: i32,
        /// What it says.
        remark: String,
    },
    /// The answer is over the frame limit (apache/rocketmq#9467, #10168). Nothing was reserved for it.
    #[error(
        "the answer of the master at {address} to {} is a frame of {size} bytes, over the limit of {limit}: raise \
         `frame-limit`",
        named(*.code)
    )]
    TooLarge {
        /// The master.
        address: Arc<str>,
        /// Request code.
        code: i32,
        /// Size of the frame in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// What came is no answer to this request.
    #[error("what {address} sent in answer to {} cannot be read", named(*.code))]
    Malformed {
        /// The master.
        address: Arc<str>,
        /// Request code.
        code: i32,
        /// What is wrong, and where.
        source: MalformedError,
    },
    /// There are no keys to sign it with: nothing was sent.
    #[error("requests to the master at {address} cannot be signed")]
    NotSigned {
        /// The master.
        address: Arc<str>,
        /// Which file, and what is wrong with it.
        source: KeyError,
    },
    /// The request was never sent.
    #[error("{} cannot be sent to {address}", named(*.code))]
    NotSent {
        /// The master.
        address: Arc<str>,
        /// Request code.
        code: i32,
        /// Why.
        source: NotSentError,
    },
}

/// How an attempt to connect failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConnectError {
    /// The system says why: no such name, refused, no route.
    #[error("{0}")]
    Io(Arc<io::Error>),
    /// Resolving and connecting took too long.
    #[error("no connection within {0:?}")]
    TimedOut(Duration),
}

/// How a connection ended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LostError {
    /// The peer closed it without having sent anything.
    #[error("the peer closed it without a word, as a master that enforces TLS does")]
    Silent,
    /// The peer closed it between two frames.
    #[error("the peer closed it")]
    Closed,
    /// The peer closed it inside a frame.
    #[error("the peer cut it off")]
    Cut(#[source] FrameError),
    /// The system says why.
    #[error("{0}")]
    Io(Arc<io::Error>),
    /// Another request's answer could not be read, twice.
    #[error("another request's answer could not be read")]
    Sibling,
    /// Nothing came for longer than a whole request's time.
    #[error("the peer had gone silent")]
    Dead,
    /// The runtime shuts down.
    #[error("the client stops")]
    Stopped,
}

/// Why received bytes are no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MalformedError {
    /// They are no frame; the peer may speak another protocol.
    #[error(transparent)]
    Frame(FrameError),
    /// They are no table; the text has the offset in the body.
    #[error("{0}")]
    Table(Arc<ReadError>),
}

/// Why a request was not sent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotSentError {
    /// It has no bytes.
    #[error("{0}")]
    Encode(Arc<EncodeError>),
    /// Too many requests wait for answers.
    #[error("too many requests wait for answers on this connection")]
    TooMany,
}

impl MalformedError {
    pub(super) fn table(error: ReadError) -> Self {
        Self::Table(Arc::new(error))
    }
}

impl LostError {
    /// How a stream that ended is to be understood.
    pub(super) fn ended(heard: bool, end: Result<(), FrameError>) -> Self {
        match end {
            Err(cut) => Self::Cut(cut),
            Ok(()) if heard => Self::Closed,
            Ok(()) => Self::Silent,
        }
    }
}

fn named(code: i32) -> String {
    code::name(code).map_or_else(
        || format!("request {code}"),
        |name| format!("request {code} ({name})"),
    )
}

fn response_name(code: i32) -> String {
    response::name(code)
        .map(|name| format!(" ({name})"))
        .unwrap_or_default()
}

/// What a master says with a refusal, and what to do about it where that is known.
///
/// 4.9 says code 1 with an `AclException`, and so does 5.x with the access control of 4.9; its own says 16.
pub(crate) fn explained(response: i32, remark: &str, signed: bool) -> String {
    let advice = match response {
        response::SYSTEM_BUSY => "the next tick asks again",
        response::NO_PERMISSION => access(remark, signed),
        _ if remark.contains("AclException") => access(remark, signed),
        _ => return remark.to_owned(),
    };
    format!("{}; {advice}", remark.trim_end_matches('.'))
}

fn access(remark: &str, signed: bool) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|words| remark.contains(words));
    if !signed {
        "this master wants signed requests: name the files with an access key and its secret key in `[replica.NAME.acl]`"
    } else if says(&["heck signature failed"]) {
        "`secret-key-file` does not hold the secret key of the access key in `access-key-file`"
    } else if says(&["is not found", "No acl config"]) {
        "the master has no user of the name in `access-key-file`"
    } else {
        "see on the master what the user of the name in `access-key-file` may do"
    }
}
