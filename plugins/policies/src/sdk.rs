//! What an author's crate is built with, as this library carries it: the crate's `sdk/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, file};

/// `FILES`: path below `sdk/` and text. `LOCK`: the packages that they need, as in `Cargo.lock`.
mod carried {
    include!(concat!(env!("OUT_DIR"), "/carried.rs"));
}

pub(crate) use carried::LOCK;

/// The locum that this belongs to.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How the README of an `sdk/` of ours begins.
pub(crate) const MARK: &str = "# Written by locum";

const README: &str = include_str!("../../template/new/sdk.md");

/// What became of an `sdk/` when it was renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// Files that are new or have another text.
    pub written: usize,
    /// Files that are there no more.
    pub removed: usize,
}

/// Writes the `sdk/` of this locum into the crate in `folder`, in the place of that of another. What is right already is
/// not touched, so that cargo builds nothing anew for it.
///
/// # Errors
/// [`Error::NothingToUpdate`] if there is no crate, [`Error::ForeignSdk`] if `sdk/` is not ours, [`Error::Io`].
pub fn renew_sdk(folder: &Path) -> Result<Renewed, Error> {
    if !folder.join("Cargo.toml").is_file() {
        return Err(Error::NothingToUpdate {
            folder: folder.to_owned(),
        });
    }
    let sdk = folder.join("sdk");
    let readme = fs::read_to_string(sdk.join("README.md"));
    if sdk.exists() && !readme.is_ok_and(|text| text.starts_with(MARK)) {
        return Err(Error::ForeignSdk { folder: sdk });
    }
    write(&sdk)
}

/// Leaves in `sdk` what we carry, and nothing else.
pub(crate) fn write(sdk: &Path) -> Result<Renewed, Error> {
    let mut ours = BTreeSet::new();
    let mut written = 0;
    let readme = README.replace("{version}", VERSION);
    // The README first: an update that is broken off can be repeated.
    for (path, text) in [("README.md", readme.as_str())]
        .iter()
        .chain(&carried::FILES)
    {
        let path = sdk.join(path);
        written += usize::from(file::write_if_changed(&path, text.as_bytes())?);
        ours.insert(path);
    }
    let removed = remove_others(sdk, &ours)?;
    Ok(Renewed { written, removed })
}

/// Removes every file that is not one of `ours`, and the folders that are empty then.
fn remove_others(folder: &Path, ours: &BTreeSet<PathBuf>) -> Result<usize, Error> {
    let mut removed = 0;
    let list = |source| file::io("list", folder, source);
    for entry in fs::read_dir(folder).map_err(list)? {
        let entry = entry.map_err(list)?;
        let path = entry.path();
        if entry.file_type().map_err(list)?.is_dir() {
            removed += remove_others(&path, ours)?;
            if !ours.iter().any(|our| our.starts_with(&path)) {
                fs::remove_dir(&path).map_err(|source| file::io("remove", &path, source))?;
            }
        } else if !ours.contains(&path) {
            fs::remove_file(&path).map_err(|source| file::io("remove", &path, source))?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(path: &str) -> &'static str {
        let found = carried::FILES.iter().find(|(name, _)| *name == path);
        found.unwrap_or_else(|| panic!("{path} is not carried")).1
    }

    #[test]
    fn interface_sdk_and_tables_are_carried() {
        assert!(carried("wit/0.1.0/sync.wit").contains("package locum:sync@0.1.0;"));
        assert!(carried("crates/locum-sdk/src/lib.rs").contains("macro_rules! export"));
        assert!(carried("crates/locum-tables/src/dialect.rs").contains("pub "));
        assert!(carried("LICENSE").contains("Apache License"));
    }

    #[test]
    fn the_interface_is_where_the_bindings_look_for_it() {
        let bindings = carried("crates/locum-sdk/src/bindings.rs");
        assert!(bindings.contains(r#"path: "../../wit/0.1.0""#));
    }

    #[test]
    fn a_manifest_inherits_nothing_and_names_its_neighbours_by_path() {
        for name in ["locum-sdk", "locum-tables"] {
            let text = carried(&format!("crates/{name}/Cargo.toml"));
            let manifest: toml::Table = text.parse().unwrap();
            assert!(!text.contains("workspace"), "{text}");
            assert_eq!(manifest["package"]["name"].as_str(), Some(name));
            assert_eq!(manifest["package"]["version"].as_str(), Some(VERSION));
            assert!(!manifest.contains_key("dev-dependencies"));
        }
        let sdk: toml::Table = carried("crates/locum-sdk/Cargo.toml").parse().unwrap();
        let tables = &sdk["dependencies"]["locum-tables"];
        assert_eq!(tables["path"].as_str(), Some("../locum-tables"));
        assert_eq!(tables["optional"].as_bool(), Some(true));
        assert!(
            sdk["dependencies"]["wit-bindgen"]["version"]
                .as_str()
                .is_some()
        );
    }

    #[test]
    fn the_lock_has_what_the_crates_need_and_nothing_of_the_hosts() {
        let lock: toml::Table = LOCK.parse().unwrap();
        let packages = lock["package"].as_array().unwrap();
        let names: BTreeSet<&str> = packages
            .iter()
            .filter_map(|package| package["name"].as_str())
            .collect();
        for name in [
            "locum-sdk",
            "locum-tables",
            "wit-bindgen",
            "serde_json",
            "syn",
        ] {
            assert!(names.contains(name), "{name}");
        }
        for name in ["wasmtime", "tokio", "proptest", "policies"] {
            assert!(!names.contains(name), "{name}");
        }
    }
}
