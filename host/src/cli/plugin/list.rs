//! `locum plugin list`.

use clap::Args;
use locum::status::{CandidateStatus, ReplicaStatus, RoutineStatus};
use serde::Serialize;

use super::super::error::{CliError, exit};
use super::super::output::{self, Columns};
use super::super::{ConfigArg, Output, OutputArg, block_on, control};

#[derive(Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: OutputArg,
}

/// One slot, as `--output json` prints it: the parts of a status that are about policies.
#[derive(Serialize)]
struct Listed<'a> {
    replica: &'a str,
    #[serde(flatten)]
    routine: &'a RoutineStatus,
}

pub(super) fn list(args: &ListArgs) -> Result<exit::Code, CliError> {
    let host = control::host(&args.config)?;
    let status = block_on(async { Ok(host.status().await?) })?;
    let of_replica = |replica: &'_ ReplicaStatus| -> Vec<(String, RoutineStatus)> {
        let routines = replica.routines.iter();
        routines
            .map(|routine| (replica.name.clone(), routine.clone()))
            .collect()
    };
    let slots: Vec<_> = status.replicas.iter().flat_map(of_replica).collect();
    match args.output.output {
        Output::Json => {
            let listed: Vec<_> = slots
                .iter()
                .map(|(replica, routine)| Listed { replica, routine })
                .collect();
            output::print_json(&listed)?;
        }
        Output::Text => output::print(&text(&slots))?,
    }
    Ok(exit::OK)
}

fn text(slots: &[(String, RoutineStatus)]) -> String {
    let heads = [
        "REPLICA",
        "ROUTINE",
        "FILE",
        "POLICY",
        "HASH",
        "STATE",
        "SINCE",
        "LAST CANDIDATE",
    ];
    let mut columns = Columns::new(&heads);
    let mut notes = String::new();
    for (replica, routine) in slots {
        columns.row(row(replica, routine));
        let name = format!("{replica}/{}", routine.name);
        let reason = candidate_reason(routine);
        for entry in &routine.quarantine {
            notes += &format!(
                "{name}: {:.8} is quarantined ({:.12}): {}\n",
                entry.sha256, entry.id, entry.reason
            );
        }
        for told in reason.iter().copied().chain(routine.note.as_deref()) {
            notes += &format!("{name}: {told}\n");
        }
    }
    format!("{columns}{notes}")
}

fn row(replica: &str, routine: &RoutineStatus) -> [String; 8] {
    let dash = || "-".to_owned();
    let policy = routine.policy.as_ref();
    [
        replica.to_owned(),
        routine.name.to_string(),
        policy.map_or_else(dash, |policy| policy.file.clone()),
        policy.map_or_else(dash, |policy| format!("{} {}", policy.name, policy.version)),
        policy.map_or_else(dash, |policy| format!("{:.8}", policy.sha256)),
        state(routine),
        policy.map_or_else(dash, |policy| output::age_text(policy.since)),
        last_candidate(routine),
    ]
}

/// Of the policy, not of the routine.
fn state(routine: &RoutineStatus) -> String {
    match (&routine.policy, routine.probation) {
        (None, _) => "none".to_owned(),
        (Some(_), Some(probation)) => format!("probation, {} left", probation.ticks_left),
        (Some(_), None) => "live".to_owned(),
    }
}

fn last_candidate(routine: &RoutineStatus) -> String {
    match (&routine.candidate, &routine.last_refusal) {
        (Some(CandidateStatus { sha256, stage, .. }), _) => format!("{sha256:.8} in {stage}"),
        (None, Some(refusal)) => {
            let sha256 = refusal.sha256.as_deref().unwrap_or("file");
            format!("{sha256:.8} refused in {}", refusal.stage)
        }
        (None, None) => "-".to_owned(),
    }
}

fn candidate_reason(routine: &RoutineStatus) -> Option<&str> {
    match (&routine.candidate, &routine.last_refusal) {
        (Some(candidate), _) => candidate.reason.as_deref(),
        (None, Some(refusal)) => Some(&refusal.reason),
        (None, None) => None,
    }
}
