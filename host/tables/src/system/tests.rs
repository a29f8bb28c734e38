use super::{is_group, is_topic};
use crate::kind::{CONSUMER_OFFSETS, DELAY_OFFSETS, SUBSCRIPTION_GROUPS, TOPICS, TableKind};
use crate::limits::ReadLimits;
use crate::table::Table;

const PLAIN: &str = r#"{"order":false,"perm":6,"topicSysFlag":0}"#;

fn user_keys(kind: &'static TableKind, body: &str) -> Vec<String> {
    let table = Table::from_answer(kind, body.as_bytes(), &ReadLimits::default()).unwrap();
    assert_eq!(table.user_len(), table.user_keys().count());
    table.user_keys().map(str::to_owned).collect()
}

#[test]
fn names_that_only_other_set_ups_have_are_the_systems_too() {
    for topic in [
        "rmq_sys_REVIVE_LOG_prod",
        "RMQ_SYS_TRACE_TOPIC",
        "prod_REPLY_TOPIC",
        "%RETRY%TOOLS_CONSUMER",
        "%DLQ%CID_RMQ_SYS_TRANS",
    ] {
        assert!(is_topic(topic, PLAIN), "{topic}");
    }
    assert!(is_group("CID_RMQ_SYS_REVIVE_GROUP"));
}

#[test]
fn what_users_and_their_groups_have_is_theirs() {
    for topic in [
        "orders",
        "%RETRY%billing",
        "%DLQ%billing",
        "RMQ_SYS",
        "my_rmq_sys_",
        "REPLY_TOPIC",
        "",
    ] {
        assert!(!is_topic(topic, PLAIN), "{topic}");
    }
    for group in ["billing", "TOOLS_CONSUMER_2", "CID_billing", ""] {
        assert!(!is_group(group), "{group}");
    }
}

#[test]
fn topics_named_as_cluster_and_broker_are_known_by_their_permission() {
    let inherits = r#"{"attributes":{},"order":false,"perm":7,"readQueueNums":1}"#;
    assert!(is_topic("broker-a", inherits));
    for config in [
        PLAIN,
        "{}",
        r#"{"perm":}"#,
        r#"{"perm":4"#,
        r#"{"perm":-1}"#,
        r#"{"perm":99999999999}"#,
    ] {
        assert!(!is_topic("broker-a", config), "{config}");
    }
}

#[test]
fn each_table_has_its_own_rule() {
    let topics =
        r#"{"topicConfigTable":{"TBW102":{"perm":7},"C1":{"perm":7},"orders":{"perm":6}}}"#;
    assert_eq!(user_keys(&TOPICS, topics), ["orders"]);
    let groups = r#"{"subscriptionGroupTable":{"TOOLS_CONSUMER":{},"billing":{}}}"#;
    assert_eq!(user_keys(&SUBSCRIPTION_GROUPS, groups), ["billing"]);
    let offsets = r#"{"offsetTable":{"orders@billing":{0:1},"%RETRY%billing@billing":{0:1},"orders@TOOLS_CONSUMER":{0:1},
        "RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS":{0:1},"SCHEDULE_TOPIC_XXXX@billing":{0:1}}}"#;
    assert_eq!(
        user_keys(&CONSUMER_OFFSETS, offsets),
        ["%RETRY%billing@billing", "orders@billing"]
    );
    let delays = r#"{"offsetTable":{1:10,2:20}}"#;
    assert_eq!(user_keys(&DELAY_OFFSETS, delays), ["1", "2"]);
}
