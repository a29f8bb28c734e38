//! The handle by which a test changes the master's tables while it runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::answer;
use crate::config::{Group, Topic};
use crate::fill::Fill;
use crate::fresh::BROKER;
use crate::json::{members, object, quoted};
use crate::state::State;
use crate::version::{Kind, Version};

/// Commits of consumer offsets for one version (`consumerOffsetUpdateVersionStep`).
const COMMITS_A_VERSION: u64 = 500;

/// The tables of a running [`crate::Stub`]. Clones share them; each call is seen by the next request.
///
/// A change of topics and groups makes a new DataVersion, as on a real master; committed, removed and delay offsets do
/// not (only each 500th commit does, on 5.x). [`Tables::quietly`] gives a handle whose changes never make one.
#[derive(Debug, Clone)]
pub struct Tables {
    state: Arc<Mutex<State>>,
    bumps: bool,
}

impl Tables {
    pub(crate) fn new(state: State) -> Self {
        Self {
            state: Arc::new(Mutex::new(state)),
            bumps: true,
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A test that panicked while it held the lock has failed already.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, kind: Kind, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        if self.bumps {
            state.bump(kind);
        }
    }

    /// The same tables by a handle whose changes leave every DataVersion as it is.
    #[must_use]
    pub fn quietly(&self) -> Self {
        Self {
            bumps: false,
            ..self.clone()
        }
    }

    /// Back to what a just started master of this dialect has. Scripted faults stay, bodies of [`Tables::answer_body`] go.
    pub fn reset(&self) {
        let mut state = self.lock();
        *state = State::fresh(state.dialect, state.address.clone());
    }

    /// Creates or changes a topic.
    pub fn set_topic(&self, topic: impl Into<Topic>) {
        let topic = topic.into();
        self.change(Kind::Topics, |state| {
            let text = topic.text(state.dialect);
            state.topics.insert(topic.name().to_owned(), text);
        });
    }

    /// Creates a static topic of so many queues on this broker (5.x): a topic, and its mapping beside it.
    pub fn set_static_topic(&self, name: &str, queues: u32) {
        self.set_topic(Topic::new(name).queues(queues, queues));
        self.change(Kind::TopicMappings, |state| {
            state
                .mappings
                .insert(name.to_owned(), mapping_detail(name, queues));
        });
    }

    /// Deletes a topic. 5.x forgets its offsets and mapping too, 4.9 keeps the offsets.
    pub fn remove_topic(&self, name: &str) {
        self.change(Kind::Topics, |state| {
            state.topics.remove(name);
            if state.dialect.is_5() {
                state.mappings.remove(name);
                state.drop_offsets_of(name);
            }
        });
    }

    /// The names of all topics, sorted by their bytes.
    pub fn topics(&self) -> Vec<String> {
        self.lock().topics.keys().cloned().collect()
    }

    /// Creates or changes a subscription group.
    pub fn set_group(&self, group: impl Into<Group>) {
        let group = group.into();
        self.change(Kind::SubscriptionGroups, |state| {
            let text = group.text(state.dialect);
            state.groups.insert(group.name().to_owned(), text);
        });
    }

    /// Deletes a subscription group; its offsets stay.
    pub fn remove_group(&self, name: &str) {
        self.change(Kind::SubscriptionGroups, |state| {
            state.groups.remove(name);
        });
    }

    /// The names of all subscription groups, sorted by their bytes.
    pub fn groups(&self) -> Vec<String> {
        self.lock().groups.keys().cloned().collect()
    }

    /// Forbids a group a topic (`forbiddenTable`, 5.x): a bit mask, 4 as `readable=false` sets it.
    pub fn forbid(&self, group: &str, topic: &str, mask: i32) {
        self.change(Kind::SubscriptionGroups, |state| {
            let topics = state.forbidden.entry(group.to_owned()).or_default();
            topics.insert(topic.to_owned(), mask);
        });
    }

    /// Commits a consumer offset. Neither topic nor group need exist.
    pub fn commit_offset(&self, topic: &str, group: &str, queue: i32, offset: i64) {
        let mut state = self.lock();
        let queues = state.offsets.entry(key(topic, group)).or_default();
        queues.insert(queue, offset);
        state.commits += 1;
        if self.bumps && state.commits.is_multiple_of(COMMITS_A_VERSION) {
            state.bump(Kind::ConsumerOffsets);
        }
    }

    /// Removes all offsets of a group on a topic.
    pub fn remove_offset(&self, topic: &str, group: &str) {
        self.lock().offsets.remove(&key(topic, group));
    }

    /// The committed offset, if there is one.
    pub fn offset(&self, topic: &str, group: &str, queue: i32) -> Option<i64> {
        let state = self.lock();
        state.offsets.get(&key(topic, group))?.get(&queue).copied()
    }

    /// The offset that a pull (code 11) leaves behind: 5.5's `pullOffsetTable`.
    pub fn set_pull_offset(&self, topic: &str, group: &str, queue: i32, offset: i64) {
        let mut state = self.lock();
        let queues = state.pull_offsets.entry(key(topic, group)).or_default();
        queues.insert(queue, offset);
    }

    /// Sets how far a delay level (1 to 18) has been delivered.
    pub fn set_delay(&self, level: i32, offset: i64) {
        self.lock().delays.insert(level, offset);
    }

    /// Sets how a group asks for a topic's messages: `PULL` or `POP` (402, 5.x).
    pub fn set_request_mode(&self, topic: &str, group: &str, mode: &str, pop_share_queues: u32) {
        let leaf = serde_json::json!({
            "consumerGroup": group, "mode": mode, "popShareQueueNum": pop_share_queues, "topic": topic,
        });
        let mut state = self.lock();
        let groups = state.request_modes.entry(topic.to_owned()).or_default();
        groups.insert(group.to_owned(), leaf.to_string());
    }

    /// What the name server role (106) says of `broker-a` in cluster `C1`: at first id 0 is the stub itself.
    pub fn set_broker(&self, id: i64, address: &str) {
        self.lock().brokers.insert(id, address.to_owned());
    }

    /// Takes a broker id out of 106.
    pub fn remove_broker(&self, id: i64) {
        self.lock().brokers.remove(&id);
    }

    /// The version that the next answer carries.
    pub fn version(&self, kind: Kind) -> Version {
        self.lock().version(kind).clone()
    }

    /// Sets a version. 4.9 shows those of 43 and 45 only when they are [`Version::Text`].
    pub fn set_version(&self, kind: Kind, version: Version) {
        self.lock().versions.insert(kind, version);
    }

    /// Makes a new version without a change.
    pub fn bump(&self, kind: Kind) {
        self.lock().bump(kind);
    }

    /// Answers a code with these bytes as body until [`Tables::answer_honestly`] or [`Tables::reset`].
    pub fn answer_body(&self, code: i32, body: impl Into<Bytes>) {
        self.lock().bodies.insert(code, body.into());
    }

    /// Ends [`Tables::answer_body`] for a code.
    pub fn answer_honestly(&self, code: i32) {
        self.lock().bodies.remove(&code);
    }

    /// The body that an unpaged request of this code gets now, none if the dialect does not support the code.
    pub fn body(&self, code: i32) -> Option<Bytes> {
        answer::body(&self.lock(), code)
    }

    /// Adds many entries in one change of each table.
    pub fn fill(&self, fill: &Fill) {
        let mut state = self.lock();
        fill.apply(&mut state);
        if self.bumps {
            state.bump(Kind::Topics);
            state.bump(Kind::SubscriptionGroups);
            state.bump(Kind::ConsumerOffsets);
        }
    }
}

/// The key of a consumer offset.
pub(crate) fn key(topic: &str, group: &str) -> String {
    format!("{topic}@{group}")
}

/// `TopicQueueMappingDetail` of a topic whose queues are all here, integer keys bare.
fn mapping_detail(topic: &str, queues: u32) -> String {
    let broker = quoted(BROKER);
    let current = object((0..queues).map(|queue| (queue, queue)));
    let hosted = object((0..queues).map(|queue| {
        let item = format!(
            r#"[{{"bname":{broker},"endOffset":-1,"gen":0,"logicOffset":0,"queueId":{queue},"startOffset":0,"timeOfEnd":-1,"timeOfStart":-1}}]"#
        );
        (queue, item)
    }));
    members([
        ("bname", broker.clone()),
        ("currIdMap", current),
        ("dirty", "false".to_owned()),
        ("epoch", "1700000000000".to_owned()),
        ("hostedQueues", hosted),
        ("scope", r#""__global__""#.to_owned()),
        ("topic", quoted(topic)),
        ("totalQueues", queues.to_string()),
    ])
}
