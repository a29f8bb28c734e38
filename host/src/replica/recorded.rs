//! A slot's way of swapping on disk: what of it outlives a restart, there and back.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use locum_tables::Slot;

use super::live::Live;
use crate::policy::{Memory, Policy};
use crate::status::Time;
use crate::store::{Components, Disk, GoodRecord, ProbationRecord, QuarantineRecord, SwapRecord};
use crate::swap::{Entrant, Ident, Lasting, Probation, Quarantined};
use crate::telemetry::chain;

/// Makes a policy of a component again: of one that is at hand by its hash, or by compiling it.
pub(crate) type LoadPolicy<'a> = dyn Fn(&str, Arc<[u8]>) -> Result<Policy, String> + 'a;

/// What a slot's record says of its policies.
#[derive(Default)]
pub(super) struct Restored {
    pub(super) lasting: Lasting<Live>,
    /// What the last good policy remembered when it was left.
    pub(super) aside: Option<Memory>,
}

/// Takes a slot's record up again. What cannot be had any more is told in `notes`, and the slot goes on without.
pub(super) fn restored(
    slot: Slot,
    record: &SwapRecord,
    from: &Source<'_>,
    notes: &mut Vec<String>,
) -> Restored {
    let mut load = |record: &Option<GoodRecord>| {
        let record = record.as_ref()?;
        from.load(slot, record)
            .map_err(|why| notes.push(format!("{slot}: {why}")))
            .ok()
    };
    Restored {
        lasting: Lasting {
            good: load(&record.good),
            previous: load(&record.previous),
            probation: record.probation.as_ref().map(probation),
            quarantine: record.quarantine.iter().map(quarantined).collect(),
        },
        aside: record.aside.clone(),
    }
}

/// Where good policies come from after a restart.
pub(super) struct Source<'a> {
    pub(super) components: &'a Components,
    pub(super) disk: &'a dyn Disk,
    pub(super) load: &'a LoadPolicy<'a>,
}

impl Source<'_> {
    fn load(&self, slot: Slot, record: &GoodRecord) -> Result<Live, String> {
        let GoodRecord {
            sha256,
            name,
            file,
            settings,
            ..
        } = record;
        let lost = |why: String| {
            format!("the last good policy {name} {sha256:.8} cannot be taken up again: {why}")
        };
        let component = match self.components.load(self.disk, sha256) {
            Ok(Some(component)) => component,
            Ok(None) => {
                return Err(lost(
                    "its copy in the state directory is missing or damaged".to_owned(),
                ));
            }
            Err(error) => return Err(lost(chain(&error))),
        };
        let policy = (self.load)(sha256, component.into()).map_err(lost)?;
        Live::settled(&policy, slot, settings.clone(), Path::new(file))
            .map_err(|refusal| lost(chain(&refusal)))
    }
}

/// What a record says of a slot's way.
pub(super) fn record(
    lasting: &Lasting<Live>,
    aside: Option<BTreeMap<String, Vec<u8>>>,
) -> SwapRecord {
    SwapRecord {
        good: lasting.good.as_ref().map(good),
        previous: lasting.previous.as_ref().map(good),
        probation: lasting.probation.as_ref().map(|probation| ProbationRecord {
            id: probation.ident.id.clone(),
            sha256: probation.ident.sha256.clone(),
            ticks_left: probation.ticks_left,
            accepted: probation.accepted.clone(),
        }),
        quarantine: lasting
            .quarantine
            .iter()
            .map(|entry| QuarantineRecord {
                id: entry.ident.id.clone(),
                sha256: entry.ident.sha256.clone(),
                reason: entry.reason.clone(),
                at: entry.at.0,
            })
            .collect(),
        aside,
    }
}

fn good(live: &Live) -> GoodRecord {
    let description = live.policy.description();
    let Ident { id, sha256 } = live.ident().clone();
    GoodRecord {
        id,
        sha256,
        name: description.name.clone(),
        version: description.version.clone(),
        file: live.file().display().to_string(),
        settings: live.given.clone(),
    }
}

fn probation(record: &ProbationRecord) -> Probation {
    Probation {
        ident: Ident {
            id: record.id.clone(),
            sha256: record.sha256.clone(),
        },
        ticks_left: record.ticks_left,
        accepted: record.accepted.clone(),
    }
}

fn quarantined(record: &QuarantineRecord) -> Quarantined {
    Quarantined {
        ident: Ident {
            id: record.id.clone(),
            sha256: record.sha256.clone(),
        },
        reason: record.reason.clone(),
        at: Time(record.at),
    }
}
