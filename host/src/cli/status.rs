//! `locum status`.

use clap::Args;
use locum::Config;
use locum::admin::ApiClient;
use locum::status::{RoutineStatus, Status, TableStatus};
use locum::store::{Inspection, RealDisk, inspect};
use serde::Serialize;

use super::directory;
use super::error::{CliError, exit};
use super::output::{self, Columns, version_text};
use super::{ConfigArg, Output, OutputArg, block_on};

#[derive(Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: OutputArg,
}

pub(super) fn status(args: &StatusArgs) -> Result<exit::Code, CliError> {
    let config = args.config.read()?;
    let host = ApiClient::new(&config.state_directory);
    if !host.is_running()? {
        return on_disk(&config, args.output.output);
    }
    let status = block_on(async { Ok(host.status().await?) })?;
    match args.output.output {
        Output::Json => output::print_json(&status)?,
        Output::Text => output::print(&text(&status))?,
    }
    Ok(exit::OK)
}

/// Without a host there is only what it left behind.
fn on_disk(config: &Config, output: Output) -> Result<exit::Code, CliError> {
    #[derive(Serialize)]
    struct OnDisk {
        name: String,
        #[serde(flatten)]
        report: Inspection,
    }
    output::say("no host is running; this is what is on disk");
    let replicas: Vec<OnDisk> = config
        .replicas
        .iter()
        .map(|(name, replica)| {
            Ok(OnDisk {
                name: name.clone(),
                report: inspect(&RealDisk, &replica.directory)?,
            })
        })
        .collect::<Result<_, CliError>>()?;
    match output {
        Output::Json => {
            output::print_json(&serde_json::json!({ "host": null, "replicas": replicas }))?
        }
        Output::Text => {
            for replica in &replicas {
                output::print(&format!(
                    "{}\n{}",
                    replica.name,
                    directory::text(&replica.report)
                ))?;
            }
        }
    }
    Ok(exit::TRY_AGAIN)
}

fn text(status: &Status) -> String {
    let heads = [
        "REPLICA",
        "ROUTINE",
        "STATE",
        "TICKS",
        "FAILED",
        "MISSED",
        "LAST SUCCESS",
        "ENTRIES",
        "VERSION",
        "POLICY",
    ];
    let mut columns = Columns::new(&heads);
    let mut notes = String::new();
    for replica in &status.replicas {
        for routine in &replica.routines {
            columns.row(routine_row(&replica.name, routine));
            let troubles = routine
                .last_tick
                .iter()
                .filter_map(|tick| tick.error.as_ref())
                .chain(&routine.refusal);
            troubles.for_each(|text| {
                notes.push_str(&format!("{}/{}: {text}\n", replica.name, routine.name))
            });
        }
        replica
            .notes
            .iter()
            .for_each(|note| notes.push_str(&format!("{}: {note}\n", replica.name)));
    }
    format!("{columns}{notes}")
}

fn routine_row(replica: &str, routine: &RoutineStatus) -> [String; 10] {
    let over_tables = |tell: fn(&TableStatus) -> Option<String>| {
        let told: Vec<_> = routine
            .tables
            .iter()
            .map(|table| tell(table).unwrap_or_else(|| "-".to_owned()))
            .collect();
        told.join(",")
    };
    let policy = routine.policy.as_ref();
    [
        replica.to_owned(),
        routine.name.to_string(),
        routine.state.to_string(),
        routine.ticks.to_string(),
        routine.failures.to_string(),
        routine.missed.to_string(),
        routine
            .last_success
            .map_or_else(|| "-".to_owned(), |time| time.to_string()),
        over_tables(|table| table.entries.map(|entries| entries.to_string())),
        over_tables(|table| table.version.map(version_text)),
        policy.map_or_else(
            || "-".to_owned(),
            |policy| format!("{} {} {:.8}", policy.name, policy.version, policy.sha256),
        ),
    ]
}
