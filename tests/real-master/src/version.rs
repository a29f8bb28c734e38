//! The RocketMQ releases that tests run against.

use std::fmt;

/// A release whose artifacts resolve from Maven (4.9.8 and 5.5.1 do not).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    missing_docs,
    reason = "the names say it: V5_5_0 is RocketMQ's own way to write 5.5.0"
)]
pub enum Version {
    V4_9_4,
    V4_9_7,
    V5_1_4,
    V5_3_3,
    V5_4_0,
    V5_5_0,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: [Self; 6] = [
        Self::V4_9_4,
        Self::V4_9_7,
        Self::V5_1_4,
        Self::V5_3_3,
        Self::V5_4_0,
        Self::V5_5_0,
    ];

    /// As Maven writes it: `5.5.0`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V4_9_4 => "4.9.4",
            Self::V4_9_7 => "4.9.7",
            Self::V5_1_4 => "5.1.4",
            Self::V5_3_3 => "5.3.3",
            Self::V5_4_0 => "5.4.0",
            Self::V5_5_0 => "5.5.0",
        }
    }

    /// Whether it is a 5.x: topic attributes, static topics, request modes, forbidden topics, version members in
    /// every table.
    #[must_use]
    pub fn is_five(self) -> bool {
        self >= Self::V5_1_4
    }

    /// Whether groups take attributes. 5.1.4 and 5.3.3 have the member, but refuse every key.
    #[must_use]
    pub fn has_group_attributes(self) -> bool {
        self >= Self::V5_4_0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
