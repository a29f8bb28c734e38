//! What the master of a dialect answers to a request, before any fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use bytes::Bytes;
use locum_remoting::{Command, code, response};

use crate::dialect::Dialect;
use crate::fresh::{BROKER, CLUSTER};
use crate::java::{CONFIG_SLOTS, DEFAULT_SLOTS, GROUP_TOPIC_SLOTS, OFFSET_SLOTS, hash_order};
use crate::json::{members, object, quoted, strings};
use crate::paging::{self, Page};
use crate::runtime;
use crate::state::{Offsets, State};
use crate::version::{Kind, Version};

/// A reply without what the frame adds to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) remark: Option<String>,
    /// `Some` and empty is written as `{}`, as 21 has it up to 5.3.
    pub(crate) ext: Option<BTreeMap<String, String>>,
    pub(crate) body: Bytes,
}

impl Answer {
    /// A refusal.
    pub(crate) fn error(code: i32, remark: &str) -> Self {
        Self {
            code,
            remark: Some(remark.to_owned()),
            ext: None,
            body: Bytes::new(),
        }
    }

    /// Whether 4.9 writes its header in the request's form; errors other than "not supported" it writes in its own.
    pub(crate) fn follows_request(&self) -> bool {
        matches!(
            self.code,
            response::SUCCESS | response::REQUEST_CODE_NOT_SUPPORTED
        )
    }
}

/// The honest answer to a request.
pub(crate) fn answer(state: &State, request: &Command) -> Answer {
    let asked = request.code;
    let body = match page(state, request) {
        Ok(Page::Whole) => body(state, asked),
        Ok(Page::Names(names)) => Some(config_body(state, asked, Some(&names)).into()),
        Err(remark) => return Answer::error(response::SYSTEM_ERROR, &remark),
    };
    let Some(body) = body else {
        let remark = format!(" request type {asked} not supported");
        return Answer::error(response::REQUEST_CODE_NOT_SUPPORTED, &remark);
    };
    Answer {
        code: response::SUCCESS,
        remark: None,
        ext: ext(state, asked),
        body,
    }
}

/// The body of a whole answer, none for a code that the dialect does not know.
pub(crate) fn body(state: &State, asked: i32) -> Option<Bytes> {
    if let Some(body) = state.bodies.get(&asked) {
        return Some(body.clone());
    }
    let text = match asked {
        code::GET_ALL_TOPIC_CONFIG | code::GET_ALL_SUBSCRIPTIONGROUP_CONFIG => {
            config_body(state, asked, None)
        }
        code::GET_ALL_CONSUMER_OFFSET => consumer_offsets(state),
        code::GET_ALL_DELAY_OFFSET => delay_offsets(state),
        code::GET_BROKER_RUNTIME_INFO => runtime::info(state),
        code::GET_BROKER_CLUSTER_INFO => cluster_info(state),
        code::GET_ALL_MESSAGE_REQUEST_MODE if state.dialect.is_5() => request_modes(state),
        code::GET_TIMER_METRICS if state.dialect.is_5() => timer_metrics(state),
        code::GET_TIMER_CHECK_POINT if state.dialect.is_5() => {
            return Some(runtime::timer_checkpoint(state).into());
        }
        _ => return None,
    };
    Some(text.into())
}

fn ext(state: &State, asked: i32) -> Option<BTreeMap<String, String>> {
    let total = |name: &str, count: usize| BTreeMap::from([(name.to_owned(), count.to_string())]);
    match (asked, state.dialect.pages()) {
        (code::GET_ALL_TOPIC_CONFIG, true) => Some(total("totalTopicNum", state.topics.len())),
        (code::GET_ALL_TOPIC_CONFIG, false) => Some(BTreeMap::new()),
        (code::GET_ALL_SUBSCRIPTIONGROUP_CONFIG, true) => {
            Some(total("totalGroupNum", state.groups.len()))
        }
        _ => None,
    }
}

fn page(state: &State, request: &Command) -> Result<Page, String> {
    if !state.dialect.pages() || state.bodies.contains_key(&request.code) {
        return Ok(Page::Whole);
    }
    let (kind, names, fields) = match request.code {
        code::GET_ALL_TOPIC_CONFIG => (Kind::Topics, &state.topics, paging::TOPICS),
        code::GET_ALL_SUBSCRIPTIONGROUP_CONFIG => {
            (Kind::SubscriptionGroups, &state.groups, paging::GROUPS)
        }
        _ => return Ok(Page::Whole),
    };
    paging::page(&request.ext_fields, &fields, state.version(kind), names)
}

/// The names that a page is cut to, all of them for none.
type Cut<'a> = Option<&'a BTreeSet<String>>;

fn config_body(state: &State, asked: i32, cut: Cut<'_>) -> String {
    if asked == code::GET_ALL_TOPIC_CONFIG {
        topics(state, cut)
    } else {
        groups(state, cut)
    }
}

