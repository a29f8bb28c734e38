//! Tables that never change, and drafts of them.

use std::fmt;
use std::iter;

use crate::{DraftError, packed, world};

/// The table of all topics, by name.
pub const TOPICS: &str = "topics";
/// The table of consumer offsets: by `topic@group`, an offset for each queue.
pub const CONSUMER_OFFSETS: &str = "consumer-offsets";
/// The table of delay offsets: by delay level, the offset up to which delayed messages were delivered.
pub const DELAY_OFFSETS: &str = "delay-offsets";
/// The table of subscription groups, by name.
pub const SUBSCRIPTION_GROUPS: &str = "subscription-groups";

/// How many entries a page is asked to have; the host may give fewer.
const PAGE: u32 = 1024;
/// From how many bytes on a packed page is handed to the host, in bytes.
const PACKED: usize = 64 * 1024;

/// RocketMQ's `DataVersion`. A 4.x master sends no state version; it then reads 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataVersion {
    /// The epoch of a controller's master; 0 elsewhere.
    pub state_version: i64,
    /// Milliseconds since 1970, on the master's clock.
    pub timestamp: i64,
    /// Counts the changes since the master's start.
    pub counter: i64,
}

/// One named value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, such as a topic's.
    pub key: String,
    /// JSON text with every key quoted, on one line; fields that the host does not know are kept.
    pub value: String,
}

/// A table that never changes, as the master answered it or as the replica holds it. It costs nothing to hold one;
/// entries come into the policy only when it asks for them. The order of keys is that of their UTF-8 bytes.
pub struct Table(pub(crate) world::Table);

impl Table {
    /// The version that the table states, if it states one.
    #[must_use]
    pub fn version(&self) -> Option<DataVersion> {
        self.0.version()
    }

    /// Whether both tables state a version and the two are equal: an unknown version equals nothing.
    #[must_use]
    pub fn same_version(&self, other: &Self) -> bool {
        self.0.same_version(&other.0)
    }

    /// Whether both hold the same entries, whatever their versions.
    #[must_use]
    pub fn same_entries(&self, other: &Self) -> bool {
        self.0.same_entries(&other.0)
    }

    /// Whether nothing tells the two apart: entries, version (both unknown is equal here) and other members.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0)
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        self.0.get(key)
    }

    /// The JSON text of another member of the document, such as `forbiddenTable`.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<String> {
        self.0.member(name)
    }

    /// All entries, in the order of their keys, fetched page by page.
    #[must_use]
    pub fn entries(&self) -> Entries<'_> {
        Entries {
            table: self,
            page: Vec::new(),
            at: 0,
            last: None,
        }
    }

    /// All keys, in order, without their values: cheaper than [`entries`](Self::entries).
    #[must_use]
    pub fn keys(&self) -> Keys<'_> {
        Keys {
            table: self,
            page: Vec::new(),
            at: 0,
            last: None,
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "Table({} entries, version {:?})",
            self.len(),
            self.version()
        )
    }
}

/// The entries of a table, see [`Table::entries`].
#[derive(Debug)]
pub struct Entries<'a> {
    table: &'a Table,
    page: Vec<u8>,
    at: usize,
    last: Option<String>,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.at == self.page.len() {
            self.page = self.table.0.page_packed(self.last.as_deref(), PAGE);
            self.at = 0;
        }
        let mut rest = &self.page[self.at..];
        let (key, value) = packed::take_entry(&mut rest)?;
        self.at = self.page.len() - rest.len();
        if rest.is_empty() {
            self.last = Some(key.clone());
        }
        Some(Entry { key, value })
    }
}

/// The keys of a table, see [`Table::keys`].
#[derive(Debug)]
pub struct Keys<'a> {
    table: &'a Table,
    page: Vec<u8>,
    at: usize,
    last: Option<String>,
}

impl Iterator for Keys<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.at == self.page.len() {
            self.page = self.table.0.keys_packed(self.last.as_deref(), PAGE);
            self.at = 0;
        }
        let mut rest = &self.page[self.at..];
        let key = packed::take_key(&mut rest)?;
        self.at = self.page.len() - rest.len();
        if rest.is_empty() {
            self.last = Some(key.clone());
        }
        Some(key)
    }
}

/// The table that this tick leaves behind. It starts as the replica's current one; nothing is visible outside, or on
/// disk, before the tick ends well and the host's guards have passed it.
pub struct Draft(pub(crate) world::Draft);

impl Draft {
    /// The draft as it stands now, as a table.
    #[must_use]
    pub fn snapshot(&self) -> Table {
        Table(self.0.snapshot())
    }

    /// Puts one entry; the value is JSON text.
    ///
    /// # Errors
    /// See [`DraftError`].
    pub fn put(&self, key: &str, value: &str) -> Result<(), DraftError> {
        self.0.put(key, value)
    }

    /// Puts many entries, in few calls of the host.
    ///
    /// # Errors
    /// See [`DraftError`]; entries before the one at fault may have been put.
    pub fn put_all(&self, entries: impl IntoIterator<Item = Entry>) -> Result<(), DraftError> {
        let mut entries = entries.into_iter();
        pages(|page| {
            entries
                .next()
                .map(|entry| packed::put_entry(page, &entry.key, &entry.value))
                .is_some()
        })
        .try_for_each(|page| self.0.put_packed(&page))
    }

    /// Removes an entry; whether it was there.
    pub fn remove(&self, key: &str) -> bool {
        self.0.remove(key)
    }

    /// Removes many entries, in few calls of the host; how many were there.
    ///
    /// # Errors
    /// See [`DraftError`]; some may have been removed.
    pub fn remove_all<K: AsRef<str>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<usize, DraftError> {
        let mut keys = keys.into_iter();
        pages(|page| {
            keys.next()
                .map(|key| packed::put_key(page, key.as_ref()))
                .is_some()
        })
        .map(|page| self.0.remove_packed(&page))
        .sum()
    }

    /// Takes over everything: entries, version and the document's other members.
    pub fn replace(&self, source: &Table) {
        self.0.replace(&source.0);
    }

    /// Takes over version and other members, and puts each entry of `source`; entries only here stay.
    pub fn merge(&self, source: &Table) {
        self.0.merge(&source.0);
    }

    /// States another version; `None` means that the version is unknown.
    pub fn set_version(&self, version: Option<DataVersion>) {
        self.0.set_version(version);
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Draft of {:?}", self.snapshot())
    }
}

/// Packed pages, each filled by `add` until it is large enough or `add` has nothing more.
fn pages(mut add: impl FnMut(&mut Vec<u8>) -> bool) -> impl Iterator<Item = Vec<u8>> {
    iter::from_fn(move || {
        let mut page = Vec::new();
        while page.len() < PACKED && add(&mut page) {}
        (!page.is_empty()).then_some(page)
    })
}
