//! Lays out what an author's crate gets as its `sdk/`, so that the library carries it: the interface, the SDK, and the
//! tables that the SDK's bench runs on.
//!
//! A build script, and not a macro over a folder, since a file that is added must be noticed, and since a crate outside
//! this workspace inherits nothing from it: manifests are written out in full here, as `cargo package` does. `Cargo.lock`
//! goes along, cut to what a new crate needs, so that it begins with the versions that this workspace is tested with.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use toml::{Table, Value};

/// Our crates that go along: name, folder in the workspace. They become siblings in `crates/`, from where the SDK's
/// bindings find `../../wit`.
const CRATES: [(&str, &str); 2] = [
    ("locum-sdk", "plugins/sdk"),
    ("locum-tables", "host/tables"),
];

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let workspace = read_toml(&root.join("Cargo.toml"))?;
    let mut files = BTreeMap::new();
    let mut needs = BTreeMap::new();
    for (name, folder) in CRATES {
        let manifest = standalone(
            read_toml(&root.join(folder).join("Cargo.toml"))?,
            &workspace,
        )?;
        needs.insert(name, names(&manifest, "dependencies"));
        files.insert(format!("crates/{name}/Cargo.toml"), in_order(manifest)?);
        carry(
            &root.join(folder).join("src"),
            &format!("crates/{name}/src"),
            &mut files,
        )?;
    }
    carry(&root.join("wit"), "wit", &mut files)?;
    files.insert("LICENSE".to_owned(), read(&root.join("LICENSE"))?);
    let lock = cut(read_toml(&root.join("Cargo.lock"))?, &needs)?;

    let mut code = format!("pub(crate) const LOCK: &str = {lock:?};\n");
    writeln!(
        code,
        "pub(crate) const FILES: [(&str, &str); {}] = [",
        files.len()
    )?;
    for (path, text) in files {
        writeln!(code, "({path:?}, {text:?}),")?;
    }
    code.push_str("];\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("carried.rs"), code)?;
    Ok(())
}

fn read(path: &Path) -> Fallible<String> {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn read_toml(path: &Path) -> Fallible<Table> {
    Ok(read(path)?.parse()?)
}

/// Takes every file below `folder` along.
fn carry(folder: &Path, to: &str, files: &mut BTreeMap<String, String>) -> Fallible<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = format!("{to}/{name}");
        if path.is_dir() {
            carry(&path, &to, files)?;
        } else {
            files.insert(to, read(&path)?);
        }
    }
    Ok(())
}

/// A manifest that inherits nothing. Lints and what only our own tests need stay behind.
fn standalone(mut manifest: Table, workspace: &Table) -> Fallible<Table> {
    let inherited = table(&workspace["workspace"], "package")?;
    manifest.remove("lints");
    manifest.remove("dev-dependencies");
    let package = manifest.get_mut("package").and_then(Value::as_table_mut);
    for (key, value) in package.ok_or("a manifest without a package")? {
        if inherits(value) {
            *value = inherited[key].clone();
        }
    }
    let ours = table(&workspace["workspace"], "dependencies")?;
    let dependencies = manifest
        .get_mut("dependencies")
        .and_then(Value::as_table_mut);
    for (name, value) in dependencies.into_iter().flatten() {
        let mut full = match &ours[name] {
            Value::Table(full) => full.clone(),
            version => Table::from_iter([("version".to_owned(), version.clone())]),
        };
        if full.contains_key("path") {
            full.insert("path".to_owned(), format!("../{name}").into());
        }
        for (key, more) in value.as_table().into_iter().flatten() {
            match (key.as_str(), more.clone(), full.get_mut(key)) {
                ("workspace", ..) => {}
                ("features", Value::Array(more), Some(Value::Array(features))) => {
                    features.extend(more);
                }
                (_, more, _) => drop(full.insert(key.clone(), more)),
            }
        }
        *value = full.into();
    }
    Ok(manifest)
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

fn table<'a>(value: &'a Value, key: &str) -> Fallible<&'a Table> {
    let table = value.get(key).and_then(Value::as_table);
    table.ok_or_else(|| format!("no table `{key}`").into())
}

fn names(manifest: &Table, key: &str) -> Vec<String> {
    let table = manifest.get(key).and_then(Value::as_table);
    table.into_iter().flat_map(Table::keys).cloned().collect()
}

/// A manifest's text, its tables in the order in which people write them.
fn in_order(mut manifest: Table) -> Fallible<String> {
    let mut parts = Vec::new();
    for key in ["package", "features", "dependencies"] {
        if let Some(part) = manifest.remove(key) {
            parts.push(toml::to_string(&Table::from_iter([(
                key.to_owned(),
                part,
            )]))?);
        }
    }
    match manifest.is_empty() {
        true => Ok(parts.join("\n")),
        false => Err(format!("what becomes of {:?}?", manifest.keys().collect::<Vec<_>>()).into()),
    }
}

/// What of `Cargo.lock` our crates need, as the packages of a lock file.
fn cut(lock: Table, needs: &BTreeMap<&str, Vec<String>>) -> Fallible<String> {
    let all: Vec<&Table> = lock["package"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_table)
        .collect();
    // A dependency is `name`, or `name version` where there is more than one.
    let find = |dependency: &str| {
        let (name, version) = dependency.split_once(' ').unwrap_or((dependency, ""));
        let mut found = all.iter().filter(|package| {
            package["name"].as_str() == Some(name)
                && (version.is_empty() || package["version"].as_str() == Some(version))
        });
        found
            .next()
            .copied()
            .ok_or_else(|| format!("{dependency} is not in Cargo.lock"))
    };
    let mut kept: BTreeMap<(String, String), Table> = BTreeMap::new();
    let mut open: Vec<String> = needs.keys().map(ToString::to_string).collect();
    while let Some(next) = open.pop() {
        let mut package = find(&next)?.clone();
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let (name, version) = (text("name"), text("version"));
        if let Some(needed) = needs.get(name.as_str()) {
            // Without what only our own tests need.
            package.insert("dependencies".to_owned(), needed.clone().into());
        }
        let dependencies = package
            .get("dependencies")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let dependencies: Vec<String> = dependencies
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        if kept.insert((name, version), package).is_none() {
            open.extend(dependencies);
        }
    }
    let mut text = String::new();
    for package in kept.into_values() {
        write!(text, "\n[[package]]\n{}", toml::to_string(&package)?)?;
    }
    Ok(text)
}
