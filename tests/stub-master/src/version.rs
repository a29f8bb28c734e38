//! DataVersions, also the odd ones that masters have sent.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::dialect::Dialect;

/// A table with a version of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Topics: `dataVersion` in the answer to 21.
    Topics,
    /// Static topics: `mappingDataVersion` in the answer to 21 (5.x).
    TopicMappings,
    /// Consumer offsets: in the answer to 43 (5.x).
    ConsumerOffsets,
    /// Delay offsets: in the answer to 45 (5.x).
    DelayOffsets,
    /// Subscription groups: in the answer to 201.
    SubscriptionGroups,
    /// Timer metrics: in the answer to 61 (5.x).
    TimerMetrics,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Topics,
        Self::TopicMappings,
        Self::ConsumerOffsets,
        Self::DelayOffsets,
        Self::SubscriptionGroups,
        Self::TimerMetrics,
    ];
}

/// What an answer holds as the DataVersion of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// A whole one. 4.9 sends it without the state version.
    Known {
        /// Epoch of the store, 0 without DLedger and controller.
        state_version: i64,
        /// Time of the last change, milliseconds since 1970.
        timestamp: i64,
        /// Number of changes.
        counter: i64,
    },
    /// This JSON text in its place, such as `null`, `{}` or `{"counter":1}`.
    Text(String),
    /// No member at all.
    Absent,
}

impl Version {
    /// A whole version with state version 0.
    pub fn known(timestamp: i64, counter: i64) -> Self {
        Self::Known {
            state_version: 0,
            timestamp,
            counter,
        }
    }

    /// The member is there and null.
    pub fn null() -> Self {
        Self::Text("null".to_owned())
    }

    /// The member is there and has no field: `{}`.
    pub fn empty() -> Self {
        Self::Text("{}".to_owned())
    }

    /// A new object's version in Java: now, no change yet.
    pub(crate) fn fresh() -> Self {
        Self::known(now(), 0)
    }

    /// Java's `nextVersion`. Versions that are not whole stay as they were scripted.
    pub(crate) fn bump(&mut self) {
        if let Self::Known {
            timestamp, counter, ..
        } = self
        {
            *timestamp = now().max(*timestamp);
            *counter += 1;
        }
    }

    /// The JSON text of the member's value, none if the member is left out.
    pub(crate) fn text(&self, dialect: Dialect) -> Option<String> {
        match self {
            Self::Known {
                state_version,
                timestamp,
                counter,
            } if dialect.is_5() => Some(format!(
                r#"{{"counter":{counter},"stateVersion":{state_version},"timestamp":{timestamp}}}"#
            )),
            Self::Known {
                timestamp, counter, ..
            } => Some(format!(
                r#"{{"counter":{counter},"timestamp":{timestamp}}}"#
            )),
            Self::Text(text) => Some(text.clone()),
            Self::Absent => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Topics => "topics",
            Self::TopicMappings => "topic-queue-mapping",
            Self::ConsumerOffsets => "consumer-offsets",
            Self::DelayOffsets => "delay-offsets",
            Self::SubscriptionGroups => "subscription-groups",
            Self::TimerMetrics => "timer-metrics",
        })
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or(0)
}
