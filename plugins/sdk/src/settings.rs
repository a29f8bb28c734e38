//! What the operator set for this routine.

use std::fmt::Display;
use std::str::FromStr;

use crate::{Failure, world};

/// The text of a setting; its default where the operator set none.
#[must_use]
pub fn get(name: &str) -> Option<String> {
    world::setting(name)
}

/// The text of a setting that the description says is required, or has a default.
///
/// # Errors
/// [`Failure::Invalid`] if it is absent: the description does not say what the policy expects.
pub fn required(name: &str) -> Result<String, Failure> {
    get(name).ok_or_else(|| Failure::invalid(format!("setting `{name}` is not set")))
}

/// A setting as another type, such as a number; `None` where it is absent.
///
/// # Errors
/// [`Failure::Invalid`] if the text is no such value, with the setting's name and text.
pub fn parse<T: FromStr<Err: Display>>(name: &str) -> Result<Option<T>, Failure> {
    let parsed = |text: String| {
        text.parse()
            .map_err(|error| Failure::invalid(format!("setting `{name}` is `{text}`: {error}")))
    };
    get(name).map(parsed).transpose()
}
