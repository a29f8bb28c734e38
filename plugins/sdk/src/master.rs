//! The master, through the host's connection.

use crate::{FetchError, Table, world};

/// Asks the master for a whole table, such as [`TOPICS`](crate::TOPICS). In one tick each request goes out once: asking
/// again gives the same answer, also for another table that arrives in it.
///
/// # Errors
/// Why no table came, see [`FetchError`]; `?` hands it on as the tick's failure.
pub fn fetch(table: &str) -> Result<Table, FetchError> {
    world::fetch(table).map(Table)
}