fn topics(state: &State, cut: Cut<'_>) -> String {
    let mut body = Body::new(state.dialect);
    body.version("dataVersion", state.version(Kind::Topics));
    if state.dialect.is_5() {
        body.version("mappingDataVersion", state.version(Kind::TopicMappings));
    }
    body.member("topicConfigTable", table(&state.topics, CONFIG_SLOTS, cut));
    if state.dialect.is_5() {
        let mappings = table(&state.mappings, DEFAULT_SLOTS, cut);
        body.member("topicQueueMappingDetailMap", mappings);
        body.member("topicQueueMappingInfoMap", "{}".to_owned());
    }
    body.text()
}

fn groups(state: &State, cut: Cut<'_>) -> String {
    let mut body = Body::new(state.dialect);
    body.version("dataVersion", state.version(Kind::SubscriptionGroups));
    if state.dialect.is_5() {
        body.member(
            "forbiddenTable",
            table(&nested(&state.forbidden), DEFAULT_SLOTS, cut),
        );
    }
    body.member(
        "subscriptionGroupTable",
        table(&state.groups, CONFIG_SLOTS, cut),
    );
    body.text()
}

fn consumer_offsets(state: &State) -> String {
    let mut body = Body::new(state.dialect);
    body.offset_version(state.version(Kind::ConsumerOffsets));
    if state.dialect.is_5() {
        body.member("groupTopicMap", group_topics(&state.offsets));
    }
    body.member("offsetTable", queue_offsets(&state.offsets));
    if state.dialect == Dialect::V5_5 {
        body.member("pullOffsetTable", queue_offsets(&state.pull_offsets));
    }
    body.text()
}

fn queue_offsets(offsets: &Offsets) -> String {
    members(
        hash_order(offsets, OFFSET_SLOTS)
            .into_iter()
            .map(|(key, queues)| (key, object(queues))),
    )
}

/// The bean's accidental getter: the topics of each group that has offsets.
fn group_topics(offsets: &Offsets) -> String {
    let mut topics_of: BTreeMap<&str, BTreeMap<&str, ()>> = BTreeMap::new();
    for (topic, group) in offsets.keys().filter_map(|key| key.split_once('@')) {
        topics_of.entry(group).or_default().insert(topic, ());
    }
    members(
        hash_order(&topics_of, GROUP_TOPIC_SLOTS)
            .into_iter()
            .map(|(group, topics)| {
                let topics = hash_order(topics, DEFAULT_SLOTS);
                (group, strings(topics.into_iter().map(|(topic, ())| topic)))
            }),
    )
}

fn delay_offsets(state: &State) -> String {
    let mut body = Body::new(state.dialect);
    body.offset_version(state.version(Kind::DelayOffsets));
    body.member("offsetTable", object(&state.delays));
    body.text()
}

fn request_modes(state: &State) -> String {
    let modes = table(&nested(&state.request_modes), DEFAULT_SLOTS, None);
    members([("messageRequestModeMap", modes)])
}

fn timer_metrics(state: &State) -> String {
    let mut body = Body::new(state.dialect);
    body.version("dataVersion", state.version(Kind::TimerMetrics));
    body.member("timingCount", "{}".to_owned());
    body.text()
}

fn cluster_info(state: &State) -> String {
    let addresses = state
        .brokers
        .iter()
        .map(|(id, address)| (id, quoted(address)));
    let mut broker = Body::new(state.dialect);
    broker.member("brokerAddrs", object(addresses));
    broker.member("brokerName", quoted(BROKER));
    broker.member("cluster", quoted(CLUSTER));
    if state.dialect.is_5() {
        broker.member("enableActingMaster", "false".to_owned());
    }
    members([
        ("brokerAddrTable", members([(BROKER, broker.text())])),
        ("clusterAddrTable", members([(CLUSTER, strings([BROKER]))])),
    ])
}

/// A table in Java's order; a page of it is a map of its own, with an order of its own.
fn table<V: Display>(entries: &BTreeMap<String, V>, slots: usize, cut: Cut<'_>) -> String {
    let Some(names) = cut else {
        return members(hash_order(entries, slots));
    };
    let page: BTreeMap<&String, &V> = entries
        .iter()
        .filter(|(name, _)| names.contains(*name))
        .collect();
    members(hash_order(&page, DEFAULT_SLOTS))
}

/// Tables of tables, the inner ones as text.
fn nested<V: Display>(outer: &BTreeMap<String, BTreeMap<String, V>>) -> BTreeMap<String, String> {
    outer
        .iter()
        .map(|(name, inner)| (name.clone(), table(inner, DEFAULT_SLOTS, None)))
        .collect()
}

/// A bean in the making.
struct Body {
    dialect: Dialect,
    members: Vec<(&'static str, String)>,
}

impl Body {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            members: Vec::new(),
        }
    }

    fn member(&mut self, name: &'static str, json: String) {
        self.members.push((name, json));
    }

    fn version(&mut self, name: &'static str, version: &Version) {
        if let Some(text) = version.text(self.dialect) {
            self.member(name, text);
        }
    }

    /// The version of 43 and 45, which 4.9 has only if a test forces one in.
    fn offset_version(&mut self, version: &Version) {
        if self.dialect.is_5() || matches!(version, Version::Text(_)) {
            self.version("dataVersion", version);
        }
    }

    fn text(self) -> String {
        members(self.members)
    }
}
