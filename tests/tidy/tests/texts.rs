//! Rules about the texts of the tree.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::path::PathBuf;

use tidy::{root, texts};

/// Every text that a person wrote.
fn all() -> Vec<(PathBuf, String)> {
    let ends = [
        ".rs", ".md", ".toml", ".wit", ".sh", ".java", "Makefile", "run",
    ];
    texts(&root(), |name| ends.iter().any(|end| name.ends_with(end)))
}

#[test]
fn nothing_is_left_to_do_and_no_path_of_a_machine_is_named() {
    // Put together, so that this file does not find itself.
    let banned = [
        ["to", "do!("].concat(),
        ["db", "g!("].concat(),
        ["FIX", "ME"].concat(),
        ["/ro", "ot/"].concat(),
        ["/wo", "rk/"].concat(),
    ];
    for (path, text) in all() {
        for (number, line) in text.lines().enumerate() {
            for word in &banned {
                assert!(
                    !line.contains(word.as_str()),
                    "{}:{}: `{word}`",
                    path.display(),
                    number + 1
                );
            }
        }
    }
}

#[test]
fn files_stay_small_enough_to_read() {
    for (path, text) in all()
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|end| end == "rs"))
    {
        let lines = text.lines().count();
        assert!(
            lines <= 700,
            "{} has {lines} lines: split it",
            path.display()
        );
    }
}

#[test]
fn every_version_of_the_interface_has_a_folder_and_a_line_in_the_changelog() {
    let changelog = std::fs::read_to_string(root().join("wit/CHANGELOG.md")).unwrap();
    let mut versions = 0;
    for entry in std::fs::read_dir(root().join("wit"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        let version = entry.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.join("sync.wit")).unwrap();
        assert!(
            text.contains(&format!("package locum:sync@{version};")),
            "{} is of another version",
            entry.display()
        );
        assert!(
            changelog.contains(&format!("## {version}")),
            "wit/CHANGELOG.md does not tell of {version}"
        );
        versions += 1;
    }
    assert!(versions > 0);
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    for (path, text) in all()
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|end| end == "md"))
    {
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = target.split('#').next().unwrap();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            assert!(
                path.parent().unwrap().join(file).exists(),
                "{}: {target} leads nowhere",
                path.display()
            );
        }
    }
}
