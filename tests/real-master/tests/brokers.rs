//! Real brokers, from the download to the answers.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, also in what several tests share"
)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use locum_remoting::{Command, code, response};
use real_master::{Broker, NameServer, Topic, Version, seed, skipped, wait_for};
use serde_json::{Value, json};

const WITHIN: Duration = Duration::from_secs(30);
/// `nobody`, on every Linux.
const SOMEBODY_ELSE: u32 = 65_534;

fn seeded_broker_answers_what_was_seeded(version: Version) {
    let mut broker = Broker::builder(version).start().unwrap();
    seed(&broker).unwrap();
    check_topics(&broker);
    check_groups(&broker);
    check_offsets(&broker);

    broker.create_topic(&Topic::new("T_gone", 1)).unwrap();
    broker.delete_topic("T_gone").unwrap();
    broker.create_group("G_gone", json!({})).unwrap();
    broker.delete_group("G_gone", true).unwrap();
    assert!(topics(&broker)["T_gone"].is_null());
    assert!(groups(&broker)["G_gone"].is_null());

    check_messages(&broker);

    let address = broker.address();
    broker.stop().unwrap();
    broker.request(&Command::request(21)).unwrap_err();
    broker.start_again().unwrap();
    assert_eq!(broker.address(), address);
    check_topics(&broker);
    check_groups(&broker);
    check_offsets(&broker);
}

fn check_topics(broker: &Broker) {
    let topics = topics(broker);
    assert_eq!(topics["T_wide"]["readQueueNums"], 64);
    assert_eq!(topics["T_wide"]["writeQueueNums"], 16);
    // 4.9 drops the flag.
    assert_eq!(topics["T_order"]["order"], broker.version().is_five());
    assert_eq!(topics["T_readonly"]["perm"], 4);
    assert_eq!(topics["%RETRY%G_plain"]["readQueueNums"], 1);
    if broker.version().is_five() {
        assert_eq!(topics["T_fifo"]["attributes"]["message.type"], "FIFO");
        let mapping = &broker.ask(21).unwrap()["topicQueueMappingDetailMap"]["T_static"];
        assert_eq!(mapping["hostedQueues"]["1"][0]["queueId"], 1);
    }
}

fn check_groups(broker: &Broker) {
    let groups = groups(broker);
    assert_eq!(groups["G_plain"]["consumeEnable"], true);
    assert_eq!(groups["G_disabled"]["consumeEnable"], false);
    assert_eq!(groups["G_disabled"]["retryMaxTimes"], 3);
    assert_eq!(groups["G_nobroadcast"]["consumeBroadcastEnable"], false);
    if broker.version().has_group_attributes() {
        assert_eq!(groups["G_attr"]["attributes"]["priority.factor"], "7");
    }
    if broker.version().is_five() {
        assert_eq!(groups["G_retry"]["groupRetryPolicy"]["type"], "EXPONENTIAL");
        let forbidden = &broker.ask(201).unwrap()["forbiddenTable"];
        assert_eq!(forbidden, &json!({"G_plain": {"T_readonly": 4}}));
        let mode = &broker.ask(402).unwrap()["messageRequestModeMap"]["T_plain"]["G_plain"];
        assert_eq!(mode["mode"], "POP");
    }
}

fn check_offsets(broker: &Broker) {
    let mut expected = json!({
        "T_plain@G_plain": {"0": 0, "1": 1, "2": 1000, "3": 9_007_199_254_740_993_i64},
        "T_order@G_retry": {"0": 0, "1": 10, "2": 20, "3": 30, "4": 40, "5": 50, "6": 60, "7": 70},
        "%RETRY%G_plain@G_plain": {"0": 3},
        "T_one@G_disabled": {"0": 2_147_483_648_i64},
        "T_wide@G_nobroadcast": {"63": 9_007_199_254_740_992_i64},
    });
    if !broker.version().is_five() {
        expected["T_ghost@G_ghost"] = json!({"0": 5});
    }
    assert_eq!(broker.ask(43).unwrap()["offsetTable"], expected);
    let delays = json!({"1": 2, "2": 1});
    assert_eq!(broker.ask(45).unwrap()["offsetTable"], delays);
}

