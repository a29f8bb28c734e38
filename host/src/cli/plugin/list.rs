//! `locum plugin list`.

use std::collections::BTreeMap;

use clap::Args;
use locum::status::{
    CandidateStatus, PolicyStatus, ProbationStatus, QuarantineStatus, RefusalStatus, RoutineStatus,
    Status,
};
use serde::Serialize;

use super::super::error::{CliError, exit};
use super::super::output::{self, Columns, Notes, age_text};
use super::super::{ConfigArg, Output, OutputArg, block_on, control};
use super::told::{on_its_way, told, turned_away};

#[derive(Args)]
pub(super) struct ListArgs {
    /// Only this replica
    replica: Option<String>,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: OutputArg,
}

/// One slot, as `--output json` prints it: the parts of a status that are about policies.
#[derive(Serialize)]
struct Listed<'a> {
    replica: &'a str,
    routine: &'static str,
    policy: &'a Option<PolicyStatus>,
    candidate: &'a Option<CandidateStatus>,
    last_refusal: &'a Option<RefusalStatus>,
    probation: Option<ProbationStatus>,
    quarantine: &'a [QuarantineStatus],
    note: &'a Option<String>,
    transitions: &'a BTreeMap<String, u64>,
}

impl<'a> Listed<'a> {
    fn new(replica: &'a str, routine: &'a RoutineStatus) -> Self {
        Self {
            replica,
            routine: routine.name.name(),
            policy: &routine.policy,
            candidate: &routine.candidate,
            last_refusal: &routine.last_refusal,
            probation: routine.probation,
            quarantine: &routine.quarantine,
            note: &routine.note,
            transitions: &routine.transitions,
        }
    }
}

type Slots<'a> = Vec<(&'a str, &'a RoutineStatus)>;

pub(super) fn list(args: &ListArgs) -> Result<exit::Code, CliError> {
    let host = control::host(&args.config)?;
    let status = block_on(async { Ok(host.status().await?) })?;
    let slots = slots(&status, args.replica.as_deref())?;
    match args.output.output {
        Output::Json => {
            let listed = slots.iter().map(|(name, of)| Listed::new(name, of));
            output::print_json(&listed.collect::<Vec<_>>())?;
        }
        Output::Text => output::print(&text(&slots))?,
    }
    Ok(exit::OK)
}

fn slots<'a>(status: &'a Status, only: Option<&str>) -> Result<Slots<'a>, CliError> {
    let known = status.replicas.iter().map(|replica| replica.name.as_str());
    if let Some(only) = only.filter(|only| known.clone().all(|name| name != *only)) {
        return Err(CliError::unknown_replica(only, known));
    }
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let replicas = status.replicas.iter();
    let slots = replicas
        .filter(|replica| wanted(&replica.name))
        .flat_map(|replica| {
            let routines = replica.routines.iter();
            routines.map(|routine| (replica.name.as_str(), routine))
        });
    Ok(slots.collect())
}

fn text(slots: &Slots<'_>) -> String {
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
    let mut notes = Notes::default();
    let mut quarantined = Notes::default();
    for (replica, routine) in slots {
        columns.row(row(replica, routine));
        let slot = format!("{replica}/{}", routine.name);
        for told in told(routine) {
            notes.note(&slot, told);
        }
        for entry in &routine.quarantine {
            quarantined.note(&slot, quarantine(entry, routine.last_refusal.as_ref()));
        }
    }
    format!("{columns}{notes}{quarantined}")
}

/// With its reason, unless that is told as what became of the last candidate.
fn quarantine(entry: &QuarantineStatus, last: Option<&RefusalStatus>) -> String {
    let QuarantineStatus {
        id, sha256, reason, ..
    } = entry;
    let is_told =
        last.is_some_and(|last| last.sha256.as_ref() == Some(sha256) && last.reason == *reason);
    let why = if is_told {
        String::new()
    } else {
        format!(" ({reason})")
    };
    format!(
        "{sha256:.8} is quarantined{why}: a new build is tried by itself; `locum plugin forget {id:.12}` lets this one be tried again"
    )
}

fn row(replica: &str, routine: &RoutineStatus) -> [String; 8] {
    let of_policy = |tell: fn(&PolicyStatus) -> String| {
        let policy = routine.policy.as_ref();
        policy.map_or_else(|| "-".to_owned(), tell)
    };
    [
        replica.to_owned(),
        routine.name.to_string(),
        of_policy(|policy| policy.file.clone()),
        of_policy(|policy| format!("{} {}", policy.name, policy.version)),
        of_policy(|policy| format!("{:.8}", policy.sha256)),
        state(routine),
        of_policy(|policy| age_text(policy.since)),
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
        (Some(candidate), _) => {
            let (stage, age) = (on_its_way(candidate.stage), age_text(candidate.since));
            format!("{:.8} {stage} for {age}", candidate.sha256)
        }
        (None, Some(refusal)) => {
            let sha256 = refusal.sha256.as_deref().unwrap_or("(file)");
            let (stage, age) = (turned_away(refusal.stage), age_text(refusal.at));
            format!("{sha256:.8} {stage} {age} ago")
        }
        (None, None) => "-".to_owned(),
    }
}
