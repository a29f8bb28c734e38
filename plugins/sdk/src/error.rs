//! What can go wrong in a tick, as the WIT has it, with texts for people; `?` turns each into a [`Failure`].

use std::error::Error;
use std::fmt;

/// Why no table came from the master. The replica stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    /// The host knows no table of this name.
    UnknownTable(String),
    /// This master does not serve the table (an older version, or a feature switched off).
    NotServed,
    /// The master has nothing in this table and says so with an error: its remark.
    NothingThere(String),
    /// No connection, or it broke.
    Unreachable(String),
    /// The master did not answer in time.
    TimedOut,
    /// The master answered with an error.
    Refused {
        /// RocketMQ's response code.
        code: i32,
        /// The master's own text.
        remark: String,
    },
    /// The answer is over a limit of the host.
    TooLarge {
        /// In bytes.
        size: u64,
        /// In bytes.
        limit: u64,
    },
    /// The answer is not what the protocol says.
    Malformed(String),
    /// Anything else.
    Other(String),
}

impl fmt::Display for FetchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTable(name) => write!(out, "the host knows no table `{name}`"),
            Self::NotServed => out.write_str("the master does not serve this table"),
            Self::NothingThere(remark) => write!(out, "the master has nothing there: {remark}"),
            Self::Unreachable(text) => write!(out, "the master is unreachable: {text}"),
            Self::TimedOut => out.write_str("the master did not answer in time"),
            Self::Refused { code, remark } => {
                write!(out, "the master refused with code {code}: {remark}")
            }
            Self::TooLarge { size, limit } => write!(
                out,
                "the answer of {size} bytes is over the limit of {limit}"
            ),
            Self::Malformed(text) => write!(out, "the answer is malformed: {text}"),
            Self::Other(text) => out.write_str(text),
        }
    }
}

impl Error for FetchError {}

/// What a write to a draft is refused for. Nothing of the write has happened then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftError {
    /// The key is empty, too long, or not what this table's keys are.
    InvalidKey(String),
    /// The value is not JSON, or not the kind of value that this table holds.
    InvalidValue(String),
    /// The buffer is not a packed page: what is wrong, and at which byte.
    MalformedPage(String),
    /// The draft would pass the limit of that name.
    TooLarge(String),
    /// Anything else.
    Other(String),
}

impl fmt::Display for DraftError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidKey(text) => write!(out, "invalid key: {text}"),
            Self::InvalidValue(text) => write!(out, "invalid value: {text}"),
            Self::MalformedPage(text) => write!(out, "malformed page: {text}"),
            Self::TooLarge(limit) => write!(out, "the draft would pass the limit `{limit}`"),
            Self::Other(text) => out.write_str(text),
        }
    }
}

impl Error for DraftError {}

/// Why nothing was remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryError {
    /// The slot's memory would pass this many bytes.
    TooLarge(u64),
    /// Anything else.
    Other(String),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(limit) => {
                write!(out, "over the limit `memory-bytes` of {limit} bytes")
            }
            Self::Other(text) => out.write_str(text),
        }
    }
}

impl Error for MemoryError {}

/// Why a tick changed nothing: what [`sync`](crate::Routine::sync) fails with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A table did not come.
    Fetch(FetchError),
    /// What the master sent, or a setting, does not make sense to this policy.
    Invalid(String),
    /// Anything else.
    Other(String),
}

impl Failure {
    /// What the master sent, or a setting, does not make sense: the reason, for the operator.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid(reason.into())
    }

    /// Any other reason, for the operator.
    pub fn other(reason: impl Into<String>) -> Self {
        Self::Other(reason.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetch(error) => error.fmt(out),
            Self::Invalid(reason) | Self::Other(reason) => out.write_str(reason),
        }
    }
}

impl Error for Failure {}

impl From<&str> for Failure {
    fn from(reason: &str) -> Self {
        Self::other(reason)
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self::Fetch(error)
    }
}

impl From<DraftError> for Failure {
    fn from(error: DraftError) -> Self {
        match error {
            DraftError::InvalidKey(_) | DraftError::InvalidValue(_) => {
                Self::Invalid(error.to_string())
            }
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        Self::Other(error.to_string())
    }
}
