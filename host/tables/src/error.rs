//! Why a document was not read: what is wrong, where, and what stands there.

use thiserror::Error;

/// How much of the document a [`ReadError`] shows before and after the place, in bytes.
const SNIPPET_BEFORE: usize = 24;
const SNIPPET_AFTER: usize = 24;

/// What is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadProblem {
    /// Something else stands where this must.
    #[error("expected {0}")]
    Expected(&'static str),
    /// The document ends in the middle.
    #[error("the document ends too early")]
    Truncated,
    /// Something stands after the document.
    #[error("more text after the document")]
    Trailing,
    /// The document is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// A string holds a control character that is not escaped.
    #[error("a bare control character in a string")]
    ControlCharacter,
    /// A string holds a backslash with something after it that JSON does not know.
    #[error("an unknown escape in a string")]
    Escape,
    /// A key or name does not decode to text, since half of a surrogate pair is missing.
    #[error("half a surrogate pair in a key")]
    Surrogate,
    /// fastjson's reference to another place of the document. Java's own reader fails on it in an integer-keyed map, and
    /// to guess what it means would invent offsets.
    #[error("a `$ref` reference, which is not supported")]
    Reference,
    /// The document is larger than its limit, both in bytes.
    #[error("{size} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The document's size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Objects and arrays are nested deeper than this.
    #[error("nested deeper than the limit of {0}")]
    TooDeep(usize),
    /// The table has more entries, or the document more other members, than this.
    #[error("more entries than the limit of {0}")]
    TooMany(usize),
    /// The member of this name, which holds the entries, is missing. Never read as an empty table.
    #[error("no member `{0}`, which holds the entries")]
    NoEntries(&'static str),
    /// The member of this name, which holds the entries, is null. Never read as an empty table.
    #[error("the member `{0}`, which holds the entries, is null")]
    NullEntries(&'static str),
    /// A key is not what this kind of table has.
    #[error("invalid key: {0}")]
    InvalidKey(&'static str),
    /// A value is not what this kind of table holds.
    #[error("invalid value: expected {0}")]
    InvalidValue(&'static str),
}

/// A problem and where it is, before the document is at hand to show it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) problem: ReadProblem,
    pub(crate) at: usize,
}

impl Fault {
    /// The error to show, with what stands at the place in `document`.
    pub(crate) fn within(self, document: &[u8]) -> ReadError {
        ReadError {
            snippet: snippet(document, self.at),
            problem: self.problem,
            offset: self.at,
        }
    }
}

/// A document that was not read: what is wrong, at which byte, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem} at byte {offset}, near `{snippet}`")]
pub struct ReadError {
    problem: ReadProblem,
    offset: usize,
    snippet: String,
}

impl ReadError {
    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &ReadProblem {
        &self.problem
    }

    /// Where, in bytes from the start of the document.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What stands there: some bytes before and after, printable, on one line.
    #[must_use]
    pub fn snippet(&self) -> &str {
        &self.snippet
    }
}

fn snippet(document: &[u8], at: usize) -> String {
    let at = at.min(document.len());
    let from = at.saturating_sub(SNIPPET_BEFORE);
    let to = (at + SNIPPET_AFTER).min(document.len());
    String::from_utf8_lossy(&document[from..to])
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_where_and_what_stands_there() {
        let fault = Fault {
            problem: ReadProblem::Expected("a value"),
            at: 5,
        };
        assert_eq!(
            fault.within(b"{\"a\":<html>\n").to_string(),
            "expected a value at byte 5, near `{\"a\":<html> `"
        );
    }

    #[test]
    fn a_snippet_is_short_and_never_outside() {
        let long = [b'x'; 500];
        assert_eq!(snippet(&long, 250).len(), SNIPPET_BEFORE + SNIPPET_AFTER);
        assert_eq!(snippet(b"", 9), "");
        assert_eq!(snippet(b"\xffab", 1), "\u{fffd}ab");
    }
}
