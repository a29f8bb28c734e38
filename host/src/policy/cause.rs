//! Why something failed, as plain text with its own cause behind it.

use std::error::Error;
use std::fmt;

/// An error chain that was copied into text, so that it can be kept, cloned and compared when the error itself is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    text: String,
    source: Option<Box<Self>>,
}

impl Cause {
    /// One text, without a further cause.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            source: None,
        }
    }

    /// The whole chain of `error`.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        Self {
            text: error.to_string(),
            source: error.source().map(|source| Box::new(Self::of(source))),
        }
    }
}

impl From<wasmtime::Error> for Cause {
    fn from(error: wasmtime::Error) -> Self {
        Self::of(AsRef::<dyn Error + 'static>::as_ref(&error))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
