//! What an operator, a producer or a consumer tells a broker.

use std::time::{Duration, SystemTime};

use locum_remoting::{Command, code};
use serde_json::{Map, Value, json};

use crate::broker::BROKER_NAME;
use crate::message::{Message, properties};
use crate::{Broker, Error};

/// `perm`: may be read and written.
const READ_WRITE: u8 = 6;
/// Reply to a pull: nothing at this offset yet.
const PULL_NOT_FOUND: i32 = 19;
/// Reply to a pull: ask again at another offset.
const PULL_OFFSET_MOVED: i32 = 21;
/// `sysFlag` of a pull: the subscription comes with it, since no consumer has registered.
const WITH_SUBSCRIPTION: &str = "4";

/// A topic to create, or how an existing one shall be.
#[derive(Debug, Clone)]
pub struct Topic {
    name: String,
    read_queues: u32,
    write_queues: u32,
    perm: u8,
    order: bool,
    attributes: String,
}

impl Topic {
    /// A topic for reading and writing with so many queues.
    #[must_use]
    pub fn new(name: &str, queues: u32) -> Self {
        Self {
            name: name.to_owned(),
            read_queues: queues,
            write_queues: queues,
            perm: READ_WRITE,
            order: false,
            attributes: String::new(),
        }
    }

    /// Another number of queues for writing.
    #[must_use]
    pub fn write_queues(mut self, queues: u32) -> Self {
        self.write_queues = queues;
        self
    }

    /// Bits: 4 read, 2 write.
    #[must_use]
    pub fn perm(mut self, perm: u8) -> Self {
        self.perm = perm;
        self
    }

    /// Marked as ordered.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        self.order = true;
        self
    }

    /// One more attribute (5.x), such as `message.type`, `FIFO`.
    #[must_use]
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        if !self.attributes.is_empty() {
            self.attributes.push(',');
        }
        self.attributes.push_str(&format!("+{name}={value}"));
        self
    }

    fn request(&self, code: i32) -> Command {
        let request = Command::request(code)
            .with_ext("topic", &self.name)
            .with_ext("defaultTopic", "TBW102")
            .with_ext("readQueueNums", self.read_queues.to_string())
            .with_ext("writeQueueNums", self.write_queues.to_string())
            .with_ext("perm", self.perm.to_string())
            .with_ext("topicFilterType", "SINGLE_TAG")
            .with_ext("topicSysFlag", "0")
            .with_ext("order", self.order.to_string());
        if self.attributes.is_empty() {
            return request;
        }
        request.with_ext("attributes", &self.attributes)
    }
}

/// Each of these fails when the broker does not answer, or with another code than 0.
#[expect(
    clippy::missing_errors_doc,
    reason = "said once for all of them, above"
)]
impl Broker {
    /// Creates or changes a topic (17).
    pub fn create_topic(&self, topic: &Topic) -> Result<(), Error> {
        self.tell(&topic.request(code::UPDATE_AND_CREATE_TOPIC))
    }

    /// Creates a static topic (513, 5.x) whose queues are all on this broker: fills the mapping members of 21.
    pub fn create_static_topic(&self, name: &str, queues: u32) -> Result<(), Error> {
        let hosted = |queue: u32| {
            let item = json!([{
                "bname": BROKER_NAME, "gen": 0, "logicOffset": 0, "queueId": queue,
                "startOffset": 0, "endOffset": -1, "timeOfStart": -1, "timeOfEnd": -1,
            }]);
            (queue.to_string(), item)
        };
        let detail = json!({
            "bname": BROKER_NAME, "topic": name, "scope": "__global__", "totalQueues": queues,
            "epoch": 1_700_000_000_000_i64, "dirty": false,
            "hostedQueues": (0..queues).map(hosted).collect::<Map<_, _>>(),
        });
        let request = Topic::new(name, queues)
            .request(code::UPDATE_AND_CREATE_STATIC_TOPIC)
            .with_ext("force", "false")
            .with_body(detail.to_string());
        self.tell(&request)
    }

    /// Deletes a topic (215).
    pub fn delete_topic(&self, name: &str) -> Result<(), Error> {
        self.tell(&Command::request(code::DELETE_TOPIC_IN_BROKER).with_ext("topic", name))
    }

