//! Builds policies: from crates of this workspace to components that a host can load.
//!
//! Cargo compiles each crate for `wasm32-unknown-unknown` with the profile `policy`, and `wit-component` wraps the core
//! module as a component; no other tool is needed, and no WASI import can slip in. The tool of the same name lays the
//! results out for an operator; [`all`] gives them to tests.
//!
//! Cargo works in a folder of its own below the target folder, so a test that builds policies never waits for the cargo
//! that runs it. Several processes may build at once: a lock on a file lets one after the other in. A result is only
//! written when it differs, so that a host that watches the folder is not woken for nothing.

mod cargo;
mod component;
mod file;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::OnceLock;

pub use component::imports;
pub use file::write_if_changed;

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

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Rust's library for the target is not installed.
    #[error("the target {target} is not installed: run `rustup target add {target}`", target = cargo::TARGET)]
    TargetMissing,
    /// Cargo failed; it has said why on standard error.
    #[error("cargo could not build {packages}: {status}")]
    Cargo {
        /// What was to be built.
        packages: String,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// A file or program of this machine failed us.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// With which file or program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The module that cargo built is no policy, for example because it exports none.
    #[error("cannot make a component of {name}")]
    Encode {
        /// The policy's name.
        name: String,
        /// What the encoder said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A component is larger than [`MAX_BYTES`].
    #[error("{name} has {bytes} bytes, over the limit of {}", MAX_BYTES)]
    TooLarge {
        /// The policy's name.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// A component imports something outside [`PACKAGE`].
    #[error("{name} imports {import}, and only {}* is allowed", PACKAGE)]
    ForeignImport {
        /// The policy's name.
        name: String,
        /// What it imports.
        import: String,
    },
}

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
    let folder = cargo::target_folder();
    let _alone = file::lock(&folder)?;
    let modules = cargo::build(&folder, packages, targets)?;
    let built = modules.into_iter().map(|(name, module)| {
        let component = component::encode(&name, &file::read(&module)?)?;
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
