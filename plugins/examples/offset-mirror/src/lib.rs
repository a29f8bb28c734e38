//! Consumer offsets exactly as the master has them: an offset that the master deleted leaves the replica too, which the
//! policy `offset`, faithful to RocketMQ's own slaves, never lets happen.

use locum_sdk::prelude::*;

struct OffsetMirror;

impl Routine for OffsetMirror {
    fn describe() -> Description {
        let summary = "consumer offsets exactly as the master has them, deletions too";
        Description::new("offset-mirror", env!("CARGO_PKG_VERSION"), summary)
            .writes(CONSUMER_OFFSETS)
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        let theirs = master::fetch(CONSUMER_OFFSETS)?;
        replica::edit(CONSUMER_OFFSETS).replace(&theirs);
        Ok(())
    }
}

export!(OffsetMirror);

#[cfg(test)]
mod tests;
