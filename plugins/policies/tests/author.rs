//! Crates for authors, as far as no compiler is needed; `locum plugin` is tested with one in `tests/e2e/stub/cli/author.rs`.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use policies::{Error, Renewed, build_crate, new_crate, renew_sdk};
use tempfile::TempDir;

fn manifest(path: &Path) -> toml::Table {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

/// A crate that an author wrote without us.
fn other_crate(folder: &Path, more: &str) {
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    let text = format!("[package]\nname = \"other\"\nversion = \"0.1.0\"\n{more}[workspace]\n");
    fs::write(folder.join("Cargo.toml"), text).unwrap();
}

#[test]
fn a_new_crate_is_named_by_its_folder_and_asks_for_nothing_outside_of_it() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("policies/my-filter");
    new_crate(&folder).unwrap();
    let told = manifest(&folder.join("Cargo.toml"));
    assert_eq!(told["package"]["name"].as_str(), Some("my-filter"));
    for section in ["dependencies", "dev-dependencies"] {
        let dependencies = told[section].as_table().unwrap();
        assert_eq!(dependencies.keys().collect::<Vec<_>>(), ["locum-sdk"]);
        let path = dependencies["locum-sdk"]["path"].as_str().unwrap();
        assert!(folder.join(path).join("Cargo.toml").is_file(), "{path}");
    }
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(readme.starts_with("# my-filter\n"), "{readme}");
    assert!(
        !readme.contains("{name}") && !readme.contains("{version}"),
        "{readme}"
    );
}

#[test]
fn policies_are_built_in_a_new_crate_as_they_are_here() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("p");
    new_crate(&folder).unwrap();
    let here = manifest(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"));
    let there = manifest(&folder.join("Cargo.toml"));
    assert_eq!(there["profile"]["policy"], here["profile"]["policy"]);
    assert_eq!(
        there["package"]["edition"],
        here["workspace"]["package"]["edition"]
    );
}

#[test]
fn what_is_there_already_is_not_touched() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("mine");
    fs::create_dir(&folder).unwrap();
    assert!(matches!(new_crate(&folder), Err(Error::Exists { .. })));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert!(matches!(
        new_crate(&root.path().join("Mine")),
        Err(Error::Name { .. })
    ));
    assert!(!root.path().join("Mine").exists());
}

#[test]
fn nothing_is_left_of_a_crate_that_cannot_be_made() {
    let root = TempDir::new().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let told = new_crate(&file.join("mine")).unwrap_err();
    assert!(
        matches!(
            told,
            Error::Io {
                action: "create",
                ..
            }
        ),
        "{told:?}"
    );
}

#[test]
fn renewing_changes_the_sdk_and_nothing_else() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("mine");
    new_crate(&folder).unwrap();
    let nothing = Renewed {
        written: 0,
        removed: 0,
    };
    assert_eq!(renew_sdk(&folder).unwrap(), nothing, "it is of this locum");

    let sdk = folder.join("sdk");
    fs::write(folder.join("src/lib.rs"), "// the author's").unwrap();
    fs::write(sdk.join("README.md"), "# Written by locum 0.0.9\n").unwrap();
    fs::write(sdk.join("crates/locum-sdk/src/lib.rs"), "// of old").unwrap();
    fs::remove_dir_all(sdk.join("wit")).unwrap();
    fs::create_dir_all(sdk.join("crates/gone/src")).unwrap();
    fs::write(sdk.join("crates/gone/src/lib.rs"), "").unwrap();
    let renewed = renew_sdk(&folder).unwrap();
    assert_eq!((renewed.written, renewed.removed), (4, 1));
    assert!(!sdk.join("crates/gone").exists());
    assert_eq!(renew_sdk(&folder).unwrap(), nothing);
    assert_eq!(
        fs::read_to_string(folder.join("src/lib.rs")).unwrap(),
        "// the author's"
    );
}

#[test]
fn an_sdk_of_somebody_else_and_a_folder_without_a_crate_are_left_alone() {
    let root = TempDir::new().unwrap();
    let told = renew_sdk(root.path());
    assert!(
        matches!(told, Err(Error::NothingToUpdate { .. })),
        "{told:?}"
    );
    other_crate(root.path(), "");
    fs::create_dir(root.path().join("sdk")).unwrap();
    fs::write(root.path().join("sdk/README.md"), "# My own").unwrap();
    let told = renew_sdk(root.path());
    assert!(matches!(told, Err(Error::ForeignSdk { .. })), "{told:?}");
    assert_eq!(fs::read_dir(root.path().join("sdk")).unwrap().count(), 1);
}

#[test]
fn only_a_crate_with_a_library_for_components_is_built() {
    let root = TempDir::new().unwrap();
    let told = build_crate(root.path());
    assert!(matches!(told, Err(Error::NoCrate { .. })), "{told:?}");
    other_crate(root.path(), "");
    let told = build_crate(root.path());
    assert!(matches!(told, Err(Error::NoLibrary { .. })), "{told:?}");
    fs::write(root.path().join("Cargo.toml"), "[workspace]\n").unwrap();
    let told = build_crate(root.path());
    assert!(matches!(told, Err(Error::NoLibrary { .. })), "{told:?}");
    fs::write(root.path().join("Cargo.toml"), "[package\n").unwrap();
    let told = build_crate(root.path());
    assert!(matches!(told, Err(Error::Cargo { .. })), "{told:?}");
}
