//! What there is to tell of a slot's policies beside what runs, a line each.

use locum::status::{CandidateStatus, RefusalStatus, RoutineStatus, Stage};

/// Empty when what runs is what the file holds.
pub(in super::super) fn told(routine: &RoutineStatus) -> Vec<String> {
    let candidate = candidate(routine).into_iter();
    candidate.chain(routine.note.clone()).collect()
}

/// What runs has still to prove itself.
pub(in super::super) fn probation(routine: &RoutineStatus) -> Option<String> {
    let policy = routine.policy.as_ref()?;
    let left = routine.probation?.ticks_left;
    Some(format!(
        "{:.8} is in probation, with {left} good tick(s) to go",
        policy.sha256
    ))
}

/// What became of the last candidate, if there is anything to know of it.
fn candidate(routine: &RoutineStatus) -> Option<String> {
    let Some(candidate) = &routine.candidate else {
        return routine.last_refusal.as_ref().map(refusal);
    };
    let CandidateStatus {
        sha256,
        stage,
        reason,
        ..
    } = candidate;
    let reason = reason.as_ref()?;
    Some(format!("{sha256:.8} is {}: {reason}", on_its_way(*stage)))
}

/// Where a candidate is, to go behind "is".
pub(super) fn on_its_way(stage: Stage) -> String {
    match stage {
        Stage::Held => "held".to_owned(),
        stage => format!("in {stage}"),
    }
}

/// What became of a candidate that is not any more, to go behind "was".
pub(super) fn turned_away(stage: Stage) -> String {
    match stage {
        Stage::Held => "rejected".to_owned(),
        Stage::Probation | Stage::Live => "rolled back".to_owned(),
        stage => format!("refused in {stage}"),
    }
}

fn refusal(refusal: &RefusalStatus) -> String {
    let RefusalStatus {
        sha256,
        stage,
        reason,
        ..
    } = refusal;
    match (sha256, stage) {
        // The reason says who did what.
        (Some(sha256), Stage::Held | Stage::Live) => format!("{sha256:.8}: {reason}"),
        (Some(sha256), Stage::Trial | Stage::Probation) => {
            format!("{sha256:.8} was {}: {reason}", turned_away(*stage))
        }
        // The reason names the file.
        _ => reason.clone(),
    }
}
