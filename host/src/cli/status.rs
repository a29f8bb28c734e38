//! `locum status`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use locum::admin::ApiClient;
use locum::status::{ReplicaStatus, RoutineStatus, Status, TableStatus, Time};
use locum::store::{Inspection, RealDisk, Record, inspect};
use locum::{Config, ReplicaConfig};
use serde::Serialize;

use super::directory;
use super::error::{CliError, exit};
use super::output::{self, Columns, Notes, age_text, version_text};
use super::{ConfigArg, Output, OutputArg, block_on, plugin};

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

/// A replica without its host: what a broker would load, and as of when.
#[derive(Serialize)]
struct OnDisk {
    name: String,
    /// When each table was last committed, by its name.
    committed: BTreeMap<String, Time>,
    #[serde(flatten)]
    report: Inspection,
}

impl OnDisk {
    fn look(name: &str, directory: &Path, state_directory: &Path) -> Result<Self, CliError> {
        let (record, _) = Record::peek(&RealDisk, &Record::path(state_directory, name))?;
        let committed = record
            .tables
            .into_iter()
            .map(|(table, commit)| (table, Time(commit.committed_at)));
        Ok(Self {
            name: name.to_owned(),
            committed: committed.collect(),
            report: inspect(&RealDisk, directory)?,
        })
    }

    fn text(&self) -> String {
        let committed = self
            .committed
            .iter()
            .map(|(table, time)| format!("{table} {}", age_text(*time)));
        let committed: Vec<_> = committed.collect();
        let changed = match committed.is_empty() {
            true => "nothing committed yet".to_owned(),
            false => format!("last changed: {} ago", committed.join(", ")),
        };
        format!(
            "{}: {changed}\n{}",
            self.name,
            directory::text(&self.report)
        )
    }
}

/// Without a host there is only what it left behind.
fn on_disk(config: &Config, output: Output) -> Result<exit::Code, CliError> {
    output::say("no host is running; this is what is on disk");
    let look = |(name, replica): (&String, &ReplicaConfig)| {
        OnDisk::look(name, &replica.directory, &config.state_directory)
    };
    let replicas: Vec<OnDisk> = config.replicas.iter().map(look).collect::<Result<_, _>>()?;
    match output {
        Output::Json => {
            output::print_json(&serde_json::json!({ "host": null, "replicas": replicas }))?;
        }
        Output::Text => {
            let texts: Vec<_> = replicas.iter().map(OnDisk::text).collect();
            output::print(&texts.join("\n"))?;
        }
    }
    Ok(exit::TRY_AGAIN)
}

fn text(status: &Status) -> String {
    let heads = [
        "REPLICA", "ROUTINE", "STATE", "TICKS", "FAILED", "MISSED", "AGE", "ENTRIES", "VERSION",
        "POLICY",
    ];
    let mut columns = Columns::new(&heads);
    let mut notes = Notes::default();
    for replica in &status.replicas {
        let name = &replica.name;
        found(replica)
            .into_iter()
            .for_each(|found| notes.note(name, found));
        for routine in &replica.routines {
            columns.row(routine_row(name, routine));
            // Four routines that miss one master have one thing to say.
            let error = routine
                .last_tick
                .as_ref()
                .and_then(|tick| tick.error.as_ref());
            error.into_iter().for_each(|error| notes.note(name, error));
            let slot = format!("{name}/{}", routine.name);
            for told in plugin::probation(routine)
                .into_iter()
                .chain(plugin::told(routine))
            {
                notes.note(&slot, told);
            }
        }
        replica.notes.iter().for_each(|note| notes.note(name, note));
    }
    format!("{columns}{notes}")
}

/// The master, where the operator did not name it.
fn found(replica: &ReplicaStatus) -> Option<String> {
    let (master, source) = (replica.master.as_ref()?, replica.master_source.as_ref()?);
    (source != "configured").then(|| format!("the master is {master}, {source}"))
}

fn routine_row(replica: &str, routine: &RoutineStatus) -> [String; 10] {
    let over_tables = |tell: fn(&TableStatus) -> Option<String>| {
        let tell = |table| tell(table).unwrap_or_else(|| "-".to_owned());
        routine
            .tables
            .iter()
            .map(tell)
            .collect::<Vec<_>>()
            .join(",")
    };
    [
        replica.to_owned(),
        routine.name.to_string(),
        routine.state.to_string(),
        routine.ticks.to_string(),
        routine.failures.to_string(),
        routine.missed.to_string(),
        as_of(routine).map_or_else(|| "-".to_owned(), age_text),
        over_tables(|table| table.entries.map(|entries| entries.to_string())),
        over_tables(|table| table.version.map(version_text)),
        routine.policy.as_ref().map_or_else(
            || "-".to_owned(),
            |policy| format!("{} {} {:.8}", policy.name, policy.version, policy.sha256),
        ),
    ]
}

/// As of when the routine's tables are the master's: its last success; after a start, until the first one, the last commit.
fn as_of(routine: &RoutineStatus) -> Option<Time> {
    routine.last_success.or_else(|| {
        routine
            .tables
            .iter()
            .filter_map(|table| table.committed)
            .min()
    })
}
