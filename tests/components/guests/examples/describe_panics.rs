//! Panics when it is asked what it is.

use locum_sdk::prelude::*;

struct DescribePanics;

impl Routine for DescribePanics {
    fn describe() -> Description {
        panic!("I will not say what I am")
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        Ok(())
    }
}

export!(DescribePanics);
