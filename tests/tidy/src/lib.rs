//! The rules about the tree are tests, see `tests/`; here is how they look at it.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::path::{Path, PathBuf};

/// The checkout.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Every file below `folder` that a person wrote and whose name `wanted` takes, with its text.
#[must_use]
pub fn texts(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let ours = !["target", "dist", ".git", "fixtures"].contains(&name.as_str());
            if path.is_dir() && ours {
                folders.push(path);
            } else if path.is_file() && wanted(&name) {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "{} has such files", folder.display());
    found
}
