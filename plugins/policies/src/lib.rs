//! Builds policies: from crates to components that a host can load; and makes new crates for authors.
//!
//! Cargo compiles each crate for `wasm32-unknown-unknown` with the profile `policy`, and `wit-component` wraps the core
//! module as a component; no other tool is needed, and no WASI import can slip in.
//!
//! [`build`] is for the crates of this workspace: the tool of the same name lays the results out for an operator, and
//! [`all`] gives them to tests. [`build_crate`] is for an author's crate, wherever it is. [`new_crate`] writes one: it needs
//! nothing but the crate registry, since this library carries the interface, the SDK, and the tables that its bench runs on.
//!
//! For this workspace, cargo works in a folder of its own below the target folder, so a test that builds policies never
//! waits for the cargo that runs it. Several processes may build at once: a lock on a file lets one after the other in. A
//! result is only written when it differs, so that a host that watches the folder is not woken for nothing.

mod author;
mod cargo;
mod component;
mod error;
mod file;
mod name;
mod sdk;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use author::{AuthorsComponent, build_crate, new_crate};
pub use component::imports;
pub use error::Error;
pub use file::write_if_changed;
pub use sdk::{Renewed, renew_sdk};

/// The crates of the four routines' own policies.
pub const POLICIES: [&str; 4] = [
    "policy-topic",
    "policy-offset",
    "policy-delay",
    "policy-subgroup",
];

/// The crates of the example policies.
pub const EXAMPLES: [&str; 2] = ["policy-offset-mirror", "policy-topic-filter"];

/// How large a policy of ours may be, in bytes.
pub const MAX_BYTES: u64 = 64 * 1000;

/// What a policy may import: interfaces of this package only.
pub const PACKAGE: &str = "locum:sync/";

/// A component that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Its name, such as `offset-mirror`; the file is named after it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

impl Built {
    /// The component.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        file::read(&self.path)
    }

    /// Its size in bytes, once it is known to keep the rules for policies that we hand out: small, and without any
    /// import outside `locum:sync`.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::ForeignImport`], or what reading it ends with.
    pub fn checked_size(&self) -> Result<u64, Error> {
        let bytes = self.bytes()?;
        component::check(&self.name, &bytes)?;
        Ok(bytes.len() as u64)
    }
}

/// Builds the libraries of packages of this workspace as components.
///
/// # Errors
/// See [`Error`].
pub fn build(packages: &[&str]) -> Result<Vec<Built>, Error> {
    build_targets(packages, &["--lib"])
}

/// Builds the library and the examples of a package of this workspace as components.
///
/// # Errors
/// See [`Error`].
pub fn build_with_examples(package: &str) -> Result<Vec<Built>, Error> {
    build_targets(&[package], &["--lib", "--examples"])
}

fn build_targets(packages: &[&str], targets: &[&str]) -> Result<Vec<Built>, Error> {
    let root = cargo::root();
    let folder = cargo::target_folder();
    let _alone = file::lock(&folder)?;
    let work = cargo::Work {
        at: &root,
        target_folder: Some(&folder),
        packages,
        targets,
        config: &[],
    };
    let built = work.build()?.into_iter().map(|module| {
        let name = module.name;
        let component = component::encode(&name, &file::read(&module.file)?)?;
        let path = folder.join("components").join(&name).with_extension("wasm");
        write_if_changed(&path, &component)?;
        Ok(Built { name, path })
    });
    built.collect()
}

/// Components by name, for tests.
#[derive(Debug, Clone)]
pub struct Components(BTreeMap<String, Built>);

impl Components {
    /// Components that were built.
    #[must_use]
    pub fn new(built: Vec<Built>) -> Self {
        Self(
            built
                .into_iter()
                .map(|built| (built.name.clone(), built))
                .collect(),
        )
    }

    /// Where a component is.
    ///
    /// # Panics
    /// If there is none of that name.
    #[must_use]
    pub fn path(&self, name: &str) -> &Path {
        match self.0.get(name) {
            Some(built) => &built.path,
            None => panic!(
                "no component `{name}`; there are {:?}",
                self.names().collect::<Vec<_>>()
            ),
        }
    }

    /// A component.
    ///
    /// # Panics
    /// If there is none of that name, or if it cannot be read.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("component `{name}`: {error}"))
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The policies and examples, for tests: built once in a process, by the first who asks.
///
/// # Panics
/// If they cannot be built.
#[must_use]
pub fn all() -> &'static Components {
    static ALL: OnceLock<Components> = OnceLock::new();
    ALL.get_or_init(|| match build(&[&POLICIES[..], &EXAMPLES[..]].concat()) {
        Ok(built) => Components::new(built),
        Err(error) => panic!("{error}"),
    })
}
