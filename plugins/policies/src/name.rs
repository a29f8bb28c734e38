//! What a new policy may be called: its crate, and its component's file.

use crate::Error;

/// How long a name may be, in bytes: as long as the crate registry lets one be.
const LONGEST: usize = 64;

/// Words of Rust's own, which no crate can have as its name.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Crates that a policy's crate builds with.
const TAKEN: [&str; 8] = [
    "alloc",
    "core",
    "locum-sdk",
    "locum-tables",
    "proc-macro",
    "std",
    "test",
    "wit-bindgen",
];

/// Takes a name that cargo takes for a crate, and that is a file's name anywhere.
pub(crate) fn check(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
    if !begins || !name.chars().all(plain) {
        let why = "it must have lower-case letters, digits and `-` only, and begin with a letter";
        return Err(no_name(name, why, spelt(name)));
    }
    if name.len() > LONGEST {
        let short = name.get(..LONGEST).unwrap_or_default();
        return Err(no_name(name, "it has over 64 characters", short.to_owned()));
    }
    if KEYWORDS.contains(&name) || TAKEN.contains(&name) {
        let why = "Rust or the SDK has it already";
        return Err(no_name(name, why, format!("{name}-policy")));
    }
    Ok(())
}

fn no_name(name: &str, why: &'static str, instead: String) -> Error {
    Error::Name {
        name: name.to_owned(),
        why,
        instead,
    }
}

/// The nearest that can be made of a name.
fn spelt(name: &str) -> String {
    let mut spelt = String::new();
    for c in name.chars().map(|c| c.to_ascii_lowercase()) {
        match c {
            'a'..='z' | '0'..='9' => spelt.push(c),
            _ if spelt.is_empty() || spelt.ends_with('-') => {}
            _ => spelt.push('-'),
        }
    }
    let spelt = spelt.trim_end_matches('-');
    match spelt.chars().next() {
        Some('a'..='z') => spelt.to_owned(),
        Some(_) => format!("policy-{spelt}"),
        None => "my-policy".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cargo_takes() {
        for name in ["t", "my-filter", "offset-forward-2", "matches"] {
            assert!(check(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn other_names_are_refused_with_one_that_would_do() {
        for (name, expected) in [
            ("My_Filter", "my-filter"),
            ("my filter!", "my-filter"),
            ("2nd", "policy-2nd"),
            ("", "my-policy"),
            ("größe", "gr-e"),
            ("-x", "x"),
            ("match", "match-policy"),
            ("locum-sdk", "locum-sdk-policy"),
            ("test", "test-policy"),
            (&"a".repeat(65), &"a".repeat(64)),
        ] {
            let Err(Error::Name { instead, .. }) = check(name) else {
                panic!("`{name}` is taken");
            };
            assert_eq!(instead, expected, "{name}");
            assert!(check(&instead).is_ok(), "{instead}");
        }
    }
}
