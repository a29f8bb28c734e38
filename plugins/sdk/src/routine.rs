//! What a policy is: what it says of itself, and one tick.

use crate::Failure;

/// A sync routine's policy. [`export!`](crate::export) makes one the policy of a component.
pub trait Routine {
    /// Says what this policy is. Called once for each load, without a master.
    fn describe() -> Description;

    /// One tick. When it returns `Ok` and no guard objects to any of its drafts, each drafted table is committed;
    /// none otherwise.
    ///
    /// # Errors
    /// Whatever keeps this tick from making its drafts; the replica then stays as it is.
    fn sync(tick: Tick) -> Result<(), Failure>;
}

/// The tick that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// Counts up for each routine of a replica since the host's start.
    pub number: u64,
    /// When the tick began: milliseconds since 1970, on the host's clock.
    pub started_at: u64,
}

/// What a policy says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The policy's name, such as `offset-forward-only`.
    pub name: String,
    /// Its own semantic version.
    pub version: String,
    /// One line for the operator.
    pub summary: String,
    /// The tables that it drafts. It may read every table.
    pub writes: Vec<String>,
    /// The settings that an operator may give.
    pub settings: Vec<Setting>,
}

impl Description {
    /// A policy that drafts no table yet and has no setting; `version` is best `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub fn new(name: &str, version: &str, summary: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
            writes: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// It drafts this table too.
    #[must_use]
    pub fn writes(mut self, table: &str) -> Self {
        self.writes.push(table.to_owned());
        self
    }

    /// It has this setting too.
    #[must_use]
    pub fn setting(mut self, setting: Setting) -> Self {
        self.settings.push(setting);
        self
    }
}

/// A setting that an operator may give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its key in the operator's configuration.
    pub name: String,
    /// One line for the operator.
    pub summary: String,
    /// Whether the operator must set it.
    pub required: bool,
    /// What holds where the operator sets nothing.
    pub default: Option<String>,
}

impl Setting {
    /// A setting that the operator must give.
    #[must_use]
    pub fn required(name: &str, summary: &str) -> Self {
        Self {
            required: true,
            ..Self::optional(name, summary)
        }
    }

    /// A setting that may be absent.
    #[must_use]
    pub fn optional(name: &str, summary: &str) -> Self {
        Self {
            name: name.to_owned(),
            summary: summary.to_owned(),
            required: false,
            default: None,
        }
    }

    /// A setting that is never absent: `default` where the operator gives nothing.
    #[must_use]
    pub fn with_default(name: &str, summary: &str, default: &str) -> Self {
        Self {
            default: Some(default.to_owned()),
            ..Self::optional(name, summary)
        }
    }
}
