//! What a master has of its own when it has just started on an empty store.

use crate::config::{Group, Topic};
use crate::dialect::Dialect;

/// The cluster of every stub.
pub(crate) const CLUSTER: &str = "C1";
/// The broker of every stub.
pub(crate) const BROKER: &str = "broker-a";

/// The system topics: 8 in 4.9, 12 in 5.0, 15 in 5.5.
pub(crate) fn topics(dialect: Dialect) -> Vec<Topic> {
    let mut topics = vec![
        topic("SELF_TEST_TOPIC", 1, 6),
        topic("TBW102", 8, 7),
        topic("BenchmarkTest", 1024, 6),
        topic(CLUSTER, 16, 7),
        topic(BROKER, 1, 7),
        topic("OFFSET_MOVED_EVENT", 1, 6),
        topic("SCHEDULE_TOPIC_XXXX", 18, 6),
        topic("C1_REPLY_TOPIC", 1, 6),
    ];
    if dialect.is_5() {
        topics.extend([
            topic("rmq_sys_REVIVE_LOG_C1", 8, 6),
            topic("rmq_sys_SYNC_BROKER_MEMBER_broker-a", 1, 1),
            topic("RMQ_SYS_TRANS_HALF_TOPIC", 1, 6),
            topic("RMQ_SYS_TRANS_OP_HALF_TOPIC", 1, 6),
        ]);
    }
    if dialect == Dialect::V5_5 {
        topics.extend([
            topic("rmq_sys_wheel_timer", 1, 6),
            topic("RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", 1, 6),
            topic("RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC", 1, 6),
        ]);
    }
    topics
}

/// The system groups: 7 in 4.9, 8 in 5.x.
pub(crate) fn groups(dialect: Dialect) -> Vec<Group> {
    let mut groups: Vec<Group> = [
        "TOOLS_CONSUMER",
        "FILTERSRV_CONSUMER",
        "SELF_TEST_C_GROUP",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PULL",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_OWNER",
    ]
    .map(Group::new)
    .into();
    if dialect.is_5() {
        groups.push(Group::new("CID_RMQ_SYS_TRANS"));
    }
    groups
}

fn topic(name: &str, queues: u32, perm: u32) -> Topic {
    Topic::new(name).queues(queues, queues).perm(perm)
}
