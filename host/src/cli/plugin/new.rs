//! `locum plugin new`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::super::error::{CliError, exit};
use super::super::{Output, OutputArg, output};
use super::this_program;

pub(super) const AFTER_HELP: &str = "Then: `cargo test` and `locum plugin build` in the new folder. The crate is one for cargo \
like any other; its `sdk/` holds the interface and the SDK of this locum, and is best kept in version control with it.";

#[derive(Args)]
pub(super) struct NewArgs {
    /// What the policy is called: lower-case letters, digits and `-`; or a path that ends so
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// Change nothing but the `sdk/` of the crate that is there, to the one of this locum
    #[arg(long)]
    update_sdk: bool,
    #[command(flatten)]
    output: OutputArg,
}

/// What a script is told.
#[derive(Serialize)]
struct Told<'a> {
    path: &'a Path,
    /// The SDK's version.
    sdk: &'static str,
    /// What became of `sdk/`, if that alone was changed.
    #[serde(flatten)]
    renewed: Option<Renewed>,
}

#[derive(Serialize)]
struct Renewed {
    written: usize,
    removed: usize,
}

pub(super) fn new(args: &NewArgs) -> Result<exit::Code, CliError> {
    let folder = &args.folder;
    let renewed = match args.update_sdk {
        true => Some(policies::renew_sdk(folder)?),
        false => policies::new_crate(folder).map(|()| None)?,
    };
    if args.output.output == Output::Json {
        output::print_json(&Told {
            path: folder,
            sdk: env!("CARGO_PKG_VERSION"),
            renewed: renewed
                .map(|policies::Renewed { written, removed }| Renewed { written, removed }),
        })?;
        return Ok(exit::OK);
    }
    output::print(&match renewed {
        None => made(folder),
        Some(renewed) => updated(folder, renewed),
    })?;
    Ok(exit::OK)
}

fn made(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "{folder}: a policy for the table `topics`, with one setting and its tests\n\n\
         Next:\n  \
         cd {folder}\n  \
         cargo test\n  \
         {} plugin build\n\n\
         The policy is in src/lib.rs, its tests are in src/tests.rs. `cargo doc -p locum-sdk --open` tells what else there is.\n",
        this_program()
    )
}

fn updated(folder: &Path, renewed: policies::Renewed) -> String {
    let sdk = folder.join("sdk");
    let (sdk, version) = (sdk.display(), env!("CARGO_PKG_VERSION"));
    match renewed {
        policies::Renewed {
            written: 0,
            removed: 0,
        } => format!("{sdk} is that of locum {version} already\n"),
        policies::Renewed { written, removed } => format!(
            "{sdk} is that of locum {version} now: {written} file(s) written, {removed} removed\n\n\
             Next: `cargo test` there; wit/CHANGELOG.md in it tells what is new in the interface.\n"
        ),
    }
}
