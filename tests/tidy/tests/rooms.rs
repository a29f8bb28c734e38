//! Who may know whom: `docs/architecture.md` as a test.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::collections::{BTreeMap, BTreeSet};

use tidy::{root, texts};

/// Every Rust source below `folder` of the checkout, as path relative to it and text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let folder = root().join(folder);
    texts(&folder, |name| name.ends_with(".rs"))
        .into_iter()
        .map(|(path, text)| {
            let path = path.strip_prefix(&folder).unwrap();
            (path.to_string_lossy().into_owned(), text)
        })
        .collect()
}

/// The room of a file of the host: its first folder, or its name.
fn room(path: &str) -> &str {
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The code of a file, without its comments and its unit tests.
fn code(text: &str) -> String {
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap();
    product
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Rooms of the library, from the top down; those of one line are siblings and do not know each other.
const LEVELS: [&[&str]; 6] = [
    &["admin"],
    &["check"],
    &["host"],
    &["replica"],
    &["master", "policy", "swap", "store", "schedule"],
    &["config", "status", "telemetry", "events", "clock", "hash"],
];

/// Plain rooms of the lowest level may know these of their siblings.
const PLAIN: [(&str, &str); 3] = [
    ("status", "config"),
    ("events", "config"),
    ("events", "status"),
];

#[test]
fn the_host_knows_in_one_direction() {
    let levels: BTreeMap<&str, usize> = LEVELS
        .iter()
        .enumerate()
        .flat_map(|(level, rooms)| rooms.iter().map(move |room| (*room, level)))
        .collect();
    let mut wrong = Vec::new();
    for (path, text) in sources("host/src") {
        let here = room(&path);
        if ["lib", "main", "cli"].contains(&here)
            || path.ends_with("tests.rs")
            || path.contains("/tests/")
        {
            continue;
        }
        let level = *levels
            .get(here)
            .unwrap_or_else(|| panic!("{path}: a room that docs/architecture.md does not have"));
        let code = code(&text);
        for there in levels
            .keys()
            .filter(|there| **there != here && code.contains(&format!("crate::{there}::")))
        {
            if levels[there] <= level && !PLAIN.contains(&(here, there)) {
                wrong.push(format!("{path} knows {there}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_command_line_uses_the_library_from_outside() {
    for (path, text) in sources("host/src/cli") {
        let code = code(&text);
        let inside = code.lines().find(|line| line.contains("crate::"));
        assert_eq!(
            inside, None,
            "cli/{path}: the binary uses the public interface"
        );
    }
}

#[test]
fn what_only_one_room_may_name() {
    let only = [
        ("notify::", "swap"),
        ("wasmtime::", "policy"),
        ("stub_master::", "cli"),
        ("policies::", "cli"),
        ("axum::", "admin"),
        ("hyper::", "admin"),
    ];
    for (path, text) in sources("host/src") {
        let code = code(&text);
        for (name, owner) in only {
            let named = code.match_indices(name).any(|(at, _)| {
                // Not the end of another word, nor a path in our own crate.
                !code[..at].ends_with(|before: char| {
                    before.is_alphanumeric() || before == '_' || before == ':'
                })
            });
            assert!(
                !named || room(&path) == owner,
                "{path} names {name}, which only {owner}/ may"
            );
        }
    }
}

/// What each crate may depend on of our own, in the product.
#[test]
fn crates_depend_in_one_direction() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        (
            "host",
            &["locum-remoting", "locum-tables", "policies", "stub-master"][..],
        ),
        ("host/remoting", &[]),
        ("host/tables", &[]),
        ("plugins/sdk", &["locum-tables"]),
        ("plugins/policies", &[]),
        ("plugins/template", &["locum-sdk"]),
        ("plugins/topic", &["locum-sdk"]),
        ("plugins/offset", &["locum-sdk"]),
        ("plugins/delay", &["locum-sdk"]),
        ("plugins/subgroup", &["locum-sdk"]),
        ("plugins/examples/offset-mirror", &["locum-sdk"]),
        ("plugins/examples/topic-filter", &["locum-sdk"]),
        ("tests/stub-master", &["locum-remoting"]),
    ]);
    let workspace = manifest("Cargo.toml");
    let ours: BTreeSet<&str> = workspace["workspace"]["dependencies"]
        .as_table()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.get("path").is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    for (folder, allowed) in allowed {
        let manifest = manifest(&format!("{folder}/Cargo.toml"));
        let dependencies = manifest
            .get("dependencies")
            .and_then(toml::Value::as_table)
            .cloned()
            .unwrap_or_default();
        for name in dependencies
            .keys()
            .filter(|name| ours.contains(name.as_str()))
        {
            assert!(
                allowed.contains(&name.as_str()),
                "{folder} depends on {name}"
            );
        }
    }
}

fn manifest(path: &str) -> toml::Value {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    toml::Value::Table(text.parse().unwrap())
}
