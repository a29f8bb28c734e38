//! What differs between the releases that the stub can play.

use std::fmt;
use std::str::FromStr;

/// The line of releases whose bytes the stub sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// 4.9.7: no version in 43 and 45, no attributes, DataVersion of two fields, replies in the request's header form.
    V4_9,
    /// 5.0 to 5.3, as 5.1.4 was captured: `groupTopicMap`, `attributes`, `forbiddenTable`, mapping members; no paging.
    V5_0,
    /// 5.5.0: also `pullOffsetTable`, totals in the reply's ext fields, and paging of topics and groups.
    V5_5,
}

impl Dialect {
    /// All dialects, oldest first.
    pub const ALL: [Self; 3] = [Self::V4_9, Self::V5_0, Self::V5_5];

    /// The ordinal that replies carry as `version` (RocketMQ's `MQVersion.Version`).
    pub fn version(self) -> i32 {
        match self {
            Self::V4_9 => 407,
            Self::V5_0 => 441,
            Self::V5_5 => 513,
        }
    }

    /// The name of that ordinal, as runtime info (28) gives it.
    pub fn version_name(self) -> &'static str {
        match self {
            Self::V4_9 => "V4_9_7",
            Self::V5_0 => "V5_1_4",
            Self::V5_5 => "V5_5_0",
        }
    }

    /// Whether this is 5.x: attributes, state versions, codes 402, 60 and 61.
    pub(crate) fn is_5(self) -> bool {
        self != Self::V4_9
    }

    /// Whether topics and groups are counted in the reply's ext fields, and come in pages if asked for.
    pub(crate) fn pages(self) -> bool {
        self == Self::V5_5
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4_9 => "4.9",
            Self::V5_0 => "5.0",
            Self::V5_5 => "5.5",
        })
    }
}

/// A text that names no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect `{0}`, known are 4.9, 5.0 and 5.5")]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.to_string() == text)
            .ok_or_else(|| UnknownDialect(text.to_owned()))
    }
}
