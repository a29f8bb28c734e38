//! The host's API over HTTP on a Unix socket, and its client. Knows what `host` offers, and neither files nor RocketMQ.
//!
//! | route | answer |
//! | --- | --- |
//! | `GET /healthz` | `ok` |
//! | `GET /api/v1/status` | [`crate::status::Status`] |
//! | `POST /api/v1/sync` [`SyncRequest`] | list of [`crate::SyncReport`] |
//! | `POST /api/v1/replicas/{name}/role` [`RoleRequest`] | [`Done`] |
//! | `POST /api/v1/replicas/{name}/routines/{slot}/pause`, `.../resume` | [`Done`] |
//! | `POST /api/v1/replicas/{name}/adopt` [`AdoptRequest`] | [`Done`] |
//! | `POST /api/v1/replicas/{name}/routines/{slot}/accept`, `.../reject`, `.../rollback` | [`Done`] |
//! | `POST /api/v1/replicas/{name}/routines/{slot}/plan`, the component's bytes | [`crate::PlanReport`] |
//! | `POST /api/v1/forget` [`ForgetRequest`] | [`Forgotten`] |
//!
//! What fails is answered with a status code over 399 and an [`ApiError`].

mod client;
mod routes;
mod socket;

use serde::{Deserialize, Serialize};

pub use client::{ApiClient, CallError};
pub use routes::AdminServer;
pub use socket::SocketError;

use crate::config::Role;
use crate::status::ErrorKind;

/// Which replicas, and whether to commit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncRequest {
    /// All where none is named.
    pub replica: Option<String>,
    /// Only compares.
    #[serde(default)]
    pub dry_run: bool,
}

/// The role that a replica is to take.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleRequest {
    /// Slave or master.
    pub role: Role,
}

/// What to do with a directory that a broker took over.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdoptRequest {
    /// Write our files over the broker's, which are put aside.
    pub overwrite: bool,
}

/// Which policy may be tried again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetRequest {
    /// The beginning of its id, or of its component's hash.
    pub id: String,
}

/// What to do about a slot's policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapCommand {
    /// Let the held candidate in.
    Accept,
    /// Turn the candidate away, and quarantine it.
    Reject,
    /// Go back to the last good policy, and quarantine the one that runs.
    Rollback,
}

impl SwapCommand {
    /// As in the URL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Rollback => "rollback",
        }
    }
}

/// A quarantine is lifted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forgotten {
    /// In how many slots there was one.
    pub slots: usize,
}

/// It is done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Done {
    /// What there is to say about it.
    pub notes: Vec<String>,
}

/// Why it is not done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApiError {
    /// What and why, and what to do.
    pub error: String,
    /// What kind of failure it is.
    pub kind: ErrorKind,
}
