//! Subscription groups as the master has them: taken over whole when its version is another one, as RocketMQ's
//! `SlaveSynchronize` does, with the other members of the document (`forbiddenTable`), which Java's slaves lose.

use locum_sdk::prelude::*;

struct Subgroup;

impl Routine for Subgroup {
    fn describe() -> Description {
        let summary = "subscription groups as the master has them, taken over when they differ";
        Description::new("subgroup", env!("CARGO_PKG_VERSION"), summary).writes(SUBSCRIPTION_GROUPS)
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        let theirs = master::fetch(SUBSCRIPTION_GROUPS)?;
        if let Some(ours) =
            replica::current(SUBSCRIPTION_GROUPS).filter(|ours| ours.same_version(&theirs))
        {
            if ours.same(&theirs) {
                return Ok(());
            }
            if !ours.same_entries(&theirs) {
                warn!("the master's groups differ from ours under the same version: taken over");
            }
        }
        replica::edit(SUBSCRIPTION_GROUPS).replace(&theirs);
        Ok(())
    }
}

export!(Subgroup);

#[cfg(test)]
mod tests;
