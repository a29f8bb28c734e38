//! Printing: the only place that writes to the terminal.

use std::io::Write as _;

use locum::DataVersion;
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

#[cfg(test)]
mod tests {
    use super::*;

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
