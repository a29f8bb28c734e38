//! Topics as the master has them, without those whose names begin with the setting `leave-out`. RocketMQ's own topics
//! always stay, so that a broker boots from the result.

use locum_sdk::prelude::*;
use locum_sdk::system;

struct Policy;

impl Routine for Policy {
    /// What an operator sees of this policy. Only the tables named here can be drafted.
    fn describe() -> Description {
        let leave_out = "leave out topics whose names begin with this; none if it is not set";
        Description::new(
            env!("CARGO_PKG_NAME"),
            env!("CARGO_PKG_VERSION"),
            "topics of the master, without those that the operator leaves out",
        )
        .writes(TOPICS)
        .setting(Setting::optional("leave-out", leave_out))
    }

    /// One tick. What it drafts is committed when it returns `Ok`, and dropped otherwise.
    fn sync(_: Tick) -> Result<(), Failure> {
        let theirs = master::fetch(TOPICS)?;
        let draft = replica::edit(TOPICS);
        draft.replace(&theirs);
        if let Some(beginning) = settings::get("leave-out") {
            let left_out = theirs.entries().filter(|topic| {
                topic.key.starts_with(&beginning) && !system::is_topic(&topic.key, &topic.value)
            });
            let count = draft.remove_all(left_out.map(|topic| topic.key))?;
            debug!("{count} topics are left out");
        }
        Ok(())
    }
}

export!(Policy);

#[cfg(test)]
mod tests;
