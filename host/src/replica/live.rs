//! The policy in a slot.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use locum_tables::{Slot, TableKind};

use crate::policy::{FetchError, Policy, Refusal, Settings};
use crate::status::{PolicyStatus, Time};
use crate::swap::{Entrant, Ident};

/// The policy in a slot, with all that a tick needs of it. A clone is a pointer: what is exchanged is one of them.
#[derive(Clone)]
pub(crate) struct Live(Arc<Fitted>);

pub(crate) struct Fitted {
    pub(super) policy: Policy,
    /// Defaults filled in.
    pub(super) settings: Settings,
    /// What the operator set.
    pub(super) given: BTreeMap<String, String>,
    ident: Ident,
    file: PathBuf,
}

impl Live {
    /// The policy that `file` holds, with what the operator set for this slot.
    ///
    /// # Errors
    /// Why it does not fit there.
    pub(crate) fn settled(
        policy: &Policy,
        slot: Slot,
        given: BTreeMap<String, String>,
        file: &Path,
    ) -> Result<Self, Refusal> {
        Ok(Self(Arc::new(Fitted {
            policy: policy.clone(),
            settings: policy.settle(slot, &given)?,
            ident: Ident::new(policy.sha256(), &given),
            given,
            file: file.to_owned(),
        })))
    }
}

impl Deref for Live {
    type Target = Fitted;

    fn deref(&self) -> &Fitted {
        &self.0
    }
}

impl Fitted {
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// A policy may go on without a table that the master does not have; anything else that it could not fetch counts, although
    /// its drafts stand.
    pub(super) fn depends_on(&self, kind: &'static TableKind, error: &FetchError) -> bool {
        let writes = &self.policy.description().writes;
        writes.contains(&kind)
            && !matches!(error, FetchError::NotServed | FetchError::NothingThere(_))
    }
}

impl Entrant for Live {
    fn ident(&self) -> &Ident {
        &self.ident
    }

    fn status(&self, since: Time) -> PolicyStatus {
        let description = self.policy.description();
        PolicyStatus {
            name: description.name.clone(),
            version: description.version.clone(),
            id: self.ident.id.clone(),
            sha256: self.ident.sha256.clone(),
            file: self.file.display().to_string(),
            since,
        }
    }
}
