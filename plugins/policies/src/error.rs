//! What can go wrong, each with what to do about it.

use std::path::PathBuf;
use std::process::ExitStatus;

use crate::{MAX_BYTES, PACKAGE, cargo};

/// Why there is no component, or no crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Rust's library for the target is not installed.
    #[error(
        "the target {target} is not installed: run `rustup target add {target}` in {}",
        folder.display(),
        target = cargo::TARGET
    )]
    TargetMissing {
        /// Where cargo would run, and so for which toolchain.
        folder: PathBuf,
    },
    /// A tool of Rust's cannot be run at all.
    #[error("cannot run `{tool}`; https://rustup.rs installs it")]
    NoTool {
        /// The program.
        tool: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Cargo failed; it has said why on standard error.
    #[error("cargo could not build {packages}: {status}")]
    Cargo {
        /// What was to be built.
        packages: String,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// A file of this machine failed us.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder that was to be built holds no crate.
    #[error(
        "there is no Cargo.toml in {}; name the folder of a policy's crate, or make one: `locum plugin new NAME`",
        folder.display()
    )]
    NoCrate {
        /// The folder.
        folder: PathBuf,
    },
    /// A crate without a library that can become a component, such as a program or a whole workspace.
    #[error(
        "{} is no policy's crate: it needs a `src/lib.rs`, and `[lib]` with `crate-type = [\"cdylib\", \"rlib\"]` in its \
         Cargo.toml; `locum plugin new NAME` makes one that has them",
        folder.display()
    )]
    NoLibrary {
        /// The folder.
        folder: PathBuf,
    },
    /// The module that cargo built is no policy, for example because something in it asks for a function that no host gives.
    #[error(
        "cannot make a component of {name}; a policy and all that it depends on must do without an operating system and \
         without JavaScript"
    )]
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
    /// No crate can have this name.
    #[error("`{name}` cannot be a policy's name: {why}; `{instead}` would do")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
        /// A name that would do.
        instead: String,
    },
    /// A new crate would be where something is already.
    #[error(
        "{} is there already; choose another name, or renew the SDK of a crate that is there with `--update-sdk`",
        folder.display()
    )]
    Exists {
        /// The folder.
        folder: PathBuf,
    },
    /// The SDK was to be renewed where there is no crate.
    #[error(
        "there is no Cargo.toml in {}; without `--update-sdk` a new crate is made there",
        folder.display()
    )]
    NothingToUpdate {
        /// The folder.
        folder: PathBuf,
    },
    /// An `sdk/` that somebody else wrote.
    #[error(
        "{} is not what `locum plugin new` writes (its README.md does not begin with \"{}\"); move it away first",
        folder.display(),
        crate::sdk::MARK
    )]
    ForeignSdk {
        /// The folder.
        folder: PathBuf,
    },
}
