//! Waiting for an event with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until `probe` gives something.
///
/// # Errors
///
/// The probe's own error, or [`Error::TimedOut`] when nothing came within the given time.
pub fn wait_for<T>(
    what: &str,
    within: Duration,
    mut probe: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = probe()? {
            return Ok(found);
        }
        if Instant::now() >= deadline {
            return Err(Error::TimedOut {
                what: what.to_owned(),
                within,
            });
        }
        thread::sleep(PAUSE);
    }
}
