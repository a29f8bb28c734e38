//! What a routine remembers between ticks: each tick runs in a fresh instance. It belongs to the slot, is kept when a
//! tick ends updated or unchanged, and dropped when the tick fails or is held. It may be one tick older than the table
//! after a crash.

use crate::{MemoryError, world};

/// What was remembered under this name.
#[must_use]
pub fn get(name: &str) -> Option<Vec<u8>> {
    world::remembered(name)
}

/// Remembers `value` under this name.
///
/// # Errors
/// If the host's limit for a slot's memory would be passed; what was there stays.
pub fn set(name: &str, value: &[u8]) -> Result<(), MemoryError> {
    world::remember(name, value)
}

/// Forgets what is remembered under this name.
pub fn remove(name: &str) {
    world::forget(name);
}
