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

/// The workspace's root.
fn root() -> PathBuf {
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

/// Builds packages; the name and the core module of each.
pub(crate) fn build(
    folder: &Path,
    packages: &[&str],
    targets: &[&str],
) -> Result<Vec<(String, PathBuf)>, Error> {
    check_target()?;
    let mut cargo = command("CARGO", "cargo");
    cargo
        .args([
            "build",
            "--profile",
            "policy",
            "--target",
            TARGET,
            "--target-dir",
        ])
        .arg(folder)
        .arg("--message-format=json-render-diagnostics")
        .args(targets)
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .stderr(Stdio::inherit());
    let (status, messages) = output(&mut cargo)?;
    if !status.success() {
        return Err(Error::Cargo {
            packages: packages.join(", "),
            status,
        });
    }
    Ok(messages.lines().filter_map(module).collect())
}

/// The core module that a message of cargo tells of, with its name.
fn module(message: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let name = message["target"]["name"].as_str()?.replace('_', "-");
    let files = message["filenames"].as_array()?;
    let module = files
        .iter()
        .filter_map(Value::as_str)
        .find(|file| file.ends_with(".wasm"))?;
    Some((name, PathBuf::from(module)))
}

/// Asks early whether the target is installed: cargo's own text for it is a page of missing `core`.
fn check_target() -> Result<(), Error> {
    let mut rustc = command("RUSTC", "rustc");
    let (_, library) = output(rustc.args(["--print", "target-libdir", "--target", TARGET]))?;
    match Path::new(library.trim()).is_dir() {
        true => Ok(()),
        false => Err(Error::TargetMissing),
    }
}

/// A tool at the workspace's root, where `rust-toolchain.toml` picks its version.
fn command(variable: &str, default: &str) -> Command {
    let mut command =
        Command::new(env::var_os(variable).unwrap_or_else(|| OsString::from(default)));
    command.current_dir(root());
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
        Err(source) => {
            let path = PathBuf::from(command.get_program());
            Err(Error::Io {
                action: "run",
                path,
                source,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_that_tells_of_a_module_counts() {
        let built = r#"{"reason":"compiler-artifact","target":{"name":"offset_mirror"},
            "filenames":["/t/liboffset_mirror.rlib","/t/offset_mirror.wasm"]}"#;
        let expected = (
            "offset-mirror".to_owned(),
            PathBuf::from("/t/offset_mirror.wasm"),
        );
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
