//! How a tick of a policy can end badly.

use std::fmt;
use std::time::Duration;

use wasmtime::{Trap, WasmBacktrace};

use super::bindings::exports::locum::sync::policy as wit;
use super::bindings::locum::sync::master as wit_master;
use super::cause::Cause;
use super::fetch::FetchError;
use super::limits::{Exceeded, FRAME_BYTES, FRAMES, TEXT_BYTES, clip};
use super::state::{Misuse, State};

/// Why a tick changed nothing. Whatever it is, it is over with this tick: the next one has its own store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The policy said so itself.
    #[error("the policy gave up the tick")]
    Failure(#[source] Failure),
    /// The policy crashed, or did what the interface forbids.
    #[error("the policy trapped")]
    Trap(#[source] TrapReport),
    /// The policy used more than it may.
    #[error("the policy went over its limit `{limit}` of {value}")]
    Limit {
        /// The limit's name, such as `guest-time`.
        limit: &'static str,
        /// The limit's value, such as `2s` or `256 MiB`.
        value: String,
        /// Where it was then, as in [`TrapReport::frames`].
        frames: Vec<String>,
    },
    /// The tick was given up: the master, or the policy, took too long.
    #[error("the tick went over its limit `tick-time` of {after:?}{}", waiting(*waiting_for))]
    Deadline {
        /// The tick's time.
        after: Duration,
        /// The table whose answer was still missing then.
        waiting_for: Option<&'static str>,
    },
    /// The host could not run the policy; this is not the policy's doing.
    #[error("the host cannot run the policy")]
    Host(#[source] Cause),
}

/// Why a policy gave up, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No table came from the master.
    #[error(transparent)]
    Fetch(FetchError),
    /// What the master sent, or a setting, makes no sense to the policy.
    #[error("{0}")]
    Invalid(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// A trap: what happened, what the guest said last, and where it was. All of it is bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrapReport {
    /// WebAssembly's reason, such as `wasm `unreachable` instruction executed`, or what was forbidden.
    pub reason: String,
    /// The guest's panic text, where it panicked and logs panics at level error, as the SDK does.
    pub panic: Option<String>,
    /// Innermost first: offset, module and demangled function.
    pub frames: Vec<String>,
}

impl fmt::Display for TrapReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.panic.as_ref().unwrap_or(&self.reason))
    }
}

impl std::error::Error for TrapReport {}

impl RunError {
    /// What a failed call into the guest means.
    pub(super) fn of(error: wasmtime::Error, state: &State) -> Self {
        let backtrace = error.downcast_ref::<WasmBacktrace>();
        let frames = backtrace.map(frame_lines).unwrap_or_default();
        if let Some(Exceeded { limit, value }) = exceeded(&error, state) {
            return Self::Limit {
                limit,
                value,
                frames,
            };
        }
        if backtrace.is_none() && !error.is::<Trap>() && !error.is::<Misuse>() {
            return Self::Host(error.into());
        }
        let reason = error.root_cause().to_string();
        let panicked = error.downcast_ref::<Trap>() == Some(&Trap::UnreachableCodeReached);
        Self::Trap(TrapReport {
            reason: clip(reason.trim_start_matches("wasm trap: "), TEXT_BYTES),
            panic: state
                .log
                .last_error()
                .filter(|_| panicked)
                .map(str::to_owned),
            frames,
        })
    }
}

fn exceeded(error: &wasmtime::Error, state: &State) -> Option<Exceeded> {
    if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
        return Some(exceeded.clone());
    }
    // wasmtime keeps this error's type to itself; the version is pinned, and a test looks at this.
    let text = error.root_cause().to_string();
    text.ends_with("fuel allocated for hostcalls has been exhausted")
        .then(|| Exceeded::host_call_bytes(state.tick.limits.host_call_bytes))
}

/// wasmtime demangles only in its own text: one line a frame, below a heading.
fn frame_lines(backtrace: &WasmBacktrace) -> Vec<String> {
    let text = backtrace.to_string();
    let frame = |line: &str| {
        let (_number, frame) = line.split_once(": ")?;
        Some(clip(frame.trim(), FRAME_BYTES))
    };
    text.lines()
        .skip(1)
        .filter_map(frame)
        .take(FRAMES.get())
        .collect()
}

fn waiting(table: Option<&str>) -> String {
    table
        .map(|table| format!(", waiting for the master's `{table}`"))
        .unwrap_or_default()
}

impl From<wit::Failure> for Failure {
    fn from(failure: wit::Failure) -> Self {
        match failure {
            wit::Failure::Fetch(error) => Self::Fetch(error.into()),
            wit::Failure::Invalid(text) => Self::Invalid(clip(&text, TEXT_BYTES)),
            wit::Failure::Other(text) => Self::Other(clip(&text, TEXT_BYTES)),
        }
    }
}

impl From<wit_master::FetchError> for FetchError {
    fn from(error: wit_master::FetchError) -> Self {
        use wit_master::FetchError as Wit;
        let text = |text: String| clip(&text, TEXT_BYTES);
        match error {
            Wit::UnknownTable(name) => Self::UnknownTable(text(name)),
            Wit::NotServed => Self::NotServed,
            Wit::NothingThere(remark) => Self::NothingThere(text(remark)),
            Wit::Unreachable(why) => Self::Unreachable(text(why)),
            Wit::TimedOut => Self::TimedOut,
            Wit::Refused(refusal) => Self::Refused {
                code: refusal.code,
                remark: text(refusal.remark),
            },
            Wit::TooLarge(excess) => Self::TooLarge {
                size: excess.size,
                limit: excess.limit,
            },
            Wit::Malformed(why) => Self::Malformed(text(why)),
            Wit::Other(why) => Self::Other(text(why)),
        }
    }
}

impl From<FetchError> for wit_master::FetchError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::UnknownTable(name) => Self::UnknownTable(name),
            FetchError::NotServed => Self::NotServed,
            FetchError::NothingThere(remark) => Self::NothingThere(remark),
            FetchError::Unreachable(why) => Self::Unreachable(why),
            FetchError::TimedOut | FetchError::OverTime(_) => Self::TimedOut,
            FetchError::Refused { code, remark } => {
                Self::Refused(wit_master::Refusal { code, remark })
            }
            FetchError::TooLarge { size, limit } => {
                Self::TooLarge(wit_master::Excess { size, limit })
            }
            FetchError::Malformed(why) => Self::Malformed(why),
            FetchError::NotSigned(why) | FetchError::Other(why) => Self::Other(why),
        }
    }
}

impl FetchError {
    /// The same as it comes back from a guest.
    pub(super) fn as_told(&self) -> Self {
        wit_master::FetchError::from(self.clone()).into()
    }
}
