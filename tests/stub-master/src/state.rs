//! The tables of one master, as plain data.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use crate::dialect::Dialect;
use crate::fresh;
use crate::version::{Kind, Version, now};

/// Offsets by `topic@group`, then by queue.
pub(crate) type Offsets = BTreeMap<String, BTreeMap<i32, i64>>;

/// Everything that answers are made of. Values of topics and groups are JSON text of the dialect.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) dialect: Dialect,
    /// Where the stub listens, `ip:port`.
    pub(crate) address: String,
    pub(crate) booted: i64,
    pub(crate) versions: BTreeMap<Kind, Version>,
    pub(crate) topics: BTreeMap<String, String>,
    /// Static topics, each `TopicQueueMappingDetail`.
    pub(crate) mappings: BTreeMap<String, String>,
    pub(crate) groups: BTreeMap<String, String>,
    /// By group, then by topic: a bit mask.
    pub(crate) forbidden: BTreeMap<String, BTreeMap<String, i32>>,
    pub(crate) offsets: Offsets,
    pub(crate) pull_offsets: Offsets,
    /// Commits of offsets so far: only each 500th makes a version.
    pub(crate) commits: u64,
    pub(crate) delays: BTreeMap<i32, i64>,
    /// By topic, then by group.
    pub(crate) request_modes: BTreeMap<String, BTreeMap<String, String>>,
    /// What the name server role knows of this broker: address by broker id.
    pub(crate) brokers: BTreeMap<i64, String>,
    /// Bodies that a test put in the place of the real ones, by request code.
    pub(crate) bodies: HashMap<i32, Bytes>,
}

impl State {
    /// A master that has just started on an empty store.
    pub(crate) fn fresh(dialect: Dialect, address: String) -> Self {
        let topics = fresh::topics(dialect);
        let groups = fresh::groups(dialect);
        Self {
            dialect,
            booted: now(),
            versions: Kind::ALL.map(|kind| (kind, Version::fresh())).into(),
            topics: topics
                .into_iter()
                .map(|topic| (topic.name().to_owned(), topic.text(dialect)))
                .collect(),
            mappings: BTreeMap::new(),
            groups: groups
                .into_iter()
                .map(|group| (group.name().to_owned(), group.text(dialect)))
                .collect(),
            forbidden: BTreeMap::new(),
            offsets: Offsets::new(),
            pull_offsets: Offsets::new(),
            commits: 0,
            delays: BTreeMap::new(),
            request_modes: BTreeMap::new(),
            brokers: BTreeMap::from([(0, address.clone())]),
            bodies: HashMap::new(),
            address,
        }
    }

    pub(crate) fn version(&self, kind: Kind) -> &Version {
        // Every kind has one from the start.
        self.versions.get(&kind).unwrap_or(&Version::Absent)
    }

    pub(crate) fn bump(&mut self, kind: Kind) {
        if let Some(version) = self.versions.get_mut(&kind) {
            version.bump();
        }
    }

    /// Drops a topic's offsets, as 5.x does when the topic is deleted.
    pub(crate) fn drop_offsets_of(&mut self, topic: &str) {
        let of_topic = |key: &str| key.split_once('@').is_some_and(|(name, _)| name == topic);
        self.offsets.retain(|key, _| !of_topic(key));
        self.pull_offsets.retain(|key, _| !of_topic(key));
    }
}
