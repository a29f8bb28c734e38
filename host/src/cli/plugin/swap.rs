//! `locum plugin accept`, `reject`, `rollback` and `forget`.

use clap::Args;
use locum::admin::{ApiClient, Done, SwapCommand};
use locum::status::{RoutineStatus, Stage, Status};
use serde::Serialize;

use super::super::error::{CliError, exit};
use super::super::{ConfigArg, Output, OutputArg, block_on, control, output};

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
    let (outcomes, first) = block_on(async {
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
    match first {
        // What a script reads is printed; the code says the rest.
        Some(error) if args.output.output == Output::Json => Ok(error.code()),
        Some(error) => Err(error),
        None => Ok(exit::OK),
    }
}

async fn all(
    host: &ApiClient,
    slots: Vec<(String, String)>,
    command: SwapCommand,
) -> (Vec<Outcome>, Option<CliError>) {
    let (mut outcomes, mut first) = (Vec::new(), None);
    for (replica, routine) in slots {
        let done = host.swap(&replica, &routine, command).await;
        let error = done.err().map(CliError::from);
        outcomes.push(Outcome {
            error: error.as_ref().map(ToString::to_string),
            command: command.name(),
            replica,
            routine,
        });
        first = first.or(error);
    }
    (outcomes, first)
}

/// The slots to which it can be done now.
fn fitting(status: &Status, command: SwapCommand) -> Vec<(String, String)> {
    let fits = |routine: &RoutineStatus| {
        let stage = routine.candidate.as_ref().map(|candidate| candidate.stage);
        match command {
            SwapCommand::Accept => stage == Some(Stage::Held),
            SwapCommand::Reject => stage.is_some(),
            // What ended its probation stays: all slots at once never mean that.
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
        output::say("there is no slot to which that could be done now");
    }
    let done = match command {
        SwapCommand::Accept => "its candidate is accepted, and runs from the next tick on",
        SwapCommand::Reject => "its candidate is rejected, and not tried again",
        SwapCommand::Rollback => {
            "the last good policy runs again; the one before is not tried again"
        }
    };
    for outcome in outcomes.iter().filter(|outcome| outcome.error.is_none()) {
        output::say(&format!("{}/{}: {done}", outcome.replica, outcome.routine));
    }
}

pub(super) fn forget(args: &ForgetArgs) -> Result<exit::Code, CliError> {
    let host = control::host(&args.config)?;
    let Done { notes } = block_on(async { Ok(host.forget(&args.id).await?) })?;
    match args.output.output {
        Output::Json => output::print_json(&serde_json::json!({ "notes": notes }))?,
        Output::Text => notes.iter().for_each(|note| output::say(note)),
    }
    Ok(exit::OK)
}
