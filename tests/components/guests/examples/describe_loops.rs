//! Never says what it is.

use locum_sdk::prelude::*;

struct DescribeLoops;

impl Routine for DescribeLoops {
    fn describe() -> Description {
        loop {
            std::hint::spin_loop();
        }
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        Ok(())
    }
}

export!(DescribeLoops);
