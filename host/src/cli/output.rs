//! Printing: the only place that writes to the terminal.

use std::io::Write as _;
use std::time::SystemTime;

use locum::status::Time;
use locum::{DataVersion, TableChange};
use serde::Serialize;

use super::error::{CliError, exit};

/// Talk, for people: to standard error.
pub(super) fn say(text: &str) {
    // Nobody may be there to read it.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Data: to standard output. A reader that has gone away, such as `head`, is no error.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Data for scripts.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| CliError::new(exit::INTERNAL, error.to_string()))?;
    print(&format!("{text}\n"))
}

/// As RocketMQ orders them: state version, counter, time.
pub(super) fn version_text(version: DataVersion) -> String {
    format!(
        "{}.{}@{}",
        version.state_version, version.counter, version.timestamp
    )
}

/// Columns of text under a line of heads, two spaces apart, no borders.
pub(super) struct Columns {
    rows: Vec<Vec<String>>,
}

impl Columns {
    pub(super) fn new(heads: &[&str]) -> Self {
        Self {
            rows: vec![heads.iter().map(ToString::to_string).collect()],
        }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl std::fmt::Display for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// Lines below a table: what several have in common is said once.
#[derive(Default)]
pub(super) struct Notes(Vec<(Vec<String>, String)>);

/// So many are named of those that have a note in common; `--output json` has all.
const NAMED: usize = 3;

impl Notes {
    /// Something to know of one replica or slot.
    pub(super) fn note(&mut self, of: &str, text: impl Into<String>) {
        let text = text.into();
        match self.0.iter_mut().find(|(_, known)| *known == text) {
            Some((names, _)) if names.iter().any(|name| name == of) => {}
            Some((names, _)) => names.push(of.to_owned()),
            None => self.0.push((vec![of.to_owned()], text)),
        }
    }
}

impl std::fmt::Display for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lines = self.0.iter();
        lines.try_for_each(|(names, text)| writeln!(f, "{}: {text}", some_of(names)))
    }
}

/// The first few of many names, and how many more there are.
pub(super) fn some_of(names: &[String]) -> String {
    // One more takes no more room than to say so.
    if names.len() <= NAMED + 1 {
        return names.join(", ");
    }
    let more = names.len() - NAMED;
    format!("{} and {more} more", names[..NAMED].join(", "))
}

/// How long ago that was, in its two largest units: "3s", "5m 2s", "2d 4h".
pub(super) fn age_text(time: Time) -> String {
    let seconds = time.age_ms(SystemTime::now()) / 1000;
    let units = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let first = units
        .iter()
        .position(|(unit, _)| seconds >= *unit)
        .unwrap_or(3);
    let mut rest = seconds;
    let parts = units.iter().skip(first).take(2).map(|(unit, name)| {
        let count = rest / unit;
        rest %= unit;
        format!("{count}{name}")
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// So many keys of a kind are printed of each table; `--output json` has all.
const PRINTED: usize = 20;

/// One line for each entry, as `diff` marks them.
pub(super) fn change_lines(change: &TableChange) -> String {
    let marked = |mark: &str, keys: &[String]| -> String {
        let more = keys.len().saturating_sub(PRINTED);
        let printed = keys.iter().take(PRINTED);
        let mut text: String = printed
            .map(|key| format!("{mark} {}/{key}\n", change.table))
            .collect();
        if more > 0 {
            text.push_str(&format!(
                "{mark} {}: {more} more (`--output json` has all)\n",
                change.table
            ));
        }
        text
    };
    let file: &[String] = if change.rewritten {
        &["(the file)".to_owned()]
    } else {
        &[]
    };
    marked("+", &change.added)
        + &marked("~", &change.changed)
        + &marked("-", &change.removed)
        + &marked("~", &change.members)
        + &marked("~", file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_its_two_largest_units() {
        let now = SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        let ago = |seconds: u64| {
            let ms = u64::try_from(now.as_millis()).unwrap() - seconds * 1000;
            age_text(Time(ms))
        };
        assert_eq!(ago(0), "0s");
        assert_eq!(ago(302), "5m 2s");
        assert_eq!(ago(7200), "2h 0m");
        assert_eq!(ago(200_000), "2d 7h");
    }

    #[test]
    fn what_several_have_in_common_is_said_once() {
        let mut notes = Notes::default();
        for of in ["a", "b", "b", "c"] {
            notes.note(of, "it is so");
        }
        notes.note("b", "it is otherwise");
        assert_eq!(notes.to_string(), "a, b, c: it is so\nb: it is otherwise\n");
        for of in ["d", "e"] {
            notes.note(of, "it is so");
        }
        assert!(
            notes
                .to_string()
                .starts_with("a, b, c and 2 more: it is so\n")
        );
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut columns = Columns::new(&["NAME", "N"]);
        columns.row(["a".to_owned(), "10000".to_owned()]);
        columns.row(["broker-a".to_owned(), String::new()]);
        assert_eq!(
            columns.to_string(),
            "NAME      N\na         10000\nbroker-a\n"
        );
    }
}
