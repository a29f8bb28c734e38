//! Topics whose names match the patterns in the setting `keep`, such as `orders-*,%RETRY%*`; RocketMQ's own topics are
//! always kept, so that a broker boots from the result. Version and other members are the master's.

mod pattern;

use locum_sdk::prelude::*;
use locum_sdk::system;
use pattern::Patterns;

struct TopicFilter;

impl Routine for TopicFilter {
    fn describe() -> Description {
        let keep =
            "patterns of topics to keep, separated by commas; * is any text, ? any one character";
        Description::new(
            "topic-filter",
            env!("CARGO_PKG_VERSION"),
            "topics of the master that match, and the system's",
        )
        .writes(TOPICS)
        .setting(Setting::required("keep", keep))
    }

    fn sync(_: Tick) -> Result<(), Failure> {
        let keep = Patterns::read(&settings::required("keep")?)?;
        let theirs = master::fetch(TOPICS)?;
        let left_out = theirs.entries().filter(|topic| {
            !keep.matches(&topic.key) && !system::is_topic(&topic.key, &topic.value)
        });
        let draft = replica::edit(TOPICS);
        draft.replace(&theirs);
        draft.remove_all(left_out.map(|topic| topic.key))?;
        Ok(())
    }
}

export!(TopicFilter);

#[cfg(test)]
mod tests;
