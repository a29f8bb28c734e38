//! Cargo, run for the target of policies.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::Error;

/// The target of policies: nothing of an operating system in it.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// What the caller's own build sets and a policy's must not see: its flags (coverage, denied warnings) would make other
/// components, or none.
const NOT_OURS: [&str; 5] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
];

/// This workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .skip(2)
        .take(1)
        .collect()
}

/// Where cargo works for us, and where components are left: below the target folder that the caller's cargo uses.
pub(crate) fn target_folder() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    root().join(target).join("policies")
}

/// What cargo is to build.
pub(crate) struct Work<'a> {
    /// Where it runs: there `rust-toolchain.toml` picks its version.
    pub(crate) at: &'a Path,
    /// Where it works; the crate's own target folder if not given.
    pub(crate) target_folder: Option<&'a Path>,
    pub(crate) packages: &'a [&'a str],
    /// Which targets of the packages, in cargo's words.
    pub(crate) targets: &'a [&'a str],
    /// What its `--config` is told.
    pub(crate) config: &'a [String],
}

/// A core module that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// The target's name, such as `offset-mirror`.
    pub(crate) name: String,
    /// The manifest of its package, as cargo names it.
    pub(crate) manifest: String,
    pub(crate) file: PathBuf,
}

impl Work<'_> {
    pub(crate) fn build(&self) -> Result<Vec<Module>, Error> {
        check_target(self.at)?;
        let mut cargo = command(self.at, "CARGO", "cargo");
        cargo
            .args(["build", "--profile", "policy", "--target", TARGET])
            .arg("--message-format=json-render-diagnostics")
            .args(self.config.iter().flat_map(|word| ["--config", word]))
            .args(self.targets)
            .args(self.packages.iter().flat_map(|name| ["--package", name]))
            .stderr(Stdio::inherit());
        if let Some(folder) = self.target_folder {
            cargo.arg("--target-dir").arg(folder);
        }
        let (status, messages) = output(&mut cargo)?;
        match status.success() {
            true => Ok(messages.lines().filter_map(module).collect()),
            false => Err(Error::Cargo {
                packages: self.packages.join(", "),
                status,
            }),
        }
    }
}

/// What cargo says of the workspace or crate in a folder.
pub(crate) fn metadata(at: &Path) -> Result<Value, Error> {
    let mut cargo = command(at, "CARGO", "cargo");
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let (status, said) = output(cargo.stderr(Stdio::inherit()))?;
    match status.success() {
        // What is not understood reads as null, and null has nothing in it.
        true => Ok(serde_json::from_str(&said).unwrap_or_default()),
        false => Err(Error::Cargo {
            packages: at.display().to_string(),
            status,
        }),
    }
}

/// The core module that a message of cargo tells of.
fn module(message: &str) -> Option<Module> {
    let message: Value = serde_json::from_str(message).ok()?;
    let files = message["filenames"].as_array()?;
    let file = files
        .iter()
        .filter_map(Value::as_str)
        .find(|file| file.ends_with(".wasm"))?;
    Some(Module {
        name: message["target"]["name"].as_str()?.replace('_', "-"),
        manifest: message["manifest_path"].as_str()?.to_owned(),
        file: PathBuf::from(file),
    })
}

/// Asks early whether the target is installed: cargo's own text for it is a page of missing `core`.
fn check_target(at: &Path) -> Result<(), Error> {
    let mut rustc = command(at, "RUSTC", "rustc");
    let (_, library) = output(rustc.args(["--print", "target-libdir", "--target", TARGET]))?;
    match Path::new(library.trim()).is_dir() {
        true => Ok(()),
        false => Err(Error::TargetMissing {
            folder: at.to_owned(),
        }),
    }
}

fn command(at: &Path, variable: &str, default: &str) -> Command {
    let mut command =
        Command::new(env::var_os(variable).unwrap_or_else(|| OsString::from(default)));
    command.current_dir(at);
    for variable in NOT_OURS {
        command.env_remove(variable);
    }
    command
}

fn output(command: &mut Command) -> Result<(ExitStatus, String), Error> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    match command.spawn().and_then(Child::wait_with_output) {
        Ok(output) => Ok((
            output.status,
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )),
        Err(source) => Err(Error::NoTool {
            tool: PathBuf::from(command.get_program()),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_that_tells_of_a_module_counts() {
        let built = r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","target":{"name":"offset_mirror"},
            "filenames":["/t/liboffset_mirror.rlib","/t/offset_mirror.wasm"]}"#;
        let expected = Module {
            name: "offset-mirror".to_owned(),
            manifest: "/p/Cargo.toml".to_owned(),
            file: PathBuf::from("/t/offset_mirror.wasm"),
        };
        assert_eq!(module(built), Some(expected));
        assert_eq!(
            module(r#"{"target":{"name":"locum_sdk"},"filenames":["/t/liblocum_sdk.rlib"]}"#),
            None
        );
        assert_eq!(
            module(r#"{"reason":"build-finished","success":true}"#),
            None
        );
        assert_eq!(module("warning: not JSON"), None);
    }
}
