//! Consumer offsets: what the master has is put into ours, and nothing ever leaves, as RocketMQ's `SlaveSynchronize` does.
//! The version says nothing here: a master's offsets move while it stands still.

use locum_sdk::prelude::*;

struct Offset;

impl Routine for Offset {
    fn describe() -> Description {
        let summary = "consumer offsets of the master, put into ours; none is ever removed";
        Description::new("offset", env!("CARGO_PKG_VERSION"), summary).writes(CONSUMER_OFFSETS)
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        let theirs = master::fetch(CONSUMER_OFFSETS)?;
        replica::edit(CONSUMER_OFFSETS).merge(&theirs);
        Ok(())
    }
}

export!(Offset);

#[cfg(test)]
mod tests;
