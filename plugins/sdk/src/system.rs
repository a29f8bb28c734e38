//! What RocketMQ's brokers make for themselves. A stand-in keeps it, whatever a policy filters; a master whose files
//! were emptied still answers with it.
//!
//! The host's guards have the same list in `locum_tables::system`, with its sources; a test holds the two together.

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
    let of_group = |prefix| name.strip_prefix(prefix).is_some_and(is_group);
    TOPICS.contains(&name)
        || TOPIC_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.ends_with(REPLY_TOPIC_SUFFIX)
        || GROUP_TOPIC_PREFIXES.into_iter().any(of_group)
        || perm(config).is_some_and(|perm| perm & INHERIT != 0)
}

/// Whether a subscription group is the broker's own.
#[must_use]
pub fn is_group(name: &str) -> bool {
    GROUPS.contains(&name) || name.starts_with(GROUP_PREFIX)
}

/// The permission bits in a topic's configuration. Values cross as one line of JSON without white space. Works on bytes,
/// since the standard library's search in text would be a tenth of a small policy.
fn perm(config: &str) -> Option<u32> {
    const MEMBER: &[u8] = b"\"perm\":";
    let config = config.as_bytes();
    let at = config
        .windows(MEMBER.len())
        .position(|window| window == MEMBER)?;
    let mut digits = config
        .iter()
        .skip(at + MEMBER.len())
        .map_while(|&byte| char::from(byte).to_digit(10));
    let first = digits.next()?;
    digits.try_fold(first, |perm, digit| {
        perm.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"order":false,"perm":6,"topicSysFlag":0}"#;

    #[test]
    fn what_a_fresh_master_has_is_the_systems() {
        let fixed = [
            "SCHEDULE_TOPIC_XXXX",
            "SELF_TEST_TOPIC",
            "BenchmarkTest",
            "OFFSET_MOVED_EVENT",
            "C1_REPLY_TOPIC",
        ];
        let newer = [
            "rmq_sys_wheel_timer",
            "rmq_sys_REVIVE_LOG_C1",
            "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
        ];
        for topic in fixed.into_iter().chain(newer) {
            assert!(is_topic(topic, PLAIN), "{topic}");
        }
        for group in [
            "TOOLS_CONSUMER",
            "CID_RMQ_SYS_TRANS",
            "CID_ONS-HTTP-PROXY",
            "SELF_TEST_C_GROUP",
        ] {
            assert!(is_group(group), "{group}");
        }
    }

    #[test]
    fn topics_named_as_cluster_and_broker_are_known_by_their_permission() {
        assert!(is_topic(
            "broker-a",
            r#"{"order":false,"perm":7,"readQueueNums":1}"#
        ));
        assert!(!is_topic("broker-a", PLAIN));
    }

    #[test]
    fn what_users_and_their_groups_have_is_not_the_systems() {
        for topic in [
            "orders",
            "%RETRY%G_plain",
            "%DLQ%G_plain",
            "RMQ_SYS",
            "my_rmq_sys_",
        ] {
            assert!(!is_topic(topic, PLAIN), "{topic}");
        }
        assert!(!is_topic("orders", r#"{"perm":4}"#));
        assert!(!is_topic("orders", "{}"));
        assert!(!is_group("G_plain"));
    }
}
