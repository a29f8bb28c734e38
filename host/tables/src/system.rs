//! What RocketMQ's brokers make for themselves. A master whose files were emptied still answers with it, so it says nothing
//! of how full a table is. Policies have the same list in `locum_sdk::system`; a test there holds the two together.
//!
//! Sources: `TopicValidator.SYSTEM_TOPIC_SET` and `SYSTEM_TOPIC_PREFIX` (4.9 to 5.5), `MixAll`'s group names,
//! `CID_RMQ_SYS_PREFIX`, `RETRY_GROUP_TOPIC_PREFIX` and `DLQ_GROUP_TOPIC_PREFIX`, `TopicConfigManager.init` and
//! `SubscriptionGroupManager.init`, and what fresh masters 4.9.7, 5.1.4, 5.3.3, 5.4.0 and 5.5.0 answered to 21 and 201.

use crate::kind::KeyKind;
use crate::table::{Entry, Table};

/// Topics with a fixed name.
pub const TOPICS: [&str; 9] = [
    "TBW102",
    "SELF_TEST_TOPIC",
    "BenchmarkTest",
    "OFFSET_MOVED_EVENT",
    "SCHEDULE_TOPIC_XXXX",
    "SCHEDULE_TOPIC_XXXX_V2",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "RMQ_ROUTE_EVENT_TOPIC",
    "CHECKPOINT_TOPIC",
];

/// What other system topics' names begin with: revive logs, timers, members of a broker group; transactions and traces.
pub const TOPIC_PREFIXES: [&str; 2] = ["rmq_sys_", "RMQ_SYS_"];

/// What a cluster's topic for replies ends with; the cluster's name comes before it.
pub const REPLY_TOPIC_SUFFIX: &str = "_REPLY_TOPIC";

/// What the names of a group's own topics begin with, the group's name behind it: messages to try again, and those given up.
/// They are the system's if the group is.
pub const GROUP_TOPIC_PREFIXES: [&str; 2] = ["%RETRY%", "%DLQ%"];

/// Groups with a fixed name.
pub const GROUPS: [&str; 13] = [
    "TOOLS_CONSUMER",
    "SCHEDULE_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "SELF_TEST_P_GROUP",
    "DEFAULT_CONSUMER",
    "DEFAULT_PRODUCER",
    "CLIENT_INNER_PRODUCER",
    "__MONITOR_CONSUMER",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    "CID_ONSAPI_PULL",
];

/// What other system groups' names begin with.
pub const GROUP_PREFIX: &str = "CID_RMQ_SYS_";

/// `PermName.PERM_INHERIT`: new topics inherit from one with this bit, which they do not take over. A broker sets it for topics
/// of its own only, among them the two whose names cannot be known here: those named as the cluster and as the broker.
const INHERIT: u32 = 1;

/// Whether a topic is the broker's own: by its name, or by its configuration (the entry's value).
#[must_use]
pub fn is_topic(name: &str, config: &str) -> bool {
    is_topic_name(name) || perm(config).is_some_and(|perm| perm & INHERIT != 0)
}

/// Whether a subscription group is the broker's own.
#[must_use]
pub fn is_group(name: &str) -> bool {
    GROUPS.contains(&name) || name.starts_with(GROUP_PREFIX)
}

fn is_topic_name(name: &str) -> bool {
    let of_group = |prefix| name.strip_prefix(prefix).is_some_and(is_group);
    TOPICS.contains(&name)
        || TOPIC_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.ends_with(REPLY_TOPIC_SUFFIX)
        || GROUP_TOPIC_PREFIXES.into_iter().any(of_group)
}

/// The permission bits in a topic's configuration.
fn perm(config: &str) -> Option<u32> {
    const MEMBER: &str = "\"perm\":";
    let value = &config[config.find(MEMBER)? + MEMBER.len()..];
    let end = value.find(|character: char| !character.is_ascii_digit());
    value[..end.unwrap_or(value.len())].parse().ok()
}

impl KeyKind {
    /// Whether an entry with such a key is the broker's own. An offset is that if its topic or its group is; where a delay level
    /// has come to always counts as the users'.
    fn is_system(self, entry: &Entry<'_>) -> bool {
        match self {
            Self::Topic => is_topic(entry.key, entry.value),
            Self::TopicAtGroup => entry
                .key
                .split_once('@')
                .is_some_and(|(topic, group)| is_topic_name(topic) || is_group(group)),
            Self::Group => is_group(entry.key),
            Self::DelayLevel => false,
        }
    }
}

impl Table {
    /// The keys of all entries that are the users', in order: those that the broker did not make for itself.
    pub fn user_keys(&self) -> impl Iterator<Item = &str> {
        let key = self.kind.key;
        self.entries()
            .filter(move |entry| !key.is_system(entry))
            .map(|entry| entry.key)
    }

    /// How many entries are the users'. This looks at each entry.
    #[must_use]
    pub fn user_len(&self) -> usize {
        self.user_keys().count()
    }
}

#[cfg(test)]
mod tests;
