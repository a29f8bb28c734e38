//! Components for tests: guests that behave in every way, and files that are no good component at all.
//!
//! The good policies are [`policies::all`]; the guests are built the same way by [`guests`]. What they can do is in
//! `guests/src/deeds.rs`.

pub mod broken;
mod patched;
#[path = "../guests/src/place.rs"]
mod place;

use std::sync::OnceLock;

pub use patched::{heavy, misbehaving, variant, with_wide_arithmetic};
use policies::Components;

/// The guests for tests, built once in a process by the first who asks:
///
/// | name | what it is |
/// | --- | --- |
/// | `misbehave` | does what its setting `do` says, with the argument `with`; writes `topics` |
/// | `foreign-table` | says that it writes a table that no host knows |
/// | `describe-panics` | panics when it is asked what it is |
/// | `describe-loops` | never says what it is |
/// | `marker-v1`, `marker-v2` | policy `topic` 0.1.1 and 0.1.2: the master's topics and a topic `marker-v1` or `marker-v2` |
///
/// # Panics
/// If they cannot be built.
#[must_use]
pub fn guests() -> &'static Components {
    static GUESTS: OnceLock<Components> = OnceLock::new();
    GUESTS.get_or_init(|| match policies::build_with_examples("guests") {
        Ok(built) => Components::new(built),
        Err(error) => panic!("{error}"),
    })
}
