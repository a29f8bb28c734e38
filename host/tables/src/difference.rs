//! What would change from one table to another.

use crate::sorted::join;
use crate::structure;
use crate::table::{Entry, Table};
use crate::version::DataVersion;

/// What differs between a table and the one before it. Keys and names are in the order of their bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// There was no table before. That is not the empty table: even an empty one is then something new.
    pub first: bool,
    /// Keys that only the new table has.
    pub added: Vec<String>,
    /// Keys that only the old table has.
    pub removed: Vec<String>,
    /// Keys whose values differ; white space and the order of members inside a value do not count.
    pub changed: Vec<String>,
    /// Old and new version, when they differ; two unknown ones do not.
    pub version: Option<(Option<DataVersion>, Option<DataVersion>)>,
    /// Names of other members that came, went or differ.
    pub members: Vec<String>,
}

impl Difference {
    /// Whether nothing differs. Never so for a first table.
    #[must_use]
    pub fn is_same(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares a table with the one before it, if there was one. The two must be of one kind.
#[must_use]
pub fn difference(old: Option<&Table>, new: &Table) -> Difference {
    let mut difference = Difference {
        first: old.is_none(),
        ..Difference::default()
    };
    let nothing = Table::empty(new.kind());
    let old = old.unwrap_or(&nothing);
    if old.version() != new.version() {
        difference.version = Some((old.version(), new.version()));
    }
    difference.members = join(old.members(), new.members())
        .filter(|(_, old, new)| !same(*old, *new))
        .map(|(name, ..)| name.to_owned())
        .collect();
    if !old.shares_entries(new) {
        difference.compare_entries(old, new);
    }
    difference
}

impl Difference {
    fn compare_entries(&mut self, old: &Table, new: &Table) {
        let pair = |Entry { key, value }| (key, value);
        for (key, old, new) in join(old.entries().map(pair), new.entries().map(pair)) {
            let keys = match (old, new) {
                (None, _) => &mut self.added,
                (_, None) => &mut self.removed,
                _ if same(old, new) => continue,
                _ => &mut self.changed,
            };
            keys.push(key.to_owned());
        }
    }
}

fn same(old: Option<&str>, new: Option<&str>) -> bool {
    old.zip(new)
        .is_some_and(|(old, new)| structure::same(old, new))
}

#[cfg(test)]
mod tests;
