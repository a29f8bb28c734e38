//! `locum plugin inspect`.

use std::path::PathBuf;

use clap::Args;
use locum::{ComponentReport, Config, Slot, SlotOutcome, SlotVerdict, inspect_component};

use super::super::error::{CliError, exit};
use super::super::output::{self, Columns, some_of};
use super::super::{ConfigArg, Output, OutputArg};
use super::{component, described};

pub(super) const AFTER_HELP: &str = "With a configuration, each slot is looked at with its own settings. Exit code 65: it is no policy.";

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
    for (what, names) in [("exports", exports), ("imports", imports)] {
        if !names.is_empty() {
            text += &format!("{what} {}\n", names.join(", "));
        }
    }
    text += &policy.as_ref().map(described).unwrap_or_default();
    if let Some(refused) = refused {
        text += &format!("refused in {}: {}\n", refused.stage, refused.reason);
    }
    if !slots.is_empty() {
        text += &format!("\n{}", verdicts(slots));
    }
    text
}

/// One row for all the replicas with which it is the same.
fn verdicts(slots: &[SlotVerdict]) -> Columns {
    let mut rows: Vec<(&SlotVerdict, Vec<String>)> = Vec::new();
    for slot in slots {
        let same = |known: &SlotVerdict| {
            (&known.routine, known.outcome, &known.reason)
                == (&slot.routine, slot.outcome, &slot.reason)
        };
        let name = slot.replica.clone();
        match rows.iter_mut().find(|(known, _)| same(known)) {
            Some((_, names)) => names.extend(name),
            None => rows.push((slot, name.into_iter().collect())),
        }
    }
    rows.sort_by_key(|(slot, _)| Slot::from_name(&slot.routine));
    let mut columns = Columns::new(&["ROUTINE", "REPLICAS", "IT WOULD BE", "BECAUSE"]);
    for (slot, names) in rows {
        columns.row([
            slot.routine.clone(),
            match names.is_empty() {
                true => "-".to_owned(),
                false => some_of(&names),
            },
            outcome(slot.outcome).to_owned(),
            slot.reason.clone().unwrap_or_default(),
        ]);
    }
    columns
}

fn outcome(outcome: SlotOutcome) -> &'static str {
    match outcome {
        SlotOutcome::Tried => "tried",
        SlotOutcome::Refused => "refused",
        SlotOutcome::Quarantined => "left, in quarantine",
        SlotOutcome::Runs => "left",
    }
}