fn check_messages(broker: &Broker) {
    let next = broker.pull_when_there("G_plain", "T_plain", 1, 1).unwrap();
    assert_eq!((next.queue_offset, &next.body[..]), (1, &b"second"[..]));
    let both = broker.pull("G_plain", "T_plain", 0, 0, 32).unwrap();
    let bodies: Vec<_> = both.iter().map(|message| &message.body[..]).collect();
    assert_eq!(bodies, [b"first".as_slice(), b"second"]);
    assert_eq!(broker.pull("G_plain", "T_plain", 0, 2, 32).unwrap(), []);
    if broker.version() == Version::V5_5_0 {
        let pulled = &broker.ask(43).unwrap()["pullOffsetTable"];
        assert!(pulled["T_plain@G_plain"]["0"].is_i64(), "{pulled}");
    }
}

fn topics(broker: &Broker) -> Value {
    let answer = broker.ask(code::GET_ALL_TOPIC_CONFIG).unwrap();
    answer["topicConfigTable"].clone()
}

fn groups(broker: &Broker) -> Value {
    let answer = broker.ask(code::GET_ALL_SUBSCRIPTIONGROUP_CONFIG).unwrap();
    answer["subscriptionGroupTable"].clone()
}

#[test]
fn seeded_4_9_7_answers_what_was_seeded() {
    if !skipped("seeded_4_9_7_answers_what_was_seeded") {
        seeded_broker_answers_what_was_seeded(Version::V4_9_7);
    }
}

#[test]
fn seeded_5_5_0_answers_what_was_seeded() {
    if !skipped("seeded_5_5_0_answers_what_was_seeded") {
        seeded_broker_answers_what_was_seeded(Version::V5_5_0);
    }
}

#[test]
fn a_broker_registers_with_a_name_server() {
    if skipped("a_broker_registers_with_a_name_server") {
        return;
    }
    let mut name_server = NameServer::start(Version::V5_5_0).unwrap();
    let broker = Broker::builder(Version::V5_5_0)
        .name_server(&name_server)
        .start()
        .unwrap();
    let registered = wait_for("the registration", WITHIN, || {
        let clusters = name_server.ask(code::GET_BROKER_CLUSTER_INFO)?;
        let address = clusters["brokerAddrTable"]["broker-a"]["brokerAddrs"]["0"].clone();
        Ok(address.is_string().then_some(address))
    });
    assert_eq!(registered.unwrap(), broker.address().to_string());
    name_server.stop().unwrap();
}

/// What the mode of our files is about: a broker under another user reads what everybody may read, and takes a file
/// that he may not read for a missing one.
#[test]
fn a_broker_of_another_user_reads_readable_files_only() {
    if skipped("a_broker_of_another_user_reads_readable_files_only") {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        // Nobody else can become another user; CI is root.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    open_up(folder.path(), 0o755);
    let topic = json!({"topicName": "T_kept", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6});
    let table = json!({"topicConfigTable": {"T_kept": topic}}).to_string();
    for (mode, read) in [(0o644, true), (0o600, false)] {
        let store = folder.path().join(format!("{mode:o}"));
        let file = store.join("config/topics.json");
        fs::create_dir_all(store.join("config")).unwrap();
        fs::write(&file, &table).unwrap();
        open_up(&file, mode);
        let mut broker = Broker::builder(Version::V4_9_7)
            .store(&store)
            .uid(SOMEBODY_ELSE)
            .start()
            .unwrap();
        assert_eq!(topics(&broker)["T_kept"].is_object(), read, "mode {mode:o}");
        let lock = fs::metadata(broker.store().join("lock")).unwrap();
        assert_eq!(lock.uid(), SOMEBODY_ELSE);
        broker.kill();
    }
}

fn open_up(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_broker_that_cannot_start_says_why() {
    if skipped("a_broker_that_cannot_start_says_why") {
        return;
    }
    // A slave without an id of its own.
    let refused = Broker::builder(Version::V4_9_7)
        .config_line("brokerRole=SLAVE")
        .start()
        .unwrap_err()
        .to_string();
    assert!(refused.contains("ended at the start"), "{refused}");
    assert!(refused.contains("brokerId"), "{refused}");
}

#[test]
fn an_error_code_is_an_answer_to_request_and_an_error_to_the_rest() {
    if skipped("an_error_code_is_an_answer_to_request_and_an_error_to_the_rest") {
        return;
    }
    let broker = Broker::builder(Version::V4_9_7).start().unwrap();
    let reply = broker.request(&Command::request(9999)).unwrap();
    assert_eq!(reply.code, response::REQUEST_CODE_NOT_SUPPORTED);
    let refused = broker.ask(9999).unwrap_err().to_string();
    assert!(
        refused.contains("request type 9999 not supported"),
        "{refused}"
    );
}
