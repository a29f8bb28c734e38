//! Pages of entries, and their packed form: one buffer instead of a list of strings, for crossing into a policy.
//!
//! A packed page is, for each entry, the key's length and the value's length (u32, little-endian), then the key's and the
//! value's UTF-8 bytes. A packed list of keys is the same without values.

use thiserror::Error;

use crate::table::{Entry, Table};

/// What a page counts for an entry beside its key and value: the two lengths of the packed form.
const LENGTHS: usize = 8;
const LENGTH: usize = 4;

impl Table {
    /// At most `limit` entries after the key `after`, and not more than about `max_bytes` of them in packed form; but at
    /// least one when one is left and `limit` is not 0, so that only an empty page is the end.
    pub fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        max_bytes: usize,
    ) -> impl Iterator<Item = Entry<'_>> {
        let size = |entry: &Entry<'_>| LENGTHS + entry.key.len() + entry.value.len();
        bounded(self.entries.after(after).take(limit), max_bytes, size)
    }

    /// The same page, packed.
    #[must_use]
    pub fn page_packed(&self, after: Option<&str>, limit: usize, max_bytes: usize) -> Vec<u8> {
        let mut packed = Vec::new();
        for Entry { key, value } in self.page(after, limit, max_bytes) {
            packed.extend(length(key));
            packed.extend(length(value));
            packed.extend_from_slice(key.as_bytes());
            packed.extend_from_slice(value.as_bytes());
        }
        packed
    }

    /// The keys of a page, packed; `max_bytes` bounds the keys alone.
    #[must_use]
    pub fn keys_packed(&self, after: Option<&str>, limit: usize, max_bytes: usize) -> Vec<u8> {
        let mut packed = Vec::new();
        let size = |entry: &Entry<'_>| LENGTH + entry.key.len();
        for Entry { key, .. } in bounded(self.entries.after(after).take(limit), max_bytes, size) {
            packed.extend(length(key));
            packed.extend_from_slice(key.as_bytes());
        }
        packed
    }
}

fn bounded<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
    max_bytes: usize,
    size: impl Fn(&Entry<'a>) -> usize,
) -> impl Iterator<Item = Entry<'a>> {
    let mut taken = 0_usize;
    entries.take_while(move |entry| {
        let first = taken == 0;
        taken = taken.saturating_add(size(entry));
        first || taken <= max_bytes
    })
}

/// A length of the packed form. The limits of reading and drafting keep every text below 4 GiB.
fn length(text: &str) -> [u8; LENGTH] {
    u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes()
}

/// A buffer that is not a packed page or a packed list of keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PageError {
    /// It ends inside an entry.
    #[error("the page ends inside the entry at byte {at}")]
    Truncated {
        /// Where the entry starts.
        at: usize,
    },
    /// A key or a value is not UTF-8.
    #[error("the entry at byte {at} is not UTF-8")]
    NotUtf8 {
        /// Where the entry starts.
        at: usize,
    },
}

/// Reads a packed page.
///
/// # Errors
/// When the buffer is no packed page: what is wrong, and at which byte.
pub fn unpack(page: &[u8]) -> Result<Vec<Entry<'_>>, PageError> {
    let mut reader = Reader {
        page,
        at: 0,
        entry: 0,
    };
    let mut entries = Vec::new();
    while reader.another() {
        let (key, value) = (reader.length()?, reader.length()?);
        entries.push(Entry {
            key: reader.text(key)?,
            value: reader.text(value)?,
        });
    }
    Ok(entries)
}

/// Reads a packed list of keys.
///
/// # Errors
/// As [`unpack`].
pub fn unpack_keys(keys: &[u8]) -> Result<Vec<&str>, PageError> {
    let mut reader = Reader {
        page: keys,
        at: 0,
        entry: 0,
    };
    let mut found = Vec::new();
    while reader.another() {
        let key = reader.length()?;
        found.push(reader.text(key)?);
    }
    Ok(found)
}

struct Reader<'a> {
    page: &'a [u8],
    at: usize,
    /// Where the entry that is being read starts.
    entry: usize,
}

impl<'a> Reader<'a> {
    fn another(&mut self) -> bool {
        self.entry = self.at;
        self.at < self.page.len()
    }

    fn length(&mut self) -> Result<usize, PageError> {
        let &bytes = self.page[self.at..]
            .first_chunk()
            .ok_or_else(|| self.truncated())?;
        self.at += LENGTH;
        usize::try_from(u32::from_le_bytes(bytes)).map_err(|_| self.truncated())
    }

    fn text(&mut self, length: usize) -> Result<&'a str, PageError> {
        let rest = &self.page[self.at..];
        let bytes = rest.get(..length).ok_or_else(|| self.truncated())?;
        self.at += length;
        std::str::from_utf8(bytes).map_err(|_| PageError::NotUtf8 { at: self.entry })
    }

    fn truncated(&self) -> PageError {
        PageError::Truncated { at: self.entry }
    }
}

#[cfg(test)]
mod tests;
