//! Delay offsets: what the master has is what the replica holds, as RocketMQ's `SlaveSynchronize` does.

use locum_sdk::prelude::*;

struct Delay;

impl Routine for Delay {
    fn describe() -> Description {
        let summary = "delay offsets exactly as the master has them";
        Description::new("delay", env!("CARGO_PKG_VERSION"), summary).writes(DELAY_OFFSETS)
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        let theirs = master::fetch(DELAY_OFFSETS)?;
        replica::edit(DELAY_OFFSETS).replace(&theirs);
        Ok(())
    }
}

export!(Delay);

#[cfg(test)]
mod tests;
