//! The four tables as a broker answers them and as their files hold them. On purpose without the crate that is tested:
//! files are read by `serde_json`, and what is not kept is written down here once more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use locum_remoting::code;
use real_master::Broker;
use serde_json::{Map, Value};

/// What there is to know of a table here.
pub(crate) struct Known {
    code: i32,
    pub(crate) file: &'static str,
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
pub(crate) struct Tables(BTreeMap<&'static str, Value>);

impl Tables {
    /// What a broker answers now, without what is not kept.
    pub(crate) fn answered_by(broker: &Broker) -> Self {
        let answer = |table: &Known| {
            let mut answer = broker.ask(table.code).unwrap();
            for member in table.dropped {
                answer.as_object_mut().unwrap().remove(*member);
            }
            // 4.9 has none, which means 0; a file has all three fields of a version.
            if let Some(version) = answer["dataVersion"].as_object_mut() {
                version.entry("stateVersion").or_insert_with(|| 0.into());
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

    /// Fails and names what differs, if anything does.
    #[track_caller]
    pub(crate) fn assert_are(&self, expected: &Self) {
        for (file, document) in &expected.0 {
            assert_same(file, &self.0[file], document);
        }
    }

    /// The same for the entries of one table.
    #[track_caller]
    pub(crate) fn assert_has_entries_of(&self, expected: &Self, table: &Known) {
        assert_same(table.file, self.entries(table), expected.entries(table));
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

#[track_caller]
fn assert_same(what: &str, is: &Value, expected: &Value) {
    let mut differences = Vec::new();
    compare(what.to_owned(), is, expected, &mut differences);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Where two documents differ: whole ones are too long to be read in a test's output.
fn compare(at: String, is: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (is, expected) {
        (Value::Object(is), Value::Object(expected)) => {
            let names: BTreeSet<_> = is.keys().chain(expected.keys()).collect();
            for name in names {
                let of =
                    |object: &Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                compare(format!("{at}/{name}"), &of(is), &of(expected), differences);
            }
        }
        _ if is == expected => {}
        _ => differences.push(format!("{at}: {is}, not {expected}")),
    }
}

/// What tells one generation of the four files from the next: inode, time of the last change in nanoseconds, content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Generation(BTreeMap<&'static str, Option<Mark>>);

/// Of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    inode: u64,
    changed: (i64, i64),
    content: String,
}

impl Generation {
    pub(crate) fn of(directory: &Path) -> Self {
        let mark = |table: &Known| {
            let path = directory.join(table.file);
            let mark = fs::metadata(&path).ok().map(|is| Mark {
                inode: is.ino(),
                changed: (is.mtime(), is.mtime_nsec()),
                content: fs::read_to_string(&path).unwrap(),
            });
            (table.file, mark)
        };
        Self(ALL.iter().map(mark).collect())
    }

    /// The mark of one table's file; None where there is none.
    pub(crate) fn of_file(&self, table: &Known) -> Option<Mark> {
        self.0[table.file].clone()
    }
}