    /// Creates or changes a group (200). `settings` are members of `SubscriptionGroupConfig`; what is left out is Java's
    /// default.
    pub fn create_group(&self, name: &str, mut settings: Value) -> Result<(), Error> {
        settings["groupName"] = name.into();
        let request = Command::request(code::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
            .with_body(settings.to_string());
        self.tell(&request)
    }

    /// Deletes a group (207), with its offsets if so wanted.
    pub fn delete_group(&self, name: &str, with_offsets: bool) -> Result<(), Error> {
        let clean = if self.version().is_five() {
            "cleanOffset"
        } else {
            "removeOffset"
        };
        let request = Command::request(code::DELETE_SUBSCRIPTIONGROUP)
            .with_ext("groupName", name)
            .with_ext(clean, with_offsets.to_string());
        self.tell(&request)
    }

    /// Commits one queue's offset (15). 5.x refuses unknown groups and topics, 4.9 takes everything.
    pub fn commit_offset(
        &self,
        group: &str,
        topic: &str,
        queue: u32,
        offset: i64,
    ) -> Result<(), Error> {
        let request = Command::request(code::UPDATE_CONSUMER_OFFSET)
            .with_ext("consumerGroup", group)
            .with_ext("topic", topic)
            .with_ext("queueId", queue.to_string())
            .with_ext("commitOffset", offset.to_string());
        self.tell(&request)
    }

    /// Forbids a group to read a topic, or allows it again (353, 5.x): the `forbiddenTable` of 201.
    pub fn forbid(&self, group: &str, topic: &str, forbidden: bool) -> Result<(), Error> {
        let request = Command::request(code::UPDATE_AND_GET_GROUP_FORBIDDEN)
            .with_ext("group", group)
            .with_ext("topic", topic)
            .with_ext("readable", (!forbidden).to_string());
        self.tell(&request)
    }

    /// Sets how a group gets a topic's messages (401, 5.x): `PULL` or `POP`.
    pub fn set_request_mode(
        &self,
        group: &str,
        topic: &str,
        mode: &str,
        shared_queues: u32,
    ) -> Result<(), Error> {
        let leaf = json!({
            "consumerGroup": group, "topic": topic, "mode": mode, "popShareQueueNum": shared_queues,
        });
        let request = Command::request(code::SET_MESSAGE_REQUEST_MODE).with_body(leaf.to_string());
        self.tell(&request)
    }

    /// Sends one message (10).
    pub fn send(&self, topic: &str, queue: u32, body: &str) -> Result<(), Error> {
        self.send_with(topic, queue, body, &[])
    }

    /// Sends one message that is delivered after a delay: level 1 is one second here, level 2 two. Only its delivery
    /// makes an entry in the reply to 45.
    pub fn send_delayed(
        &self,
        topic: &str,
        queue: u32,
        body: &str,
        level: u8,
    ) -> Result<(), Error> {
        self.send_with(topic, queue, body, &[("DELAY", &level.to_string())])
    }

    /// Sends one message with these properties.
    pub fn send_with(
        &self,
        topic: &str,
        queue: u32,
        body: &str,
        pairs: &[(&str, &str)],
    ) -> Result<(), Error> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let request = Command::request(code::SEND_MESSAGE)
            .with_ext("producerGroup", "P_locum")
            .with_ext("topic", topic)
            .with_ext("defaultTopic", "TBW102")
            .with_ext("defaultTopicQueueNums", "4")
            .with_ext("queueId", queue.to_string())
            .with_ext("sysFlag", "0")
            .with_ext(
                "bornTimestamp",
                now.unwrap_or_default().as_millis().to_string(),
            )
            .with_ext("flag", "0")
            .with_ext("properties", properties(pairs))
            .with_ext("reconsumeTimes", "0")
            .with_ext("unitMode", "false")
            .with_body(body.to_owned());
        self.tell(&request)
    }

    /// Pulls (11) what is in a queue from an offset on; empty if there is nothing. Does not commit. On 5.5.0 this fills
    /// `pullOffsetTable`.
    pub fn pull(
        &self,
        group: &str,
        topic: &str,
        queue: u32,
        offset: i64,
        max: u32,
    ) -> Result<Vec<Message>, Error> {
        let request = Command::request(code::PULL_MESSAGE)
            .with_ext("consumerGroup", group)
            .with_ext("topic", topic)
            .with_ext("queueId", queue.to_string())
            .with_ext("queueOffset", offset.to_string())
            .with_ext("maxMsgNums", max.to_string())
            .with_ext("sysFlag", WITH_SUBSCRIPTION)
            .with_ext("commitOffset", "0")
            .with_ext("suspendTimeoutMillis", "0")
            .with_ext("subscription", "*")
            .with_ext("subVersion", "0")
            .with_ext("expressionType", "TAG");
        match self.succeed(&request) {
            Ok(reply) => Message::all(reply.body),
            Err(Error::Refused { response, .. })
                if (PULL_NOT_FOUND..=PULL_OFFSET_MOVED).contains(&response) =>
            {
                Ok(Vec::new())
            }
            Err(other) => Err(other),
        }
    }

    /// Pulls until something is there: the index of a queue is built a moment after a message was stored.
    pub fn pull_when_there(
        &self,
        group: &str,
        topic: &str,
        queue: u32,
        offset: i64,
    ) -> Result<Message, Error> {
        /// Far more than a loaded machine takes.
        const WITHIN: Duration = Duration::from_secs(30);
        let what = format!("a message of {topic} queue {queue} at {offset}");
        crate::wait_for(&what, WITHIN, || {
            let messages = self.pull(group, topic, queue, offset, 1)?;
            Ok(messages.into_iter().next())
        })
    }

    fn tell(&self, request: &Command) -> Result<(), Error> {
        self.succeed(request).map(|_: Command| ())
    }
}
