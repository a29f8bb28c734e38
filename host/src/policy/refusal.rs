//! Why a file is not taken as a policy, or not for a slot.

use locum_tables::{KINDS, Slot};

use super::cause::Cause;
use super::report::RunError;
use crate::status::Stage;

/// Why a component is refused. Each text says what to do about it; the cause, where there is one, is in `source`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No bytes at all: mostly a copy that has only begun.
    #[error("the file is empty; copy it again, under another name first, then rename it")]
    Empty,
    /// Over [`COMPONENT_BYTES`](super::COMPONENT_BYTES).
    #[error(
        "the file has {size} bytes, over the limit of {limit}; build with opt-level s and strip debug information"
    )]
    TooLarge {
        /// The file's bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Something that a text editor opens.
    #[error("the file is {what}, not a component; build the policy with `locum plugin build`")]
    Text {
        /// Text, or WebAssembly's text form.
        what: &'static str,
    },
    /// A core module: built, but not yet encoded.
    #[error(
        "the file is a core WebAssembly module, not a component; build the policy with `locum plugin build`, which encodes it"
    )]
    CoreModule,
    /// Some other kind of file.
    #[error("the file is not a component but {what}; put a policy component in its place")]
    NotAComponent {
        /// What it is, or how it begins.
        what: String,
    },
    /// It begins as a component and ends too early.
    #[error(
        "the component is cut off (it has {size} bytes); copy it again, under another name first, then rename it"
    )]
    Truncated {
        /// The bytes that are there.
        size: usize,
        /// What the parser missed, and where.
        #[source]
        source: Cause,
    },
    /// It begins as a component and goes on as none.
    #[error("the component is not valid; build it again with a current toolchain")]
    Invalid(#[source] Cause),
    /// A component that this engine cannot compile.
    #[error("the component cannot be compiled; build it again with a current toolchain")]
    Uncompilable(#[source] Cause),
    /// A component that took the compiler down with it. The host goes on.
    #[error("the compiler panicked on it ({what}); build it again with a current toolchain")]
    Crashed {
        /// The panic's text.
        what: String,
    },
    /// Imports outside `locum:sync`.
    #[error(
        "it imports {}, and a policy gets nothing but locum:sync; build it with `locum plugin build`, or in another \
         language with WASI stubbed out",
        .names.join(", ")
    )]
    ForeignImports {
        /// Every such import.
        names: Vec<String>,
    },
    /// It was built for an interface that this host does not speak.
    #[error(
        "it was built for {found}, and this host serves {served}; build it against that version (`locum plugin new NAME \
         --update-sdk` renews its SDK)"
    )]
    InterfaceVersion {
        /// The first name of another version, such as `locum:sync/tables@0.2.0`.
        found: String,
        /// The versions that this host serves.
        served: &'static str,
    },
    /// It does not export what a policy exports.
    #[error("it does not export locum:sync/policy (it exports {}); implement the world `routine`", list(.exports))]
    NoPolicy {
        /// What it exports instead.
        exports: Vec<String>,
    },
    /// The names fit, a function or type behind them does not; the cause says which is the first.
    #[error(
        "its {package} is not the interface that this host serves ({served}); build it against that version (`locum plugin \
         new NAME --update-sdk` renews its SDK)"
    )]
    Mismatch {
        /// The package and version that it was built for, such as `locum:sync@0.1.3`.
        package: String,
        /// The versions that this host serves.
        served: &'static str,
        /// The first difference.
        #[source]
        source: Cause,
    },
    /// Asked what it is, it failed.
    #[error("it cannot say what it is; mend its describe()")]
    Describe(#[source] RunError),
    /// It says something about itself that makes no sense.
    #[error("its description is not usable: {0}; mend its describe()")]
    Description(String),
    /// It lists no table that it writes, so that nothing of it would ever be committed.
    #[error("it writes nothing; list its table in describe(), such as `.writes(TOPICS)`")]
    WritesNothing,
    /// It writes a table that this host does not know.
    #[error(
        "it writes a table `{table}` that this host does not know{}; it knows {}",
        did_you_mean(.nearest.as_deref()),
        list(&KINDS.map(|kind| kind.name.to_owned()))
    )]
    UnknownTable {
        /// The name that it gave.
        table: String,
        /// The known name that is nearest to it.
        nearest: Option<String>,
    },
    /// It writes a table of another slot.
    #[error(
        "it writes `{table}`, which the slot `{slot}` may not write; put it in the slot `{owner}`"
    )]
    ForbiddenTable {
        /// The table.
        table: &'static str,
        /// The slot that it was put in.
        slot: Slot,
        /// The slot that may write the table.
        owner: Slot,
    },
    /// The operator set something that the policy does not know.
    #[error("it has no setting `{name}`{}; it has {}", did_you_mean(.nearest.as_deref()), list(.known))]
    UnknownSetting {
        /// The name that was set.
        name: String,
        /// The known name that is nearest to it.
        nearest: Option<String>,
        /// All its settings.
        known: Vec<String>,
    },
    /// The operator did not set what must be set.
    #[error("its setting `{name}` must be set: {summary}")]
    MissingSetting {
        /// The setting.
        name: String,
        /// What the policy says about it.
        summary: String,
    },
}

impl Refusal {
    /// Whether the operator's settings are to be mended, and not the component.
    #[must_use]
    pub fn is_about_settings(&self) -> bool {
        matches!(
            self,
            Self::UnknownSetting { .. } | Self::MissingSetting { .. }
        )
    }

    /// How far the component came: at which step of its way into a slot it was refused.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self {
            // Some differences of the world are only found by linking; they are what the check is about all the same.
            Self::Empty
            | Self::TooLarge { .. }
            | Self::Text { .. }
            | Self::CoreModule
            | Self::NotAComponent { .. }
            | Self::Truncated { .. }
            | Self::Invalid(_)
            | Self::ForeignImports { .. }
            | Self::InterfaceVersion { .. }
            | Self::NoPolicy { .. }
            | Self::Mismatch { .. } => Stage::Check,
            Self::Uncompilable(_) | Self::Crashed { .. } => Stage::Compile,
            Self::Describe(_)
            | Self::Description(_)
            | Self::WritesNothing
            | Self::UnknownTable { .. }
            | Self::ForbiddenTable { .. }
            | Self::UnknownSetting { .. }
            | Self::MissingSetting { .. } => Stage::Describe,
        }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

/// The name of `known` that `given` was most likely meant to be, if one is near enough.
pub(super) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min()
        .map(|(_, name)| name.to_owned())
}
