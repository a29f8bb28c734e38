//! The component's exports: every [`Routine`] is a guest, with its panics reported.

use std::panic;

use crate::bindings::exports::locum::sync::policy::{self, Guest};
use crate::bindings::locum::sync::master;
use crate::{Description, Failure, FetchError, Level, Routine, Setting, Tick, world};

/// How much of a panic's text is logged, in bytes: always less than a host lets through, so that some of it arrives.
const PANIC_TEXT: usize = 4096;

impl<R: Routine> Guest for R {
    fn describe() -> policy::Description {
        report_panics();
        R::describe().into()
    }

    fn sync(tick: policy::Tick) -> Result<(), policy::Failure> {
        report_panics();
        let policy::Tick { number, started_at } = tick;
        Ok(R::sync(Tick { number, started_at })?)
    }
}

/// A panic is a bare trap to the host. Its text and place go to the log first, as one error that begins with `panicked at`.
fn report_panics() {
    panic::set_hook(Box::new(|info| {
        let text = info.payload_as_str().unwrap_or("a value that is no text");
        let text = text
            .get(..text.floor_char_boundary(PANIC_TEXT))
            .unwrap_or(text);
        match info.location() {
            Some(place) => world::log(Level::Error, &format!("panicked at {place}: {text}")),
            None => world::log(Level::Error, &format!("panicked: {text}")),
        }
    }));
}

impl From<Description> for policy::Description {
    fn from(description: Description) -> Self {
        let Description {
            name,
            version,
            summary,
            writes,
            settings,
        } = description;
        let settings = settings.into_iter().map(Into::into).collect();
        Self {
            name,
            version,
            summary,
            writes,
            settings,
        }
    }
}

impl From<Setting> for policy::Setting {
    fn from(setting: Setting) -> Self {
        let Setting {
            name,
            summary,
            required,
            default,
        } = setting;
        Self {
            name,
            summary,
            required,
            default,
        }
    }
}

impl From<Failure> for policy::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Fetch(error) => Self::Fetch(error.into()),
            Failure::Invalid(reason) => Self::Invalid(reason),
            Failure::Other(reason) => Self::Other(reason),
        }
    }
}

impl From<FetchError> for master::FetchError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::UnknownTable(name) => Self::UnknownTable(name),
            FetchError::NotServed => Self::NotServed,
            FetchError::NothingThere(remark) => Self::NothingThere(remark),
            FetchError::Unreachable(text) => Self::Unreachable(text),
            FetchError::TimedOut => Self::TimedOut,
            FetchError::Refused { code, remark } => Self::Refused(master::Refusal { code, remark }),
            FetchError::TooLarge { size, limit } => Self::TooLarge(master::Excess { size, limit }),
            FetchError::Malformed(text) => Self::Malformed(text),
            FetchError::Other(text) => Self::Other(text),
        }
    }
}
