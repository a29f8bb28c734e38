//! What can go wrong on the way to a running broker.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use locum_remoting::{EncodeError, FrameError};

use crate::{Missing, Version};

/// Why a real broker could not be had, or what it answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No Java or no Maven.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Maven could not fetch a version, several times.
    #[error("maven cannot fetch RocketMQ {version}:\n{output}")]
    Fetch {
        /// The version.
        version: Version,
        /// The end of what Maven printed.
        output: String,
    },
    /// A file or a process.
    #[error("{what} {path}")]
    Io {
        /// What was tried: `write`.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The process ended before it answered, or did not end when asked.
    #[error("{process} {what}; it printed:\n{output}")]
    Process {
        /// Which one: `broker 5.5.0`.
        process: String,
        /// What it did.
        what: String,
        /// The end of its output and logs.
        output: String,
    },
    /// No three free ports in a row.
    #[error("no free ports on loopback")]
    NoPorts,
    /// Nothing came back.
    #[error("request {code} to {address} failed")]
    Connection {
        /// The request code.
        code: i32,
        /// `host:port`.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// What came back is not a frame.
    #[error("the reply is not a frame")]
    Frame(#[from] FrameError),
    /// The request cannot be written.
    #[error("the request cannot be written")]
    Encode(#[from] EncodeError),
    /// The broker said no.
    #[error("request {code} was answered with {response}: {remark}")]
    Refused {
        /// The request code.
        code: i32,
        /// The response code.
        response: i32,
        /// The broker's words.
        remark: String,
    },
    /// A body or a field that is not what it should be.
    #[error("the reply cannot be read: {what}")]
    Malformed {
        /// What was expected, or where it failed.
        what: String,
    },
    /// Something that should come did not.
    #[error("{what} did not come within {within:?}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        within: Duration,
    },
}

impl Error {
    /// For `map_err` on file and process calls.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            what,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn malformed(what: impl ToString) -> Self {
        Self::Malformed {
            what: what.to_string(),
        }
    }
}
