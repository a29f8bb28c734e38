//! Topics as the master has them: taken over whole when its version is another one, as RocketMQ's `SlaveSynchronize`
//! does. A version that did not move while the topics did (a master's restart can do that) is not believed.

use locum_sdk::prelude::*;

struct Topic;

impl Routine for Topic {
    fn describe() -> Description {
        let summary = "topics as the master has them, taken over when they differ";
        Description::new("topic", env!("CARGO_PKG_VERSION"), summary).writes(TOPICS)
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        let theirs = master::fetch(TOPICS)?;
        if let Some(ours) = replica::current(TOPICS).filter(|ours| ours.same_version(&theirs)) {
            if ours.same(&theirs) {
                return Ok(());
            }
            if !ours.same_entries(&theirs) {
                warn!("the master's topics differ from ours under the same version: taken over");
            }
        }
        replica::edit(TOPICS).replace(&theirs);
        Ok(())
    }
}

export!(Topic);

#[cfg(test)]
mod tests;
