//! `locum plugin plan`.

use std::path::PathBuf;

use clap::Args;
use locum::admin::ApiClient;
use locum::telemetry::chain;
use locum::{Config, Host, PlanOutcome, PlanReport, PlannedRun, Slot};

use super::super::error::{CliError, code_of, exit};
use super::super::output::{self, Columns, change_lines};
use super::super::{ConfigArg, Output, OutputArg, block_on, only};
use super::component;

pub(super) const AFTER_HELP: &str = "In the running host, or, without one, in this process. Exit codes: 0 nothing would differ, 2 something \
would, 65 the component is refused, 69 the master gave no table to compare, 75 the routine does not run now.";

#[derive(Args)]
pub(super) struct PlanArgs {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Which replica
    replica: String,
    /// Which routine
    #[arg(value_parser = ["topic", "offset", "delay", "subgroup"])]
    routine: String,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: OutputArg,
}

pub(super) fn plan(args: &PlanArgs) -> Result<exit::Code, CliError> {
    let component = component(&args.file)?;
    let config = args.config.read()?;
    let report = block_on(planned(args, config, component))?;
    match args.output.output {
        Output::Json => output::print_json(&report)?,
        Output::Text => output::print(&text(&report))?,
    }
    Ok(match report.outcome {
        PlanOutcome::Refused => exit::BAD_DATA,
        PlanOutcome::Nothing => exit::UNREACHABLE,
        PlanOutcome::Passed | PlanOutcome::Held if report.changes.is_empty() => exit::OK,
        PlanOutcome::Passed | PlanOutcome::Held => exit::DIFFERS,
    })
}

/// In the running host, or in this process on what is on disk.
async fn planned(
    args: &PlanArgs,
    mut config: Config,
    component: Vec<u8>,
) -> Result<PlanReport, CliError> {
    let running = ApiClient::new(&config.state_directory);
    if running.is_running()? {
        return Ok(running
            .plan(&args.replica, &args.routine, component)
            .await?);
    }
    only(&mut config, &args.replica)?;
    let host = Host::from_config(config).read_only().start().await?;
    let (Some(replica), Some(slot)) = (host.replica(&args.replica), Slot::from_name(&args.routine))
    else {
        // A host that starts has opened the one, and clap has checked the other.
        return Err(CliError::new(exit::INTERNAL, "the slot is not there"));
    };
    let planned = replica.plan(slot, component.into()).await;
    host.shutdown().await;
    planned.map_err(|error| CliError::new(code_of(error.kind()), chain(&error)))
}

fn text(report: &PlanReport) -> String {
    let mut text: String = report.changes.iter().map(change_lines).collect();
    let mut columns = Columns::new(&["", "POLICY", "HASH", "FUEL", "GUEST TIME"]);
    columns.row(row("live", &report.live));
    columns.row(row("candidate", &report.candidate));
    text += &columns.to_string();
    if let Some(why) = &report.quarantined {
        text += &format!("it is quarantined in this slot, and would not be tried: {why}\n");
    }
    let reason = report.reason.as_deref().unwrap_or_default();
    text + &match report.outcome {
        PlanOutcome::Passed if report.changes.is_empty() => {
            "nothing would differ; it would pass its trial\n".to_owned()
        }
        PlanOutcome::Passed => "it would pass its trial\n".to_owned(),
        PlanOutcome::Held => format!(
            "it would be held: {reason}. Once it is in the plugin folder, `locum plugin accept` or `reject` decides\n"
        ),
        PlanOutcome::Refused => format!("it would be refused in trial: {reason}\n"),
        PlanOutcome::Nothing => format!("a trial would prove nothing: {reason}\n"),
    }
}

fn row(what: &str, run: &PlannedRun) -> [String; 5] {
    [
        what.to_owned(),
        format!("{} {}", run.policy.name, run.policy.version),
        format!("{:.8}", run.policy.sha256),
        run.fuel
            .map_or_else(|| "-".to_owned(), |fuel| fuel.to_string()),
        format!("{:.3} ms", run.guest_time_ms),
    ]
}
