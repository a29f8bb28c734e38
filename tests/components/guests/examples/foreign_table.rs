//! Says that it writes a table that no host knows.

use locum_sdk::prelude::*;

struct ForeignTable;

impl Routine for ForeignTable {
    fn describe() -> Description {
        Description::new(
            "foreign-table",
            "0.1.0",
            "writes a table that does not exist",
        )
        .writes("passwords")
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        Ok(())
    }
}

export!(ForeignTable);
