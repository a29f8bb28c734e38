//! A table being changed: a base, and what is to change in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use crate::dialect::Scanner;
use crate::error::ReadError;
use crate::kind::TableKind;
use crate::limits::{DraftLimits, ReadLimits, VALUE_DEPTH};
use crate::page::{self, PageError};
use crate::sorted::{join, sort_last_wins};
use crate::table::{Entries, Entry, Table};
use crate::version::DataVersion;

/// How many characters of a key an error shows.
const SHOWN_KEY: usize = 80;

/// What a write is refused for; nothing of the write has happened then. The cases are those of the WIT's `draft-error`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DraftError {
    /// The key is empty, too long, or not what this table's keys are.
    #[error("invalid key: {0}")]
    InvalidKey(String),
    /// The value is not JSON, or not what this table holds.
    #[error("invalid value: {0}")]
    InvalidValue(String),
    /// The buffer is not a packed page: what is wrong, and at which byte.
    #[error("malformed page: {0}")]
    MalformedPage(String),
    /// The draft would pass the limit of that name.
    #[error("over the limit {0}")]
    TooLarge(String),
    /// Anything else, such as a source of another kind.
    #[error("{0}")]
    Other(String),
}

impl From<PageError> for DraftError {
    fn from(error: PageError) -> Self {
        Self::MalformedPage(error.to_string())
    }
}

/// A table being changed. It starts as its base and costs nothing until it is written to; taking over a whole table costs
/// nothing either.
#[derive(Debug, Clone)]
pub struct Draft {
    /// Version and other members as they are now, and the entries that `changes` apply to.
    base: Table,
    /// What is put (some) and removed (none); only keys of the base are removed.
    changes: BTreeMap<Box<str>, Option<Box<str>>>,
    size: Size,
    limits: DraftLimits,
}

/// How many entries there are, and the bytes of their keys and values.
#[derive(Debug, Clone, Copy)]
struct Size {
    entries: usize,
    bytes: usize,
}

impl Size {
    fn of(table: &Table) -> Self {
        Self {
            entries: table.len(),
            bytes: table.entries.bytes(),
        }
    }

    fn add(&mut self, key: &str, value: &str) {
        self.entries += 1;
        self.bytes += key.len() + value.len();
    }

    fn subtract(&mut self, key: &str, value: &str) {
        self.entries -= 1;
        self.bytes -= key.len() + value.len();
    }

    fn check(self, limits: &DraftLimits) -> Result<Self, DraftError> {
        over("entries", self.entries, limits.entries)?;
        over("bytes", self.bytes, limits.bytes)?;
        Ok(self)
    }
}

fn over(name: &str, size: usize, limit: usize) -> Result<(), DraftError> {
    if size > limit {
        return Err(DraftError::TooLarge(format!(
            "{name}: {size}, at most {limit}"
        )));
    }
    Ok(())
}

impl Draft {
    /// A draft that starts as `base`, or empty.
    #[must_use]
    pub fn new(kind: &'static TableKind, base: Option<Table>, limits: DraftLimits) -> Self {
        let base = base.unwrap_or_else(|| Table::empty(kind));
        Self {
            size: Size::of(&base),
            base,
            changes: BTreeMap::new(),
            limits,
        }
    }

