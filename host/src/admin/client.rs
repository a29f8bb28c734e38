//! The API's client, as the command line uses it.

use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};

use super::{AdoptRequest, ApiError, Done, RoleRequest, SocketError, SyncRequest, socket};
use crate::config::Role;
use crate::replica::SyncReport;
use crate::status::Status;

/// Speaks to the host that runs with a state directory.
#[derive(Debug, Clone)]
pub struct ApiClient {
    state_directory: PathBuf,
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No host, or no socket.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The host said why not.
    #[error("{}", .0.error)]
    Host(ApiError),
    /// The conversation broke.
    #[error("the host's answer did not come")]
    Http(#[from] hyper::Error),
    /// The answer is of another version of the host, perhaps.
    #[error("the host's answer is not understood: {0}")]
    Answer(String),
}

impl ApiClient {
    /// For the host with that state directory; nothing is connected yet.
    pub fn new(state_directory: &Path) -> Self {
        Self {
            state_directory: state_directory.to_owned(),
        }
    }

    /// Whether a host listens.
    pub fn is_running(&self) -> bool {
        socket::connect(&self.state_directory).is_ok()
    }

    /// What everything is in.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn status(&self) -> Result<Status, CallError> {
        self.call(Method::GET, "/api/v1/status", &()).await
    }

    /// One pass of every routine.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn sync(&self, request: &SyncRequest) -> Result<Vec<SyncReport>, CallError> {
        self.call(Method::POST, "/api/v1/sync", request).await
    }

    /// Another role.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn set_role(&self, replica: &str, role: Role) -> Result<Done, CallError> {
        self.call(
            Method::POST,
            &format!("/api/v1/replicas/{replica}/role"),
            &RoleRequest { role },
        )
        .await
    }

    /// Stops or resumes a routine's schedule.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn set_paused(
        &self,
        replica: &str,
        routine: &str,
        paused: bool,
    ) -> Result<Done, CallError> {
        let verb = if paused { "pause" } else { "resume" };
        self.call(
            Method::POST,
            &format!("/api/v1/replicas/{replica}/routines/{routine}/{verb}"),
            &(),
        )
        .await
    }

    /// Takes a directory back from a broker that took it over.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn adopt(&self, replica: &str, overwrite: bool) -> Result<Done, CallError> {
        self.call(
            Method::POST,
            &format!("/api/v1/replicas/{replica}/adopt"),
            &AdoptRequest { overwrite },
        )
        .await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CallError> {
        let (status, answer) = self.exchange(method, path, body).await?;
        if status.is_success() {
            return serde_json::from_slice(&answer)
                .map_err(|error| CallError::Answer(error.to_string()));
        }
        match serde_json::from_slice(&answer) {
            Ok(error) => Err(CallError::Host(error)),
            Err(_) => Err(CallError::Answer(format!(
                "{status}: {}",
                String::from_utf8_lossy(&answer)
            ))),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<(hyper::StatusCode, Bytes), CallError> {
        let failed = |source| SocketError::Io {
            path: self.state_directory.clone(),
            source,
        };
        let stream = socket::connect(&self.state_directory)?;
        stream.set_nonblocking(true).map_err(failed)?;
        let stream = tokio::net::UnixStream::from_std(stream).map_err(failed)?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(connection);
        let body =
            serde_json::to_vec(body).map_err(|error| CallError::Answer(error.to_string()))?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "locum")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| CallError::Answer(error.to_string()))?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        driver.abort();
        Ok((status, body))
    }
}
