//! A configuration and the policies that it names, or one component, looked at without running anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use locum_tables::Slot;
use serde::Serialize;

use crate::config::{Config, ReplicaConfig};
use crate::hash::sha256;
use crate::host::load;
use crate::master::keys;
use crate::policy::{COMPONENT_BYTES, Description, Engine, EngineError, Outside, Policy, Refusal};
use crate::replica::Live;
use crate::status::Stage;
use crate::store::{RealDisk, Record, SwapRecord};
use crate::swap::{Files, Ident, Seen};
use crate::telemetry::chain;

/// Says what is wrong with a configuration, with the keys and with the policies that it names: nothing is opened for writing, and
/// no master asked. Empty when all is well. Blocking.
///
/// # Errors
/// [`EngineError`]: policies cannot be looked at.
pub fn check(config: &Config) -> Result<Vec<String>, EngineError> {
    let engine = Engine::new()?;
    let mut files = Files::new(config.plugins.directory.clone(), COMPONENT_BYTES as u64);
    let mut loaded: BTreeMap<PathBuf, Result<Policy, String>> = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, replica) in &config.replicas {
        let keys = replica.acl.as_ref().map(keys::read);
        if let Some(Err(error)) = keys {
            problems.push(format!("{name}: {}", chain(&error)));
        }
        for slot in Slot::ALL {
            let file = replica.plugin(slot);
            let policy = loaded
                .entry(file.clone())
                .or_insert_with(|| first_look(&engine, &mut files, &file));
            let settled = policy.as_ref().map_err(Clone::clone).and_then(|policy| {
                Live::settled(policy, slot, replica.settings(slot), &file).map_err(|refusal| {
                    format!("{} is refused: {}", file.display(), chain(&refusal))
                })
            });
            if let Err(reason) = settled {
                problems.push(format!("{name}/{slot}: {reason}"));
            }
        }
    }
    Ok(problems)
}

fn first_look(engine: &Engine, files: &mut Files, file: &Path) -> Result<Policy, String> {
    match files.look(file) {
        Seen::New(content) => load(engine, &content, file).map_err(|refused| refused.reason),
        Seen::Missing => Err(format!("{} is not there", files.path(file).display())),
        Seen::Unreadable(reason) => Err(reason),
        // Nothing was seen before that this could be the same as.
        Seen::Same => Err("it was looked at twice".to_owned()),
    }
}

/// What there is to say of a component, and of the slots of a configuration that could hold it.
#[derive(Debug, Clone, Serialize)]
pub struct ComponentReport {
    /// Of its bytes, in hex.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// What it imports.
    pub imports: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
    /// What it says of itself, if it is a policy.
    pub policy: Option<Description>,
    /// Why it is none.
    pub refused: Option<RefusedReport>,
    /// For each slot, what would become of it there.
    pub slots: Vec<SlotVerdict>,
}

/// Why a component is refused.
#[derive(Debug, Clone, Serialize)]
pub struct RefusedReport {
    /// How far it came.
    pub stage: Stage,
    /// What is wrong and what to do.
    pub reason: String,
}

/// Whether a slot would take a component.
#[derive(Debug, Clone, Serialize)]
pub struct SlotVerdict {
    /// Of which replica; none where there is no configuration.
    pub replica: Option<String>,
    /// Which slot.
    pub routine: String,
    /// What would become of it there.
    pub outcome: SlotOutcome,
    /// Why it would not be tried.
    pub reason: Option<String>,
}

/// What would become of a component that a slot's file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlotOutcome {
    /// It would run beside what runs, and then in its place; at once where nothing runs.
    Tried,
    /// It would be refused.
    Refused,
    /// Nothing: it is quarantined there.
    Quarantined,
    /// Nothing: it is what runs there.
    Runs,
}

/// Looks at a component as the host does when it finds it: what it is, and which slots would take it. Without a configuration
/// each slot is taken without settings. Blocking.
///
/// # Errors
/// [`EngineError`]: components cannot be looked at.
pub fn inspect_component(
    component: &[u8],
    config: Option<&Config>,
) -> Result<ComponentReport, EngineError> {
    let Outside { imports, exports } = Outside::of(component).unwrap_or_default();
    let loaded = Engine::new()?.load(component);
    let (policy, refused) = match &loaded {
        Ok(policy) => (Some(policy.description().clone()), None),
        Err(refusal) => {
            let (stage, reason) = (refusal.stage(), chain(refusal));
            (None, Some(RefusedReport { stage, reason }))
        }
    };
    let slots = loaded.map_or_else(|_| Vec::new(), |policy| verdicts(&policy, config));
    Ok(ComponentReport {
        sha256: sha256(component),
        bytes: component.len() as u64,
        imports,
        exports,
        policy,
        refused,
        slots,
    })
}

fn verdicts(policy: &Policy, config: Option<&Config>) -> Vec<SlotVerdict> {
    let Some(config) = config else {
        return Slot::ALL
            .map(|slot| SlotVerdict::new(None, slot, settled(policy, slot, BTreeMap::new()), None))
            .into();
    };
    let of_replica = |(name, replica): (&String, &ReplicaConfig)| {
        let record = Record::path(&config.state_directory, name);
        // What cannot be read tells nothing.
        let (record, _) = Record::peek(&RealDisk, &record).unwrap_or_default();
        Slot::ALL.map(|slot| {
            let given = replica.settings(slot);
            let ident = Ident::new(policy.sha256(), &given);
            let swap = record.swaps.get(slot.name());
            let known = swap.and_then(|swap| known(swap, &ident));
            SlotVerdict::new(
                Some(name.clone()),
                slot,
                settled(policy, slot, given),
                known,
            )
        })
    };
    config.replicas.iter().flat_map(of_replica).collect()
}

fn settled(policy: &Policy, slot: Slot, given: BTreeMap<String, String>) -> Result<(), Refusal> {
    policy.settle(slot, &given).map(drop)
}

/// What the slot's record knows of a policy that would not be tried there.
fn known(swap: &SwapRecord, ident: &Ident) -> Option<(SlotOutcome, String)> {
    if let Some(entry) = swap.quarantine.iter().find(|entry| entry.id == ident.id) {
        let reason = format!(
            "{}; `locum plugin forget {:.12}` lets it be tried",
            entry.reason, entry.id
        );
        return Some((SlotOutcome::Quarantined, reason));
    }
    let in_probation = swap.probation.as_ref().map(|probation| &probation.id);
    let live = in_probation.or(swap.good.as_ref().map(|good| &good.id));
    (live == Some(&ident.id)).then(|| (SlotOutcome::Runs, "it is what runs there".to_owned()))
}

impl SlotVerdict {
    fn new(
        replica: Option<String>,
        slot: Slot,
        fits: Result<(), Refusal>,
        known: Option<(SlotOutcome, String)>,
    ) -> Self {
        let refused = fits
            .err()
            .map(|refusal| (SlotOutcome::Refused, chain(&refusal)));
        let (outcome, reason) = refused.or(known).unzip();
        Self {
            replica,
            routine: slot.name().to_owned(),
            outcome: outcome.unwrap_or(SlotOutcome::Tried),
            reason,
        }
    }
}
