//! `locum sync`.

use clap::Args;
use locum::admin::{ApiClient, SyncRequest};
use locum::status::{RoutineState, TickResult};
use locum::{Config, Host, SyncReport};

use super::error::{CliError, code_of, exit};
use super::output::{self, Columns};
use super::{ConfigArg, LogArgs, Output, OutputArg, block_on, only};

#[derive(Args)]
pub(super) struct SyncArgs {
    /// Only this replica
    replica: Option<String>,
    /// Print what would change, write nothing, and exit 2 if anything would
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: OutputArg,
    #[command(flatten)]
    log: LogArgs,
}

pub(super) fn sync(args: &SyncArgs) -> Result<exit::Code, CliError> {
    let config = args.config.read()?;
    // What fails is in the report.
    args.log.start("error")?;
    let reports = block_on(pass(args, config))?;
    match args.output.output {
        Output::Json => output::print_json(&reports)?,
        Output::Text => output::print(&text(&reports, args.dry_run))?,
    }
    Ok(code(&reports, args.dry_run))
}

async fn pass(args: &SyncArgs, mut config: Config) -> Result<Vec<SyncReport>, CliError> {
    let running = ApiClient::new(&config.state_directory);
    if running.is_running()? {
        let request = SyncRequest {
            replica: args.replica.clone(),
            dry_run: args.dry_run,
        };
        return Ok(running.sync(&request).await?);
    }
    if let Some(name) = &args.replica {
        only(&mut config, name)?;
    }
    let host = Host::from_config(config);
    let host = if args.dry_run {
        host.read_only()
    } else {
        host.without_schedule()
    };
    let host = host.start().await?;
    let reports = host.sync(None, args.dry_run).await;
    host.shutdown().await;
    Ok(reports)
}

/// The first failing routine's, else whether anything differs.
fn code(reports: &[SyncReport], dry_run: bool) -> exit::Code {
    let failed = reports
        .iter()
        .map(report_code)
        .find(|code| *code != exit::OK);
    let differs = dry_run && reports.iter().any(|report| !report.changes.is_empty());
    failed.unwrap_or(if differs { exit::DIFFERS } else { exit::OK })
}

fn report_code(report: &SyncReport) -> exit::Code {
    match (report.not_run, &report.tick) {
        // As the operator wants it.
        (Some(RoutineState::Stopped | RoutineState::Paused), _) => exit::OK,
        (Some(RoutineState::DirectoryInUse), _) => exit::TRY_AGAIN,
        (Some(RoutineState::NoMaster), _) => exit::UNREACHABLE,
        (Some(_), _) => exit::CONFIG,
        (None, Some(tick)) => match tick.result {
            TickResult::Failed => tick.error_kind.map_or(exit::INTERNAL, code_of),
            TickResult::Held => exit::TRY_AGAIN,
            TickResult::Updated | TickResult::Unchanged => exit::OK,
        },
        (None, None) => exit::TRY_AGAIN,
    }
}

fn text(reports: &[SyncReport], dry_run: bool) -> String {
    let mut columns = Columns::new(&["REPLICA", "ROUTINE", "RESULT", "CHANGES"]);
    for report in reports {
        columns.row([
            report.replica.clone(),
            report.routine.clone(),
            result(report, dry_run),
            changes(report, dry_run),
        ]);
    }
    let details = if dry_run {
        reports
            .iter()
            .flat_map(|report| &report.changes)
            .map(output::change_lines)
            .collect()
    } else {
        String::new()
    };
    format!("{details}{columns}{}", notes(reports))
}

/// What keeps routines from running, once for each replica.
fn notes(reports: &[SyncReport]) -> String {
    let mut told: Vec<String> = reports
        .iter()
        .filter_map(|report| Some(format!("{}: {}\n", report.replica, report.note.as_ref()?)))
        .collect();
    told.dedup();
    told.concat()
}

fn result(report: &SyncReport, dry_run: bool) -> String {
    match (&report.tick, report.not_run) {
        (Some(tick), _) if dry_run && tick.result == TickResult::Updated => "differs".to_owned(),
        (Some(tick), _) => tick.result.to_string(),
        (None, Some(state)) => format!("not run: {state}"),
        (None, None) => "cancelled".to_owned(),
    }
}

fn changes(report: &SyncReport, dry_run: bool) -> String {
    if let Some(error) = report.tick.as_ref().and_then(|tick| tick.error.clone()) {
        return error;
    }
    let would = if dry_run { "would be " } else { "" };
    let told = report.changes.iter().map(|change| {
        if change.rewritten {
            return format!("{}: the file {would}written again", change.table);
        }
        let first = if change.first { " (no table yet)" } else { "" };
        format!(
            "{}: {} {would}added, {} {would}changed, {} {would}removed{first}",
            change.table,
            change.added.len(),
            change.changed.len(),
            change.removed.len()
        )
    });
    told.collect::<Vec<_>>().join("; ")
}
