//! The policy in a slot.

use std::path::{Path, PathBuf};

use locum_tables::Slot;

use crate::config::ReplicaConfig;
use crate::policy::{Policy, Settings};
use crate::status::PolicyStatus;
use crate::telemetry::chain;

/// The policy in a slot, with all that a tick needs of it: exchanged as one.
#[derive(Clone)]
pub(crate) struct Live {
    pub(super) policy: Policy,
    pub(super) settings: Settings,
    pub(super) file: PathBuf,
}

impl Live {
    /// The policy that `file` holds, with what the operator set for this slot; or why it does not fit there.
    pub(crate) fn settled(
        policy: &Policy,
        slot: Slot,
        replica: &ReplicaConfig,
        file: &Path,
    ) -> Result<Self, String> {
        let settings = policy
            .settle(slot, &replica.settings(slot))
            .map_err(|refusal| format!("{} is refused: {}", file.display(), chain(&refusal)))?;
        Ok(Self {
            policy: policy.clone(),
            settings,
            file: file.to_owned(),
        })
    }

    /// What a status tells of it.
    pub(super) fn status(&self) -> PolicyStatus {
        let description = self.policy.description();
        PolicyStatus {
            name: description.name.clone(),
            version: description.version.clone(),
            id: self.policy.sha256().to_owned(),
            sha256: self.policy.sha256().to_owned(),
            since: crate::status::Time(0),
            file: self.file.display().to_string(),
        }
    }
}
