//! What the kinds of table differ in. All of it is data: a new kind is one more constant here.

use std::fmt;

use crate::dialect::{Scanner, Text};
use crate::error::{Fault, ReadProblem};

/// A routine's place in a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Topic configuration.
    Topic,
    /// Consumer offsets.
    Offset,
    /// Offsets of the delay levels.
    Delay,
    /// Subscription groups.
    Subgroup,
}

impl Slot {
    /// All slots, in the order in which the reference's `syncAll` runs them.
    pub const ALL: [Self; 4] = [Self::Topic, Self::Offset, Self::Delay, Self::Subgroup];

    /// The slot's name, in configuration and commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Offset => "offset",
            Self::Delay => "delay",
            Self::Subgroup => "subgroup",
        }
    }

    /// The slot of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|slot| slot.name() == name)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A member of a document, by its name in an answer and in the file. They differ for some tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// In the master's answer.
    pub wire: &'static str,
    /// In the broker's file.
    pub disk: &'static str,
}

impl Member {
    const fn both(name: &'static str) -> Self {
        Self {
            wire: name,
            disk: name,
        }
    }
}

/// What the keys of a table are. No key is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// A topic's name.
    Topic,
    /// `topic@group`.
    TopicAtGroup,
    /// A consumer group's name.
    Group,
    /// A delay level: an integer from 1, that fits Java's `int`, without leading zeros.
    DelayLevel,
}

impl KeyKind {
    /// Checks a key.
    ///
    /// # Errors
    /// What such a key must be.
    pub(crate) fn check(self, key: &str) -> Result<(), &'static str> {
        match self {
            _ if key.is_empty() => Err("the key is empty"),
            Self::TopicAtGroup if !key.contains('@') => Err("the key is not topic@group"),
            Self::DelayLevel if java_int(key).is_none_or(|level| level < 1) => {
                Err("the key is not a delay level, an integer from 1")
            }
            _ => Ok(()),
        }
    }
}

/// What the values of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A JSON object with whatever members the master gave it.
    Object,
    /// An object whose keys are queue ids (Java's `int`) and whose values are offsets (64-bit integers).
    QueueOffsets,
    /// An offset: a 64-bit integer from 0.
    Offset,
}

impl ValueKind {
    /// Reads and checks one value.
    pub(crate) fn scan(self, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        match self {
            Self::Object => {
                expect_object(scanner, "an object")?;
                scanner.value()
            }
            Self::QueueOffsets => {
                expect_object(scanner, "an object of queue ids and offsets")?;
                scanner.fields(queue_offset)
            }
            Self::Offset => {
                let fault =
                    scanner.fault(ReadProblem::InvalidValue("an offset, an integer from 0"));
                match scanner.integer("an offset, an integer from 0")? {
                    0.. => Ok(()),
                    _ => Err(fault),
                }
            }
        }
    }
}

fn expect_object(scanner: &Scanner<'_>, what: &'static str) -> Result<(), Fault> {
    match scanner.peek() {
        Some(b'{') => Ok(()),
        Some(_) => Err(scanner.fault(ReadProblem::InvalidValue(what))),
        None => Err(scanner.fault(ReadProblem::Truncated)),
    }
}

fn queue_offset(scanner: &mut Scanner<'_>, queue: Text<'_>) -> Result<(), Fault> {
    if java_int(&queue.decode()?).is_none() {
        return Err(Fault {
            problem: ReadProblem::InvalidKey("the queue id is not an integer"),
            at: queue.at,
        });
    }
    scanner.integer("an offset, an integer").map(drop)
}

/// The text as a Java `int`, written as Java writes it: no plus, no leading zeros.
fn java_int(text: &str) -> Option<i32> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = text == "0" || !digits.starts_with(['0', '+']);
    text.parse().ok().filter(|_| canonical)
}

/// A member of the document that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// Its name, in answer and file.
    pub member: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// How a table can be fetched in parts (5.4.0 and later; older masters ignore the fields).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paging {
    /// Only as a whole.
    Whole,
    /// By the position of the first entry, in the order of the keys.
    Sequence {
        /// Request ext field: the position.
        seq: &'static str,
        /// Request ext field: how many entries at most.
        max: &'static str,
        /// Reply ext field: how many entries there are.
        total: &'static str,
    },
}

