//! A document of a master or of a broker's file, read into a table.

use std::sync::Arc;

use crate::dialect::{Scanner, Text};
use crate::error::{Fault, ReadError, ReadProblem};
use crate::kind::TableKind;
use crate::limits::ReadLimits;
use crate::sorted::sort_last_wins;
use crate::table::{Entries, Members, Span, Table};
use crate::version::DataVersion;

impl Table {
    /// Reads the body of a master's answer.
    ///
    /// # Errors
    /// When it is not whole and well formed, when a key or a value is not of this kind, when the member that holds the
    /// entries is missing or null (which is never an empty table), or when it passes the limits.
    pub fn from_answer(
        kind: &'static TableKind,
        body: &[u8],
        limits: &ReadLimits,
    ) -> Result<Self, ReadError> {
        read(
            Document::new(kind, kind.entries.wire, kind.version.wire),
            body,
            limits,
        )
    }

    /// Reads a file, ours or one that a broker wrote.
    ///
    /// # Errors
    /// As [`Table::from_answer`].
    pub fn from_file(
        kind: &'static TableKind,
        text: &[u8],
        limits: &ReadLimits,
    ) -> Result<Self, ReadError> {
        read(
            Document::new(kind, kind.entries.disk, kind.version.disk),
            text,
            limits,
        )
    }
}

fn read(mut document: Document, text: &[u8], limits: &ReadLimits) -> Result<Table, ReadError> {
    let mut scanner = Scanner::new(text, limits)?;
    scanner.out.reserve(text.len());
    document
        .scan(&mut scanner, limits.entries)
        .map_err(|fault| fault.within(text))?;
    document
        .into_table(scanner.out)
        .map_err(|fault| fault.within(text))
}

/// What is known of a document while it is read; the text of its entries is in the scanner.
struct Document {
    kind: &'static TableKind,
    entries_name: &'static str,
    version_name: &'static str,
    version: Option<DataVersion>,
    members: Members,
    entries: Found,
}

/// The member that holds the entries.
enum Found {
    Missing,
    Null { at: usize },
    Entries(Vec<Span>),
}

impl Document {
    fn new(
        kind: &'static TableKind,
        entries_name: &'static str,
        version_name: &'static str,
    ) -> Self {
        Self {
            kind,
            entries_name,
            version_name,
            version: None,
            members: Members::new(),
            entries: Found::Missing,
        }
    }

    fn scan(&mut self, scanner: &mut Scanner<'_>, limit: usize) -> Result<(), Fault> {
        scanner.space();
        scanner.fields(|scanner, name| self.member(scanner, name, limit))?;
        scanner.end()
    }

    fn member(
        &mut self,
        scanner: &mut Scanner<'_>,
        name: Text<'_>,
        limit: usize,
    ) -> Result<(), Fault> {
        let name = name.decode()?;
        if name == self.entries_name {
            self.entries = scan_entries(self.kind, scanner, limit)?;
        } else if name == self.version_name {
            self.version = DataVersion::scan(scanner)?;
        } else if self.kind.drops(&name) {
            scanner.value()?;
        } else if self.members.len() == limit {
            return Err(scanner.fault(ReadProblem::TooMany(limit)));
        } else {
            let start = scanner.out.len();
            scanner.text(Scanner::value)?;
            self.members
                .push((name.into_owned(), scanner.out.split_off(start)));
        }
        Ok(())
    }

    fn into_table(mut self, text: String) -> Result<Table, Fault> {
        let missing = |problem, at| Err(Fault { problem, at });
        let index = match self.entries {
            Found::Entries(index) => index,
            Found::Null { at } => return missing(ReadProblem::NullEntries(self.entries_name), at),
            Found::Missing => return missing(ReadProblem::NoEntries(self.entries_name), 0),
        };
        tidy(&mut self.members);
        Ok(Table {
            kind: self.kind,
            version: self.version,
            members: Arc::new(self.members),
            entries: Arc::new(Entries::sort(text, index)),
        })
    }
}

fn scan_entries(kind: &TableKind, scanner: &mut Scanner<'_>, limit: usize) -> Result<Found, Fault> {
    let at = scanner.at();
    // An earlier member of the same name, which this one replaces, may have left its text.
    scanner.out.clear();
    if scanner.peek() == Some(b'n') {
        return scanner.word().map(|_| Found::Null { at });
    }
    let mut index = Vec::new();
    scanner.fields(|scanner, key| {
        if index.len() == limit {
            return Err(scanner.fault(ReadProblem::TooMany(limit)));
        }
        index.push(scan_entry(kind, scanner, key)?);
        Ok(())
    })?;
    Ok(Found::Entries(index))
}

fn scan_entry(kind: &TableKind, scanner: &mut Scanner<'_>, key: Text<'_>) -> Result<Span, Fault> {
    let decoded = key.decode()?;
    kind.key.check(&decoded).map_err(|reason| Fault {
        problem: ReadProblem::InvalidKey(reason),
        at: key.at,
    })?;
    let start = scanner.out.len();
    scanner.out.push_str(&decoded);
    scanner.text(|scanner| kind.value.scan(scanner))?;
    Ok(Span {
        key: start,
        value: start + decoded.len(),
        end: scanner.out.len(),
    })
}

/// Brings members into order, the last of each name; null goes, since Java means the same by leaving it out, and a null
/// table stops a broker from booting.
fn tidy(members: &mut Members) {
    sort_last_wins(members, |one, other| one.0.cmp(&other.0));
    members.retain(|member| member.1 != "null");
}

#[cfg(test)]
mod tests;
