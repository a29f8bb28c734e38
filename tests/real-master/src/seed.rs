//! The seeding that the captured replies come from.

use std::time::Duration;

use locum_remoting::code;
use serde_json::json;

use crate::{Broker, Error, Topic, wait_for};

/// Delay levels 1 and 2 are one and two seconds; the rest is for a loaded machine.
const DELIVERED: Duration = Duration::from_secs(60);
/// 2^53 and 2^53 + 1: the latter is lost where numbers are floating point.
const EXACT: i64 = 9_007_199_254_740_992;

/// Fills a fresh broker with every kind of entry and returns when all of them are in its answers:
///
/// * topics `T_plain` (4 queues), `T_order` (8, ordered; 4.9 drops that), `T_readonly` (4, perm 4), `T_one` (1), `T_wide` (64 to read, 16
///   to write), `T_fifo` (2; on 5.x with the attribute `message.type=FIFO`), `%RETRY%G_plain` (1), on 5.x the static topic
///   `T_static` (2);
/// * groups `G_plain`, `G_disabled`, `G_nobroadcast`, `G_retry`, `G_attr` (an attribute where groups take any), on 5.x
///   `G_plain` forbidden to read `T_readonly`, and popping `T_plain`;
/// * an offset for each group but `G_attr`; on 4.9 also for a group and a topic that do not exist;
/// * in queues 0 and 1 of `T_plain` two messages each, `first` and `second`; the committed offsets of `G_plain` there are 0
///   and 1;
/// * in `T_one` three messages that were delayed: the delay offsets are 2 for level 1 and 1 for level 2.
///
/// # Errors
///
/// When the broker refuses something, or does not deliver the delayed messages.
pub fn seed(broker: &Broker) -> Result<(), Error> {
    // First, so that the delays run during the rest.
    topics(broker)?;
    messages(broker)?;
    groups(broker)?;
    offsets(broker)?;
    delivered(broker)
}

fn topics(broker: &Broker) -> Result<(), Error> {
    let mut fifo = Topic::new("T_fifo", 2);
    if broker.version().is_five() {
        fifo = fifo.attribute("message.type", "FIFO");
        broker.create_static_topic("T_static", 2)?;
    }
    for topic in [
        Topic::new("T_plain", 4),
        Topic::new("T_order", 8).ordered(),
        Topic::new("T_readonly", 4).perm(4),
        Topic::new("T_one", 1),
        Topic::new("T_wide", 64).write_queues(16),
        fifo,
        Topic::new("%RETRY%G_plain", 1),
    ] {
        broker.create_topic(&topic)?;
    }
    Ok(())
}

fn messages(broker: &Broker) -> Result<(), Error> {
    for level in [1, 1, 2] {
        broker.send_delayed("T_one", 0, "delayed", level)?;
    }
    for body in ["first", "second"] {
        broker.send("T_plain", 0, body)?;
        broker.send("T_plain", 1, body)?;
    }
    if broker.version().is_five() {
        broker.send_with("T_one", 0, "timed", &[("TIMER_DELAY_SEC", "600")])?;
    }
    Ok(())
}

fn groups(broker: &Broker) -> Result<(), Error> {
    let version = broker.version();
    let mut retry = json!({});
    let mut with_attribute = json!({});
    if version.is_five() {
        retry = json!({
            "consumeMessageOrderly": true,
            "groupRetryPolicy": {
                "type": "EXPONENTIAL",
                "exponentialRetryPolicy": {"initial": 1000, "max": 60000, "multiplier": 3},
            },
        });
    }
    if version.has_group_attributes() {
        with_attribute = json!({"attributes": {"+priority.factor": "7"}});
    }
    let disabled = json!({"consumeEnable": false, "retryQueueNums": 2, "retryMaxTimes": 3});
    broker.create_group("G_plain", json!({}))?;
    broker.create_group("G_disabled", disabled)?;
    broker.create_group("G_nobroadcast", json!({"consumeBroadcastEnable": false}))?;
    broker.create_group("G_retry", retry)?;
    broker.create_group("G_attr", with_attribute)?;
    if version.is_five() {
        broker.forbid("G_plain", "T_readonly", true)?;
        broker.set_request_mode("G_plain", "T_plain", "POP", 2)?;
    }
    Ok(())
}

fn offsets(broker: &Broker) -> Result<(), Error> {
    for (queue, offset) in (0..).zip([0, 1, 1000, EXACT + 1]) {
        broker.commit_offset("G_plain", "T_plain", queue, offset)?;
    }
    for queue in 0..8 {
        broker.commit_offset("G_retry", "T_order", queue, i64::from(queue) * 10)?;
    }
    broker.commit_offset("G_plain", "%RETRY%G_plain", 0, 3)?;
    broker.commit_offset("G_disabled", "T_one", 0, 1 << 31)?;
    broker.commit_offset("G_nobroadcast", "T_wide", 63, EXACT)?;
    if !broker.version().is_five() {
        broker.commit_offset("G_ghost", "T_ghost", 0, 5)?;
    }
    Ok(())
}

fn delivered(broker: &Broker) -> Result<(), Error> {
    let expected = json!({"1": 2, "2": 1});
    wait_for("the delivery of the delayed messages", DELIVERED, || {
        let delays = broker.ask(code::GET_ALL_DELAY_OFFSET)?;
        Ok((delays["offsetTable"] == expected).then_some(()))
    })
}
