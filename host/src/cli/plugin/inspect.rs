//! `locum plugin inspect`.

use std::path::PathBuf;

use clap::Args;
use locum::{ComponentReport, Config, SlotVerdict, inspect_component};

use super::super::error::{CliError, exit};
use super::super::output::{self, Columns};
use super::super::{ConfigArg, Output, OutputArg};
use super::{component, described};

#[derive(Args)]
pub(super) struct InspectArgs {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: OutputArg,
}

pub(super) fn inspect(args: &InspectArgs) -> Result<exit::Code, CliError> {
    let component = component(&args.file)?;
    let config = config(args)?;
    let report = inspect_component(&component, config.as_ref())?;
    match args.output.output {
        Output::Json => output::print_json(&report)?,
        Output::Text => output::print(&text(args, &report))?,
    }
    Ok(match report.refused {
        Some(_) => exit::BAD_DATA,
        None => exit::OK,
    })
}

/// An author has none. One that was named must be there.
fn config(args: &InspectArgs) -> Result<Option<Config>, CliError> {
    match args.config.is_there() {
        true => args.config.read().map(Some),
        false => Ok(None),
    }
}

fn text(args: &InspectArgs, report: &ComponentReport) -> String {
    let ComponentReport {
        sha256,
        bytes,
        imports,
        exports,
        policy,
        refused,
        slots,
    } = report;
    let mut text = format!("{}: {bytes} bytes, {sha256}\n", args.file.display());
    for (what, names) in [("imports", imports), ("exports", exports)] {
        if !names.is_empty() {
            text += &format!("{what} {}\n", names.join(", "));
        }
    }
    text += &policy.as_ref().map(described).unwrap_or_default();
    if let Some(refused) = refused {
        text += &format!("refused in its {}: {}\n", refused.stage, refused.reason);
    }
    if !slots.is_empty() {
        text += &format!("\n{}", verdicts(slots));
    }
    text
}

fn verdicts(slots: &[SlotVerdict]) -> String {
    let mut columns = Columns::new(&["SLOT", "WOULD BE", "BECAUSE"]);
    for slot in slots {
        let replica = slot.replica.as_ref().map(|replica| format!("{replica}/"));
        columns.row([
            format!("{}{}", replica.unwrap_or_default(), slot.routine),
            if slot.fits { "tried" } else { "refused" }.to_owned(),
            slot.reason.clone().unwrap_or_default(),
        ]);
    }
    columns.to_string()
}