/// What the host must know of a table. Two kinds are equal when their names are.
#[derive(Debug)]
pub struct TableKind {
    /// The table's name, in policies, commands and texts.
    pub name: &'static str,
    /// The slot that may write it.
    pub slot: Slot,
    /// RocketMQ's request code for the whole table.
    pub request_code: i32,
    /// The file's name in the broker's `config` directory.
    pub file: &'static str,
    /// The member that holds the entries.
    pub entries: Member,
    /// The member that holds the version.
    pub version: Member,
    /// What its keys are.
    pub key: KeyKind,
    /// What its values are.
    pub value: ValueKind,
    /// Members that are not kept. Every other one is.
    pub dropped: &'static [Dropped],
    /// How it can be fetched in parts.
    pub paging: Paging,
}

const DATA_VERSION: Member = Member::both("dataVersion");

/// Topic configuration: `TopicConfigManager`.
pub static TOPICS: TableKind = TableKind {
    name: "topics",
    slot: Slot::Topic,
    request_code: 21,
    file: "topics.json",
    entries: Member::both("topicConfigTable"),
    version: DATA_VERSION,
    key: KeyKind::Topic,
    value: ValueKind::Object,
    dropped: &[
        Dropped {
            member: "mappingDataVersion",
            reason: "the version of the queue mappings, which have a file of their own",
        },
        Dropped {
            member: "topicQueueMappingDetailMap",
            reason: "the queue mappings, which have a file of their own",
        },
        Dropped {
            member: "topicQueueMappingInfoMap",
            reason: "always empty in an answer, and no part of topics.json",
        },
    ],
    paging: Paging::Sequence {
        seq: "topicSeq",
        max: "maxTopicNum",
        total: "totalTopicNum",
    },
};

/// Consumer offsets: `ConsumerOffsetManager`. Its version moves once in 500 commits and says little.
pub static CONSUMER_OFFSETS: TableKind = TableKind {
    name: "consumer-offsets",
    slot: Slot::Offset,
    request_code: 43,
    file: "consumerOffset.json",
    entries: Member::both("offsetTable"),
    version: DATA_VERSION,
    key: KeyKind::TopicAtGroup,
    value: ValueKind::QueueOffsets,
    dropped: &[Dropped {
        member: "groupTopicMap",
        reason: "a getter that is serialized by accident; a broker rebuilds it from the offsets",
    }],
    paging: Paging::Whole,
};

/// Offsets of the delay levels: `ScheduleMessageService`.
pub static DELAY_OFFSETS: TableKind = TableKind {
    name: "delay-offsets",
    slot: Slot::Delay,
    request_code: 45,
    file: "delayOffset.json",
    entries: Member::both("offsetTable"),
    version: DATA_VERSION,
    key: KeyKind::DelayLevel,
    value: ValueKind::Offset,
    dropped: &[],
    paging: Paging::Whole,
};

/// Subscription groups: `SubscriptionGroupManager`. Keeps the member `forbiddenTable`.
pub static SUBSCRIPTION_GROUPS: TableKind = TableKind {
    name: "subscription-groups",
    slot: Slot::Subgroup,
    request_code: 201,
    file: "subscriptionGroup.json",
    entries: Member::both("subscriptionGroupTable"),
    version: DATA_VERSION,
    key: KeyKind::Group,
    value: ValueKind::Object,
    dropped: &[],
    paging: Paging::Sequence {
        seq: "groupSeq",
        max: "maxGroupNum",
        total: "totalGroupNum",
    },
};

/// Every kind of table.
pub static KINDS: [&TableKind; 4] = [
    &TOPICS,
    &CONSUMER_OFFSETS,
    &DELAY_OFFSETS,
    &SUBSCRIPTION_GROUPS,
];

impl TableKind {
    /// The kind of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        KINDS.into_iter().find(|kind| kind.name == name)
    }

    /// The kinds that a slot may write.
    pub fn of_slot(slot: Slot) -> impl Iterator<Item = &'static Self> {
        KINDS.into_iter().filter(move |kind| kind.slot == slot)
    }

    pub(crate) fn drops(&self, member: &str) -> bool {
        self.dropped.iter().any(|dropped| dropped.member == member)
    }
}

impl PartialEq for TableKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TableKind {}

impl fmt::Display for TableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}
