//! Large tables, the same for the same seed.

use std::str::FromStr;

use crate::config::{Group, Topic};
use crate::state::State;
use crate::tables::key;

/// How much to fill in. Offset keys are pairs of these topics and groups, at most each pair once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fill {
    /// Topics, `topic-00000` and so on, as many read as write queues as `queues` says.
    pub topics: usize,
    /// Subscription groups, `group-00000` and so on.
    pub groups: usize,
    /// Keys `topic@group` of consumer offsets.
    pub offset_keys: usize,
    /// Queues of a topic, and of an offset key.
    pub queues: u32,
    /// Where the offsets come from.
    pub seed: u64,
}

impl Fill {
    pub(crate) fn apply(&self, state: &mut State) {
        let dialect = state.dialect;
        for number in 0..self.topics {
            let topic = Topic::new(&topic_name(number)).queues(self.queues, self.queues);
            state
                .topics
                .insert(topic.name().to_owned(), topic.text(dialect));
        }
        for number in 0..self.groups {
            let group = Group::new(&group_name(number));
            state
                .groups
                .insert(group.name().to_owned(), group.text(dialect));
        }
        let mut random = Random(self.seed);
        for (topic, group) in self.pairs() {
            let offsets = (0..).zip((0..self.queues).map(|_| random.offset()));
            let key = key(&topic_name(topic), &group_name(group));
            state.offsets.insert(key, offsets.collect());
        }
    }

    /// Topics and groups of the offset keys, spread over all topics first.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let (topics, groups) = (self.topics, self.groups);
        (0..groups)
            .flat_map(move |round| (0..topics).map(move |topic| (topic, (topic + round) % groups)))
            .take(self.offset_keys)
    }
}

fn topic_name(number: usize) -> String {
    format!("topic-{number:05}")
}

fn group_name(number: usize) -> String {
    format!("group-{number:05}")
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    /// An offset below 2^40.
    fn offset(&mut self) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        i64::try_from((mixed ^ (mixed >> 31)) >> 24).unwrap_or(0)
    }
}

/// A text that is no fill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed part `{0}`, parts are topics=N, groups=N, offsets=N, queues=N, seed=N")]
pub struct MalformedFill(String);

impl FromStr for Fill {
    type Err = MalformedFill;

    /// Reads `topics=100,groups=10,offsets=800,queues=8,seed=1`; parts may be left out, 4 queues then.
    fn from_str(text: &str) -> Result<Self, MalformedFill> {
        let mut fill = Self {
            queues: 4,
            ..Self::default()
        };
        for part in text.split(',') {
            fill.set(part)
                .ok_or_else(|| MalformedFill(part.to_owned()))?;
        }
        Ok(fill)
    }
}

impl Fill {
    fn set(&mut self, part: &str) -> Option<()> {
        let (name, value) = part.split_once('=')?;
        match name {
            "topics" => self.topics = value.parse().ok()?,
            "groups" => self.groups = value.parse().ok()?,
            "offsets" => self.offset_keys = value.parse().ok()?,
            "queues" => self.queues = value.parse().ok()?,
            "seed" => self.seed = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_offset_key_is_another_pair() {
        let fill: Fill = "topics=7,groups=3,offsets=21".parse().unwrap();
        let pairs: BTreeSet<(usize, usize)> = fill.pairs().collect();
        assert_eq!(pairs.len(), 21);
    }

    #[test]
    fn a_malformed_part_is_named() {
        let error = "topics=1,offset=2".parse::<Fill>().unwrap_err();
        assert_eq!(error, MalformedFill("offset=2".to_owned()));
    }
}