    /// Which of the tables it is.
    #[must_use]
    pub fn kind(&self) -> &'static TableKind {
        self.base.kind()
    }

    /// The draft as it stands now. Costs nothing when no single entry was changed since the last whole one.
    #[must_use]
    pub fn snapshot(&self) -> Table {
        if self.changes.is_empty() {
            return self.base.clone();
        }
        let changes = self
            .changes
            .iter()
            .map(|(key, value)| (&**key, value.as_deref()));
        let entries =
            join(self.base.entries().map(pair), changes).filter_map(|(key, old, change)| {
                let value = change.unwrap_or(old)?;
                Some(Entry { key, value })
            });
        Table {
            entries: Arc::new(Entries::collect(
                entries,
                self.size.bytes,
                self.size.entries,
            )),
            ..self.base.clone()
        }
    }

    /// Puts one entry.
    ///
    /// # Errors
    /// When key or value are not of this kind, or the draft would pass a limit.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), DraftError> {
        self.put_all(&[Entry { key, value }])
    }

    /// Puts every entry of a packed page; of two with one key the later one.
    ///
    /// # Errors
    /// As [`Draft::put`], for any of them, and when the buffer is no packed page.
    pub fn put_packed(&mut self, page: &[u8]) -> Result<(), DraftError> {
        self.put_all(&page::unpack(page)?)
    }

    /// Removes an entry; whether it was there.
    pub fn remove(&mut self, key: &str) -> bool {
        let mut size = self.size;
        let Some(value) = self.get(key) else {
            return false;
        };
        size.subtract(key, value);
        self.size = size;
        if self.base.get(key).is_some() {
            self.changes.insert(key.into(), None);
        } else {
            self.changes.remove(key);
        }
        true
    }

    /// Removes the keys of a packed list; how many were there.
    ///
    /// # Errors
    /// When the buffer is no packed list of keys.
    pub fn remove_packed(&mut self, keys: &[u8]) -> Result<u32, DraftError> {
        let keys = page::unpack_keys(keys)?;
        Ok(keys
            .into_iter()
            .map(|key| u32::from(self.remove(key)))
            .sum())
    }

    /// Takes over everything: entries, version and other members. Costs the same for a table of any size.
    ///
    /// # Errors
    /// When the source is of another kind or passes a limit.
    pub fn replace(&mut self, source: &Table) -> Result<(), DraftError> {
        self.expect_kind(source)?;
        self.rebase(source.clone(), Size::of(source).check(&self.limits)?);
        Ok(())
    }

    /// Takes over version and other members, and puts each entry of the source; entries only here stay. Costs no copy
    /// when there are none of those.
    ///
    /// # Errors
    /// As [`Draft::replace`].
    pub fn merge(&mut self, source: &Table) -> Result<(), DraftError> {
        self.expect_kind(source)?;
        let mut size = Size::of(source);
        let here = self.snapshot();
        if here.shares_entries(source) {
            return self.replace(source);
        }
        let both = || join(here.entries().map(pair), source.entries().map(pair));
        for (key, value, _) in both().filter(|(_, _, new)| new.is_none()) {
            size.add(key, value.unwrap_or_default());
        }
        if size.entries == source.len() {
            return self.replace(source);
        }
        size.check(&self.limits)?;
        let merged = both().filter_map(|(key, old, new)| {
            let value = new.or(old)?;
            Some(Entry { key, value })
        });
        let merged = Table {
            entries: Arc::new(Entries::collect(merged, size.bytes, size.entries)),
            ..source.clone()
        };
        self.rebase(merged, size);
        Ok(())
    }

    /// States another version; none means that the version is unknown.
    pub fn set_version(&mut self, version: Option<DataVersion>) {
        self.base.version = version;
    }

    fn get(&self, key: &str) -> Option<&str> {
        match self.changes.get(key) {
            Some(change) => change.as_deref(),
            None => self.base.get(key),
        }
    }

    fn put_all(&mut self, entries: &[Entry<'_>]) -> Result<(), DraftError> {
        let checked = entries
            .iter()
            .map(|entry| Ok((entry.key, self.check(entry)?)));
        let mut entries = checked.collect::<Result<Vec<_>, DraftError>>()?;
        sort_last_wins(&mut entries, |one, other| one.0.cmp(other.0));
        let mut size = self.size;
        for (key, value) in &entries {
            if let Some(old) = self.get(key) {
                size.subtract(key, old);
            }
            size.add(key, value);
        }
        self.size = size.check(&self.limits)?;
        for (key, value) in entries {
            self.changes.insert(key.into(), Some(value.into()));
        }
        Ok(())
    }

    /// Checks an entry; its value as the table will hold it.
    fn check(&self, entry: &Entry<'_>) -> Result<String, DraftError> {
        let Entry { key, value } = *entry;
        if key.len() > self.limits.key_bytes {
            let (size, limit) = (key.len(), self.limits.key_bytes);
            return Err(DraftError::InvalidKey(format!(
                "{size} bytes, at most {limit}"
            )));
        }
        over("value-bytes", value.len(), self.limits.value_bytes)?;
        let kind = self.kind();
        let invalid_key = |reason| DraftError::InvalidKey(format!("{reason}: `{}`", shown(key)));
        kind.key.check(key).map_err(invalid_key)?;
        canonical(kind, value).map_err(|error| {
            DraftError::InvalidValue(format!("at the key `{}`: {error}", shown(key)))
        })
    }

    fn expect_kind(&self, source: &Table) -> Result<(), DraftError> {
        let (kind, other) = (self.kind(), source.kind());
        if kind == other {
            return Ok(());
        }
        Err(DraftError::Other(format!(
            "a draft of {kind} cannot take over a table of {other}"
        )))
    }

    fn rebase(&mut self, base: Table, size: Size) {
        self.base = base;
        self.size = size;
        self.changes.clear();
    }
}

fn pair(entry: Entry<'_>) -> (&str, &str) {
    (entry.key, entry.value)
}

/// A key in an error's text: printable and not long.
fn shown(key: &str) -> String {
    key.escape_debug().take(SHOWN_KEY).collect()
}

/// A value as every table of this kind holds it: on one line, every key quoted.
fn canonical(kind: &TableKind, value: &str) -> Result<String, ReadError> {
    let limits = ReadLimits {
        bytes: value.len(),
        depth: VALUE_DEPTH,
        entries: 0,
    };
    let mut scanner = Scanner::new(value.as_bytes(), &limits)?;
    scanner.out.reserve_exact(value.len());
    let scan = |scanner: &mut Scanner<'_>| {
        scanner.space();
        scanner.text(|scanner| kind.value.scan(scanner))?;
        scanner.end()
    };
    scan(&mut scanner).map_err(|fault| fault.within(value.as_bytes()))?;
    Ok(scanner.out)
}

#[cfg(test)]
mod tests;
