//! The API's client, as the command line uses it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::timeout;

use super::{
    AdoptRequest, ApiError, Done, ForgetRequest, Forgotten, RoleRequest, SocketError, SwapCommand,
    SyncRequest, socket,
};
use crate::config::{Role, checked_name};
use crate::policy::{COMPONENT_BYTES, Refusal};
use crate::replica::{PlanError, PlanReport, SyncReport};
use crate::status::{ErrorKind, Status};

/// How long a host may take for what it does at once, save for a commit under way.
const PATIENCE: Duration = Duration::from_secs(30);

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
    /// The host took the request and said nothing.
    #[error("the host did not answer within {0:?}: it hangs or is stopped")]
    Silent(Duration),
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
    ///
    /// # Errors
    /// [`SocketError::Io`]: there is a socket, and this user may not use it, for example.
    pub fn is_running(&self) -> Result<bool, SocketError> {
        match socket::connect(&self.state_directory) {
            Ok(_) => Ok(true),
            Err(SocketError::NotRunning(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What everything is in.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn status(&self) -> Result<Status, CallError> {
        self.call(Some(PATIENCE), Method::GET, "/api/v1/status", &())
            .await
    }

    /// One pass of every routine.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn sync(&self, request: &SyncRequest) -> Result<Vec<SyncReport>, CallError> {
        // As long as its masters take.
        self.call(None, Method::POST, "/api/v1/sync", request).await
    }

    /// Another role.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn set_role(&self, replica: &str, role: Role) -> Result<Done, CallError> {
        self.call(
            Some(PATIENCE),
            Method::POST,
            &path(replica, "role")?,
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
            Some(PATIENCE),
            Method::POST,
            &path(replica, &format!("routines/{routine}/{verb}"))?,
            &(),
        )
        .await
    }

    /// Does something about a slot's policies.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn swap(
        &self,
        replica: &str,
        routine: &str,
        command: SwapCommand,
    ) -> Result<Done, CallError> {
        let path = path(replica, &format!("routines/{routine}/{}", command.name()))?;
        self.call(Some(PATIENCE), Method::POST, &path, &()).await
    }

    /// Lets what is quarantined be tried again.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn forget(&self, id: &str) -> Result<Forgotten, CallError> {
        let request = ForgetRequest { id: id.to_owned() };
        self.call(Some(PATIENCE), Method::POST, "/api/v1/forget", &request)
            .await
    }

    /// What a component would change in a slot, against what runs there.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn plan(
        &self,
        replica: &str,
        routine: &str,
        component: Vec<u8>,
    ) -> Result<PlanReport, CallError> {
        let (size, limit) = (component.len(), COMPONENT_BYTES);
        if size > limit {
            // The host would read no further, and say less.
            let refusal = PlanError::from(Refusal::TooLarge { size, limit });
            return Err(CallError::Host(refusal.into()));
        }
        let path = path(replica, &format!("routines/{routine}/plan"))?;
        let exchange = self.exchange(Method::POST, &path, "application/wasm", component);
        // As long as its master takes, and as both policies may compute.
        answer(exchange.await?)
    }

    /// Takes a directory back from a broker that took it over.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn adopt(&self, replica: &str, overwrite: bool) -> Result<Done, CallError> {
        self.call(
            Some(PATIENCE),
            Method::POST,
            &path(replica, "adopt")?,
            &AdoptRequest { overwrite },
        )
        .await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        within: Option<Duration>,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CallError> {
        let body =
            serde_json::to_vec(body).map_err(|error| CallError::Answer(error.to_string()))?;
        let exchange = self.exchange(method, path, "application/json", body);
        answer(match within {
            Some(within) => timeout(within, exchange)
                .await
                .map_err(|_| CallError::Silent(within))??,
            None => exchange.await?,
        })
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
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
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "locum")
            .header("content-type", content_type)
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| CallError::Answer(error.to_string()))?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        driver.abort();
        Ok((status, body))
    }
}

/// What the host answered, or why not.
fn answer<T: DeserializeOwned>(
    (status, answer): (hyper::StatusCode, Bytes),
) -> Result<T, CallError> {
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

/// A name that cannot be one of a replica cannot be part of a URL either.
fn path(replica: &str, rest: &str) -> Result<String, CallError> {
    let name = checked_name(replica.to_owned()).map_err(|error| {
        CallError::Host(ApiError {
            error,
            kind: ErrorKind::Config,
        })
    })?;
    Ok(format!("/api/v1/replicas/{name}/{rest}"))
}
