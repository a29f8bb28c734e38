//! JSON text as fastjson writes it: compact, null members left out, integer keys bare.

use std::fmt::{Display, Write};

/// A string with quotes and escapes.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object whose keys are text already: quoted by the caller, or integers, which come out bare.
pub(crate) fn object<K: Display, V: Display>(entries: impl IntoIterator<Item = (K, V)>) -> String {
    let mut text = String::from("{");
    for (key, value) in entries {
        if text.len() > 1 {
            text.push(',');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{key}:{value}");
    }
    text.push('}');
    text
}

/// An object whose keys are strings.
pub(crate) fn members<'a, V: Display>(entries: impl IntoIterator<Item = (&'a str, V)>) -> String {
    object(entries.into_iter().map(|(key, value)| (quoted(key), value)))
}

/// An array of strings.
pub(crate) fn strings<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(quoted).collect();
    format!("[{}]", items.join(","))
}
