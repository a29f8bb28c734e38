//! The values of topics and groups, member by member as Java's beans are written.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::java::{DEFAULT_SLOTS, hash_order};
use crate::json::{members, quoted};

/// Members that only 5.x knows; 4.9 leaves them out.
const ONLY_5: [&str; 5] = [
    "attributes",
    "consumeMessageOrderly",
    "consumeTimeoutMinute",
    "groupRetryPolicy",
    "groupSysFlag",
];

/// A topic (`TopicConfig`): 8 read and write queues, perm 6 (read and write), not ordered, unless told otherwise.
#[derive(Debug, Clone)]
pub struct Topic(Bean);

impl Topic {
    /// A topic of this name.
    pub fn new(name: &str) -> Self {
        let mut bean = Bean::new(name);
        bean.set("order", "false");
        bean.set("topicFilterType", r#""SINGLE_TAG""#);
        bean.set("topicName", &quoted(name));
        bean.set("topicSysFlag", "0");
        Self(bean).queues(8, 8).perm(6)
    }

    /// Numbers of read and write queues.
    #[must_use]
    pub fn queues(self, read: u32, write: u32) -> Self {
        self.member("readQueueNums", &read.to_string())
            .member("writeQueueNums", &write.to_string())
    }

    /// Permission bits: 4 read, 2 write, 1 inherit.
    #[must_use]
    pub fn perm(self, perm: u32) -> Self {
        self.member("perm", &perm.to_string())
    }

    /// An attribute, such as `message.type` = `FIFO`. 5.x only.
    #[must_use]
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        self.0.attribute(name, value);
        self
    }

    /// Any member as JSON text: one more, or another value for a usual one.
    #[must_use]
    pub fn member(mut self, name: &str, json: &str) -> Self {
        self.0.set(name, json);
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    pub(crate) fn text(&self, dialect: Dialect) -> String {
        self.0.text(dialect)
    }
}

impl From<&str> for Topic {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// A subscription group (`SubscriptionGroupConfig`) with Java's defaults unless told otherwise.
#[derive(Debug, Clone)]
pub struct Group(Bean);

impl Group {
    /// A group of this name.
    pub fn new(name: &str) -> Self {
        let mut bean = Bean::new(name);
        for (member, json) in [
            ("brokerId", "0"),
            ("consumeBroadcastEnable", "true"),
            ("consumeEnable", "true"),
            ("consumeFromMinEnable", "true"),
            ("consumeMessageOrderly", "false"),
            ("consumeTimeoutMinute", "15"),
            ("groupRetryPolicy", r#"{"type":"CUSTOMIZED"}"#),
            ("groupSysFlag", "0"),
            ("notifyConsumerIdsChangedEnable", "true"),
            ("whichBrokerWhenConsumeSlowly", "1"),
        ] {
            bean.set(member, json);
        }
        bean.set("groupName", &quoted(name));
        Self(bean).retries(1, 16)
    }

    /// Number of retry queues, and how often a message is tried again.
    #[must_use]
    pub fn retries(self, queues: u32, times: u32) -> Self {
        self.member("retryQueueNums", &queues.to_string())
            .member("retryMaxTimes", &times.to_string())
    }

    /// An attribute, such as `priority.factor` = `7`. 5.x only.
    #[must_use]
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        self.0.attribute(name, value);
        self
    }

    /// Any member as JSON text: one more, or another value for a usual one.
    #[must_use]
    pub fn member(mut self, name: &str, json: &str) -> Self {
        self.0.set(name, json);
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    pub(crate) fn text(&self, dialect: Dialect) -> String {
        self.0.text(dialect)
    }
}

impl From<&str> for Group {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// Members in alphabetical order, as both JSON libraries of RocketMQ write a bean.
#[derive(Debug, Clone)]
struct Bean {
    name: String,
    members: BTreeMap<String, String>,
    attributes: BTreeMap<String, String>,
}

impl Bean {
    fn new(name: &str) -> Self {
        let mut bean = Self {
            name: name.to_owned(),
            members: BTreeMap::new(),
            attributes: BTreeMap::new(),
        };
        bean.set("attributes", "{}");
        bean
    }

    fn set(&mut self, name: &str, json: &str) {
        self.members.insert(name.to_owned(), json.to_owned());
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.attributes.insert(name.to_owned(), quoted(value));
        let text = members(hash_order(&self.attributes, DEFAULT_SLOTS));
        self.set("attributes", &text);
    }

    fn text(&self, dialect: Dialect) -> String {
        members(
            self.members
                .iter()
                .map(|(name, json)| (name.as_str(), json))
                .filter(|(name, _)| dialect.is_5() || !ONLY_5.contains(name)),
        )
    }
}
