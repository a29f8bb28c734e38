//! A table as the text of a broker's file, in a form that every version boots from.

use crate::table::{Entry, Table};

impl Table {
    /// The file: UTF-8 without byte order mark, every key quoted, members in the order of their names as Java has them,
    /// one entry a line in the order of their keys, the version with all three fields or not at all. Two tables that
    /// hold the same texts give the same bytes.
    #[must_use]
    pub fn to_file(&self) -> Vec<u8> {
        let version = self
            .version
            .map(|version| (self.kind.version.disk, version.to_json()));
        let mut names: Vec<&str> = self.members().map(|(name, _)| name).collect();
        names.extend(version.iter().map(|(name, _)| *name));
        names.push(self.kind.entries.disk);
        names.sort_unstable();

        let mut out = String::with_capacity(self.entries.bytes() + 8 * self.len() + 256);
        let mut before = "{\n";
        for name in names {
            out.push_str(before);
            push_string(&mut out, name);
            out.push(':');
            match &version {
                _ if name == self.kind.entries.disk => self.push_entries(&mut out),
                Some((member, text)) if *member == name => out.push_str(text),
                _ => out.push_str(self.member(name).unwrap_or("null")),
            }
            before = ",\n";
        }
        out.push_str("\n}\n");
        out.into_bytes()
    }

    fn push_entries(&self, out: &mut String) {
        let mut before = "{\n";
        for Entry { key, value } in self.entries() {
            out.push_str(before);
            push_string(out, key);
            out.push(':');
            out.push_str(value);
            before = ",\n";
        }
        out.push_str(if self.is_empty() { "{}" } else { "\n}" });
    }
}

/// Appends a JSON string.
fn push_string(out: &mut String, text: &str) {
    if text
        .bytes()
        .any(|byte| matches!(byte, b'"' | b'\\' | ..0x20))
    {
        out.push_str(&serde_json::Value::from(text).to_string());
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}
