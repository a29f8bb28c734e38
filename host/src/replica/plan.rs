//! `locum plugin plan`: a trial that somebody asked for, with the cost of both policies.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Shared;
use super::live::Live;
use super::outcome::TableChange;
use super::trial::{Basis, Left};
use crate::config::ReplicaConfig;
use crate::policy::{Engine, EngineError, Policy, Ran, Refusal};
use crate::status::{ErrorKind, PolicyStatus, Stage};
use crate::swap::{Entrant, Quarantined, Verdict};
use crate::telemetry::chain;

/// What a component would change in a slot, against what runs there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlanReport {
    /// What runs.
    pub live: PlannedRun,
    /// The component.
    pub candidate: PlannedRun,
    /// How what the component leaves differs from what the live policy leaves, by table.
    pub changes: Vec<TableChange>,
    /// What its trial would come to: `passed`, `held`, `refused`, or `nothing`, where the master gave no table.
    pub outcome: PlanOutcome,
    /// Why, where it would not pass.
    pub reason: Option<String>,
    /// Why the host would not even try it, if it is quarantined in the slot.
    pub quarantined: Option<String>,
}

/// One of the two runs of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Its policy.
    pub policy: PolicyStatus,
    /// Instructions that it executed, as the engine counts them: equal for equal input, whatever the machine.
    pub fuel: Option<u64>,
    /// Time in the guest, in milliseconds.
    pub guest_time_ms: f64,
}

/// What a trial would come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanOutcome {
    /// It would get in.
    Passed,
    /// An operator would have to say yes.
    Held,
    /// It would be refused.
    Refused,
    /// The master gave no table.
    Nothing,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The component does not get as far as a trial.
    #[error("refused in {stage}: {refusal}", refusal = chain(.refusal))]
    Refused {
        /// How far it came.
        stage: Stage,
        /// What is wrong and what to do.
        refusal: Refusal,
    },
    /// The slot could not run anything now.
    #[error("{0}")]
    NotNow(String),
    /// The engine that counts could not be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl PlanError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused { .. } => ErrorKind::BadData,
            Self::NotNow(_) => ErrorKind::InUse,
            Self::Engine(_) => ErrorKind::Internal,
        }
    }
}

impl From<Refusal> for PlanError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused {
            stage: refusal.stage(),
            refusal,
        }
    }
}

/// Runs both on `basis`, in an engine that counts what they execute.
pub(super) async fn plan(
    config: &ReplicaConfig,
    shared: &Shared,
    live: &Live,
    component: Arc<[u8]>,
    basis: &Basis,
    quarantine: &[Quarantined],
) -> Result<PlanReport, PlanError> {
    let counted = Arc::clone(live.policy.component());
    let compiled = {
        // The semaphore is never closed.
        let _turn = shared.compilers.acquire().await;
        tokio::task::spawn_blocking(move || compile_both(component, counted)).await
    };
    let (candidate, counted) = compiled.map_err(|error| PlanError::NotNow(error.to_string()))??;
    let given = config.settings(basis.slot);
    let candidate = Live::settled(&candidate, basis.slot, given, live.file())?;
    let counted = Live::settled(&counted, basis.slot, live.given.clone(), live.file())?;
    let quarantined = quarantine
        .iter()
        .find(|entry| entry.ident == *candidate.ident());
    let quarantined = quarantined.map(|entry| {
        let id = &entry.ident.id;
        format!(
            "{}; `locum plugin forget {id:.12}` lets it be tried",
            entry.reason
        )
    });
    let ours = basis.run(&counted).await;
    let theirs = basis.run(&candidate).await;
    let compared = basis.compare(
        &Left::of(&candidate, &theirs.result),
        &Left::of(&counted, &ours.result),
    );
    let (changes, verdict) = match compared {
        Ok(comparison) => {
            let verdict = comparison.verdict(&config.trial(basis.slot));
            (comparison.changes(), verdict)
        }
        Err(verdict) => (Vec::new(), verdict),
    };
    let (outcome, reason) = match verdict {
        Verdict::Passed => (PlanOutcome::Passed, None),
        Verdict::Nothing(reason) => (PlanOutcome::Nothing, Some(reason)),
        Verdict::Differs { reason, .. } => (PlanOutcome::Held, Some(reason)),
        Verdict::Failed(reason) => (PlanOutcome::Refused, Some(reason)),
    };
    Ok(PlanReport {
        live: PlannedRun::new(&counted, &ours, basis),
        candidate: PlannedRun::new(&candidate, &theirs, basis),
        changes,
        outcome,
        reason,
        quarantined,
    })
}

fn compile_both(candidate: Arc<[u8]>, live: Arc<[u8]>) -> Result<(Policy, Policy), PlanError> {
    let engine = Engine::metered()?;
    Ok((engine.load(candidate)?, engine.load(live)?))
}

impl PlannedRun {
    fn new(live: &Live, ran: &Ran, basis: &Basis) -> Self {
        Self {
            policy: live.status(basis.started),
            fuel: ran.spent.fuel,
            guest_time_ms: ran.spent.guest_time.as_secs_f64() * 1e3,
        }
    }
}
