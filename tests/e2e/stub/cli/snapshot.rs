//! What a command prints, made fit for a snapshot.

use std::collections::BTreeMap;

pub(super) use crate::support::expect_snapshot;

use crate::support::Output;

/// A command with all that came of it, the places of this test made nameless.
pub(super) fn told(words: &[&str], output: &Output, places: &[(&str, &str)]) -> String {
    let mut text = format!(
        "$ locum {}\n{}{}",
        words.join(" "),
        output.stdout,
        output.stderr
    );
    for (place, name) in places {
        text = text.replace(place, name);
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n[exit {}]\n\n", lines.join("\n"), output.code)
}

/// The same text wherever and whenever it was printed: hashes are numbered as they come, ages and large numbers have no value.
#[derive(Default)]
pub(super) struct Nameless {
    hashes: BTreeMap<String, String>,
}

impl Nameless {
    pub(super) fn text(&mut self, text: &str) -> String {
        let lines = text.lines().map(|line| self.line(line) + "\n");
        lines.collect()
    }

    /// Columns are as wide as what is in them, so only that there are columns is kept.
    fn line(&mut self, line: &str) -> String {
        let indent = line.len() - line.trim_start().len();
        let columns = line
            .trim_start()
            .split("  ")
            .filter(|column| !column.is_empty());
        let columns = columns.map(|column| {
            let words: Vec<_> = column
                .split_whitespace()
                .map(|word| self.word(word))
                .collect();
            words.join(" ").replace("AGE AGE", "AGE")
        });
        " ".repeat(indent) + &columns.collect::<Vec<_>>().join("  ")
    }

    fn word(&mut self, word: &str) -> String {
        let bare = word.trim_end_matches(',').trim_matches('"');
        let is_age = bare
            .strip_suffix(['s', 'm', 'h', 'd'])
            .is_some_and(is_number);
        let is_decimal = bare
            .split_once('.')
            .is_some_and(|(whole, part)| is_number(whole) && is_number(part));
        let is_time = bare.starts_with("20") && bare.ends_with('Z');
        let called = match (is_age, is_decimal, is_time) {
            (true, ..) => "AGE",
            (_, true, _) => "N",
            (.., true) => "TIME",
            _ => return self.runs(word),
        };
        word.replace(bare, called)
    }

    fn runs(&mut self, word: &str) -> String {
        let mut told = String::new();
        let mut rest = word;
        while !rest.is_empty() {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            let (run, after) = rest.split_at(end.max(1));
            told += &self.run(run);
            rest = after;
        }
        told
    }

    fn run(&mut self, run: &str) -> String {
        let is_hash = [8, 12, 64].contains(&run.len())
            && run.bytes().all(|byte| byte.is_ascii_hexdigit())
            && run.bytes().any(|byte| byte.is_ascii_digit());
        if is_hash {
            let name = format!("hash-{}", self.hashes.len() + 1);
            return self
                .hashes
                .entry(run[..8].to_owned())
                .or_insert(name)
                .clone();
        }
        match is_number(run) && run.len() > 2 {
            true => "N".to_owned(),
            false => run.to_owned(),
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
