//! `locum plugin build`.

use std::path::{Path, PathBuf};

use clap::Args;
use locum::policy::{Description, Engine, Policy};
use locum::telemetry::chain;
use policies::AuthorsComponent;
use serde_json::json;

use super::super::error::{CliError, exit};
use super::super::{Output, OutputArg, output};
use super::described;

pub(super) const AFTER_HELP: &str = "Nothing is needed but cargo and the target wasm32-unknown-unknown (`rustup target add \
wasm32-unknown-unknown`). A component that a host would refuse is not written.";

#[derive(Args)]
pub(super) struct BuildArgs {
    /// The crate's folder
    #[arg(value_name = "PATH", default_value = ".")]
    folder: PathBuf,
    /// Where to leave the component: a file, or a folder that is there, such as a host's plugin folder; the crate's folder
    /// if not given
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArg,
}

pub(super) fn build(args: &BuildArgs) -> Result<exit::Code, CliError> {
    let component = policies::build_crate(&args.folder)?;
    let policy = look(&component)?;
    let path = place(args, &component.name);
    let first = !path.exists();
    let changed = policies::write_if_changed(&path, &component.bytes)?;
    match args.output.output {
        Output::Json => output::print_json(&json!({
            "path": path,
            "bytes": component.bytes.len(),
            "sha256": policy.sha256(),
            "changed": changed,
            "policy": policy.description(),
        }))?,
        Output::Text => {
            output::print(&text(&path, component.bytes.len(), changed, &policy))?;
            if first {
                output::say(&next(&path, policy.description()));
            }
        }
    }
    Ok(exit::OK)
}

/// Takes a component as a host does.
fn look(component: &AuthorsComponent) -> Result<Policy, CliError> {
    let loaded = Engine::new()?.load(component.bytes.as_slice());
    loaded.map_err(|refusal| {
        let name = &component.name;
        let refusal = chain(&refusal);
        CliError::new(
            exit::BAD_DATA,
            format!("{name} was built, and is not written, since a host refuses it: {refusal}"),
        )
    })
}

fn place(args: &BuildArgs, name: &str) -> PathBuf {
    let file = format!("{name}.wasm");
    match &args.out {
        None if args.folder == Path::new(".") => file.into(),
        None => args.folder.join(file),
        Some(out) if out.is_dir() => out.join(file),
        Some(out) => out.clone(),
    }
}

fn text(path: &Path, bytes: usize, changed: bool, policy: &Policy) -> String {
    let same = if changed { "" } else { ", the same as before" };
    format!(
        "{}: {bytes} bytes, {:.8}{same}\n{}",
        path.display(),
        policy.sha256(),
        described(policy.description())
    )
}

/// What an author does with it. A policy that writes tables of several slots fits none; the host says so when it is tried.
fn next(path: &Path, description: &Description) -> String {
    let slot = description
        .writes
        .first()
        .map_or("ROUTINE", |kind| kind.slot.name());
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let required = description
        .settings
        .iter()
        .filter(|setting| setting.required);
    let required: Vec<String> = required
        .map(|setting| format!("{} = \"...\"", setting.name))
        .collect();
    let settings = match required.is_empty() {
        true => String::new(),
        false => format!("\n  settings = {{ {} }}", required.join(", ")),
    };
    format!(
        "\nTo run it from a host's plugin folder, in locum.toml:\n\n  \
         [replica.NAME.routine.{slot}]\n  plugin = \"{file}\"{settings}\n"
    )
}
