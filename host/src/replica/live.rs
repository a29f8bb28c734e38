//! The policy in a slot.

use std::path::PathBuf;

use crate::policy::{Policy, Settings};
use crate::status::PolicyStatus;

/// The policy in a slot, with all that a tick needs of it: exchanged as one.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) policy: Policy,
    pub(super) settings: Settings,
    pub(super) file: PathBuf,
}

impl Live {
    /// What a status tells of it.
    pub(super) fn status(&self) -> PolicyStatus {
        let description = self.policy.description();
        PolicyStatus {
            name: description.name.clone(),
            version: description.version.clone(),
            sha256: self.policy.sha256().to_owned(),
            file: self.file.display().to_string(),
        }
    }
}
