//! The four tables as a broker answers them and as their files hold them. On purpose without the crate that is tested:
//! files are read by `serde_json`, and what is not kept is written down here once more.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use locum_remoting::code;
use real_master::Broker;
use serde_json::Value;

/// What there is to know of a table here.
pub(crate) struct Known {
    code: i32,
    file: &'static str,
    /// The member with the entries.
    pub(crate) entries: &'static str,
    /// Members of an answer that are in no file.
    dropped: &'static [&'static str],
}

pub(crate) const TOPICS: Known = Known {
    code: code::GET_ALL_TOPIC_CONFIG,
    file: "topics.json",
    entries: "topicConfigTable",
    dropped: &[
        "mappingDataVersion",
        "topicQueueMappingDetailMap",
        "topicQueueMappingInfoMap",
    ],
};

pub(crate) const GROUPS: Known = Known {
    code: code::GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    file: "subscriptionGroup.json",
    entries: "subscriptionGroupTable",
    dropped: &[],
};

pub(crate) const OFFSETS: Known = Known {
    code: code::GET_ALL_CONSUMER_OFFSET,
    file: "consumerOffset.json",
    entries: "offsetTable",
    dropped: &["groupTopicMap"],
};

pub(crate) const DELAYS: Known = Known {
    code: code::GET_ALL_DELAY_OFFSET,
    file: "delayOffset.json",
    entries: "offsetTable",
    dropped: &[],
};

const ALL: [Known; 4] = [TOPICS, GROUPS, OFFSETS, DELAYS];

/// Documents by the name of their file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tables(BTreeMap<&'static str, Value>);

impl Tables {
    /// What a broker answers now, without what is not kept.
    pub(crate) fn answered_by(broker: &Broker) -> Self {
        let answer = |table: &Known| {
            let mut answer = broker.ask(table.code).unwrap();
            for member in table.dropped {
                answer.as_object_mut().unwrap().remove(*member);
            }
            (table.file, answer)
        };
        Self(ALL.iter().map(answer).collect())
    }

    /// What the files hold; each must be there and be strict JSON.
    pub(crate) fn in_files(directory: &Path) -> Self {
        let read = |table: &Known| {
            let path = directory.join(table.file);
            let text = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let document = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}:\n{text}", path.display()));
            (table.file, document)
        };
        Self(ALL.iter().map(read).collect())
    }

    /// The entries of a table.
    pub(crate) fn entries(&self, table: &Known) -> &Value {
        &self.document(table)[table.entries]
    }

    /// The whole document of a table.
    pub(crate) fn document(&self, table: &Known) -> &Value {
        &self.0[table.file]
    }
}

/// What tells one generation of the four files from the next: inode, time of the last change in nanoseconds, content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Generation(Vec<(&'static str, Option<(u64, i64, i64, Vec<u8>)>)>);

impl Generation {
    pub(crate) fn of(directory: &Path) -> Self {
        let mark = |table: &Known| {
            let path = directory.join(table.file);
            let mark = fs::metadata(&path).ok().map(|is| {
                let content = fs::read(&path).unwrap();
                (is.ino(), is.mtime(), is.mtime_nsec(), content)
            });
            (table.file, mark)
        };
        Self(ALL.iter().map(mark).collect())
    }
}
