//! Every bound of this crate, and its default.

/// The most that a document may hold, whatever [`ReadLimits`] says: quoting its bare keys makes it at most half as
/// large again, so that every length still fits the 32 bits of a packed page.
pub(crate) const MAX_DOCUMENT_BYTES: usize = i32::MAX as usize;

/// The deepest nesting that is read, whatever [`ReadLimits`] says: the scanner recurses.
pub(crate) const MAX_DEPTH: usize = 512;

/// The nesting that is read by default.
const DEPTH: usize = 64;

/// The nesting of a value that is put into a draft: in the table's file it stands two objects deep, and must be read again.
pub(crate) const VALUE_DEPTH: usize = DEPTH - 2;

/// What a document may cost to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Bytes of the whole document; never more than 2 GiB - 1, the largest array of a Java broker.
    pub bytes: usize,
    /// Nesting of objects and arrays; never more than 512. A consumer offset table needs 3.
    pub depth: usize,
    /// Entries of the table, and also other members of the document.
    pub entries: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            bytes: MAX_DOCUMENT_BYTES,
            depth: DEPTH,
            entries: 20_000_000,
        }
    }
}

/// How far a draft may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DraftLimits {
    /// UTF-8 bytes of one key.
    pub key_bytes: usize,
    /// UTF-8 bytes of one value's JSON text.
    pub value_bytes: usize,
    /// Entries of the whole draft.
    pub entries: usize,
    /// UTF-8 bytes of all keys and values together. By default half of what can be read, since the file has quotes and
    /// commas besides.
    pub bytes: usize,
}

impl Default for DraftLimits {
    fn default() -> Self {
        Self {
            key_bytes: 64 << 10,
            value_bytes: 16 << 20,
            entries: 20_000_000,
            bytes: MAX_DOCUMENT_BYTES / 2,
        }
    }
}
