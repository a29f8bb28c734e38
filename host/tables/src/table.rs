//! A table that never changes: one buffer and an index.

use std::sync::Arc;

use crate::kind::TableKind;
use crate::sorted::sort_last_wins;
use crate::structure;
use crate::version::DataVersion;

/// One entry of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key, decoded.
    pub key: &'a str,
    /// The value: JSON text on one line, every key quoted.
    pub value: &'a str,
}

/// RocketMQ's metadata of one kind, as a master answered it or a file held it. Never changes; a clone shares everything.
/// Entries are in the order of the bytes of their keys.
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) kind: &'static TableKind,
    pub(crate) version: Option<DataVersion>,
    pub(crate) members: Arc<Members>,
    pub(crate) entries: Arc<Entries>,
}

/// Other members of the document, name and JSON text, in the order of their names.
pub(crate) type Members = Vec<(String, String)>;

impl Table {
    /// A table without entries, version or other members.
    #[must_use]
    pub fn empty(kind: &'static TableKind) -> Self {
        Self {
            kind,
            version: None,
            members: Arc::default(),
            entries: Arc::default(),
        }
    }

    /// Which of the tables it is.
    #[must_use]
    pub fn kind(&self) -> &'static TableKind {
        self.kind
    }

    /// The version that the table states, if it states one.
    #[must_use]
    pub fn version(&self) -> Option<DataVersion> {
        self.version
    }

    /// How many entries it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The JSON text of the value at a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.entries.find(key).ok()?;
        Some(self.entries.entry(&self.entries.index[at]).value)
    }

    /// The JSON text of another member of the document, such as `forbiddenTable`.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&str> {
        self.members()
            .find(|member| member.0 == name)
            .map(|member| member.1)
    }

    /// The other members of the document, name and JSON text, in the order of their names. Entries and version are none.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.entries.iter()
    }

    /// Whether both tables state a version and the two are equal: an unknown version equals nothing.
    #[must_use]
    pub fn same_version(&self, other: &Self) -> bool {
        self.version.is_some() && self.version == other.version
    }

    /// Whether both hold the same entries, whatever their versions. The order of members inside a value does not count;
    /// numbers are compared as they are written.
    #[must_use]
    pub fn same_entries(&self, other: &Self) -> bool {
        self.shares_entries(other) || self.entries.same(&other.entries)
    }

    /// Whether nothing tells the two apart: kind, entries, version (two unknown ones are equal here) and other members.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.version == other.version
            && same_members(&self.members, &other.members)
            && self.same_entries(other)
    }
}

impl Table {
    /// Whether both have their entries in the same memory, which makes them equal at once.
    pub(crate) fn shares_entries(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entries, &other.entries)
    }
}

fn same_members(one: &Members, other: &Members) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| one.0 == other.0 && structure::same(&one.1, &other.1))
}

/// Where an entry is in the buffer: the key, and the value right behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) key: usize,
    pub(crate) value: usize,
    pub(crate) end: usize,
}

/// The entries of a table: their text one after the other in any order, and an index in the order of the keys.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    text: String,
    index: Vec<Span>,
    bytes: usize,
}

impl Entries {
    /// Brings entries into order; of two with one key the later one stays.
    pub(crate) fn sort(mut text: String, mut index: Vec<Span>) -> Self {
        text.shrink_to_fit();
        let key = |span: &Span| &text.as_bytes()[span.key..span.value];
        sort_last_wins(&mut index, |one, other| key(one).cmp(key(other)));
        index.shrink_to_fit();
        let bytes = index.iter().map(|span| span.end - span.key).sum();
        Self { text, index, bytes }
    }

    /// Copies entries that come in the order of their keys, each key once.
    pub(crate) fn collect<'a>(
        entries: impl Iterator<Item = Entry<'a>>,
        bytes: usize,
        count: usize,
    ) -> Self {
        let mut text = String::with_capacity(bytes);
        let mut index = Vec::with_capacity(count);
        for Entry { key, value } in entries {
            let start = text.len();
            text.push_str(key);
            text.push_str(value);
            index.push(Span {
                key: start,
                value: start + key.len(),
                end: text.len(),
            });
        }
        let bytes = text.len();
        Self { text, index, bytes }
    }

    /// Bytes of all keys and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.index.iter().map(|span| self.entry(span))
    }

    /// Entries behind a key, or all.
    pub(crate) fn after(&self, key: Option<&str>) -> impl Iterator<Item = Entry<'_>> {
        let start = key.map_or(0, |key| match self.find(key) {
            Ok(found) => found + 1,
            Err(gap) => gap,
        });
        self.index[start..].iter().map(|span| self.entry(span))
    }

    fn entry(&self, span: &Span) -> Entry<'_> {
        Entry {
            key: &self.text[span.key..span.value],
            value: &self.text[span.value..span.end],
        }
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.index
            .binary_search_by(|span| self.text[span.key..span.value].cmp(key))
    }

    fn same(&self, other: &Self) -> bool {
        let same_entry = |(one, other): (Entry<'_>, Entry<'_>)| {
            one.key == other.key && structure::same(one.value, other.value)
        };
        self.index.len() == other.index.len()
            && (self.index == other.index && self.text == other.text
                || self.iter().zip(other.iter()).all(same_entry))
    }
}

#[cfg(test)]
mod tests;
