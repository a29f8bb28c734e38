//! The replica that this tick is for.

use crate::{Draft, Table, world};

/// The committed table of that name as of the tick's start; `None` before its first commit.
#[must_use]
pub fn current(table: &str) -> Option<Table> {
    world::current(table).map(Table)
}

/// The draft of a table that this policy's description lists in `writes`; a trap otherwise. Asking twice gives the same
/// draft. A table of which a draft was asked for is committed when the tick ends well, also when it is empty.
#[must_use]
pub fn edit(table: &str) -> Draft {
    Draft(world::edit(table))
}
