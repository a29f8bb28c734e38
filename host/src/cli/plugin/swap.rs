//! `locum plugin accept`, `reject`, `rollback` and `forget`.

use clap::Args;
use locum::admin::{ApiClient, SwapCommand};
use locum::status::{RoutineStatus, Stage, Status};
use serde::Serialize;

use super::super::error::{CliError, exit};
use super::super::{ConfigArg, Output, OutputArg, block_on, control, output};

pub(super) const AFTER_HELP: &str =
    "Exit code 75: there is no slot to which it can be done now; with --all, not one.";
/// What ended its probation stays: all slots at once never mean that.
pub(super) const ROLLBACK_AFTER_HELP: &str = "With --all in every slot whose policy is in probation; one that has proved itself is rolled back by \
naming its slot, to the one that was good before. Exit code 75: there is no slot to which it can be done now.";
pub(super) const FORGET_AFTER_HELP: &str = "A file in the plugin folder that holds it is a candidate at once. Exit code 75: no slot has quarantined it.";

/// Clap would not tell that `--all` stands in the place of the two.
pub(super) fn usage(command: &str) -> String {
    let command = format!("locum plugin {command} [OPTIONS]");
    format!("{command} <REPLICA> <ROUTINE>\n       {command} --all")
}

#[derive(Args)]
pub(super) struct SwapArgs {
    /// Which replica
    #[arg(required_unless_present = "all", requires = "routine")]
    replica: Option<String>,
    /// Which routine
    #[arg(value_parser = ["topic", "offset", "delay", "subgroup"])]
    routine: Option<String>,
    /// Every slot of every replica to which it can be done now
    #[arg(long, conflicts_with_all = ["replica", "routine"])]
    all: bool,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: OutputArg,
}

#[derive(Args)]
pub(super) struct ForgetArgs {
    /// The beginning of the policy's id, or of its component's hash
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: OutputArg,
}

/// What was done to one slot.
#[derive(Serialize)]
struct Outcome {
    replica: String,
    routine: String,
    command: &'static str,
    error: Option<String>,
}

pub(super) fn swap(args: &SwapArgs, command: SwapCommand) -> Result<exit::Code, CliError> {
    let host = control::host(&args.config)?;
    let (outcomes, code) = block_on(async {
        let slots = match (&args.replica, &args.routine) {
            (Some(replica), Some(routine)) => vec![(replica.clone(), routine.clone())],
            _ => fitting(&host.status().await?, command),
        };
        Ok(all(&host, slots, command).await)
    })?;
    match args.output.output {
        Output::Json => output::print_json(&outcomes)?,
        Output::Text => tell(&outcomes, command),
    }
    Ok(code)
}

/// What was done, and the code of the first that failed.
async fn all(
    host: &ApiClient,
    slots: Vec<(String, String)>,
    command: SwapCommand,
) -> (Vec<Outcome>, exit::Code) {
    let (mut outcomes, mut first) = (Vec::new(), None);
    for (replica, routine) in slots {
        let done = host.swap(&replica, &routine, command).await;
        let error = done.err().map(CliError::from);
        first = first.or(error.as_ref().map(CliError::code));
        outcomes.push(Outcome {
            error: error.map(|error| error.to_string()),
            command: command.name(),
            replica,
            routine,
        });
    }
    let nothing = outcomes.is_empty().then_some(exit::TRY_AGAIN);
    (outcomes, first.or(nothing).unwrap_or(exit::OK))
}

/// The slots to which it can be done now.
fn fitting(status: &Status, command: SwapCommand) -> Vec<(String, String)> {
    let fits = |routine: &RoutineStatus| {
        let stage = routine.candidate.as_ref().map(|candidate| candidate.stage);
        match command {
            SwapCommand::Accept => stage == Some(Stage::Held),
            SwapCommand::Reject => stage.is_some(),
            SwapCommand::Rollback => routine.probation.is_some(),
        }
    };
    let slots = status.replicas.iter().flat_map(|replica| {
        let routines = replica.routines.iter().filter(|routine| fits(routine));
        routines.map(|routine| (replica.name.clone(), routine.name.to_string()))
    });
    slots.collect()
}

fn tell(outcomes: &[Outcome], command: SwapCommand) {
    if outcomes.is_empty() {
        let missing = match command {
            SwapCommand::Accept => "no candidate is held",
            SwapCommand::Reject => "there is no candidate",
            SwapCommand::Rollback => "no policy is in probation",
        };
        output::say(&format!(
            "locum: {missing} in any slot; `locum plugin list` tells more"
        ));
    }
    let done = match command {
        SwapCommand::Accept => "the candidate is accepted, and runs from the next tick on",
        SwapCommand::Reject => "the candidate is rejected, and not tried again",
        SwapCommand::Rollback => {
            "the last good policy runs again; what ran is quarantined (`locum plugin list` names it)"
        }
    };
    for outcome in outcomes {
        let Outcome {
            replica,
            routine,
            error,
            ..
        } = outcome;
        output::say(&match error {
            None => format!("{replica}/{routine}: {done}"),
            Some(error) => format!("locum: {replica}/{routine}: {error}"),
        });
    }
}

pub(super) fn forget(args: &ForgetArgs) -> Result<exit::Code, CliError> {
    let host = control::host(&args.config)?;
    let forgotten = block_on(async { Ok(host.forget(&args.id).await?) })?;
    match args.output.output {
        Output::Json => output::print_json(&forgotten)?,
        Output::Text => output::say(&format!(
            "forgotten in {} slot(s): a file that holds it is tried now; if none does, put it back",
            forgotten.slots
        )),
    }
    Ok(exit::OK)
}
