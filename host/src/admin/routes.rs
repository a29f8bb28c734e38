//! The routes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path as UrlPath, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use locum_tables::Slot;
use tokio::task::JoinHandle;

use super::{
    AdoptRequest, ApiError, Done, ForgetRequest, Forgotten, RoleRequest, SocketError, SyncRequest,
    socket,
};
use crate::host::Host;
use crate::policy::COMPONENT_BYTES;
use crate::replica::{AdoptError, CommandError, PlanError, PlanReport, Replica, SyncReport};
use crate::status::{ErrorKind, Status};
use crate::telemetry::chain;

/// Serves the API until it is dropped.
pub struct AdminServer {
    task: JoinHandle<()>,
    state_directory: PathBuf,
}

impl AdminServer {
    /// Listens on `locum.sock` in `state_directory`.
    ///
    /// # Errors
    /// [`SocketError`]: another host listens there, or the system says no.
    pub fn start(host: Arc<Host>, state_directory: &Path) -> Result<Self, SocketError> {
        let failed = |source| SocketError::Io {
            path: state_directory.to_owned(),
            source,
        };
        let listener = socket::listen(state_directory)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = tokio::net::UnixListener::from_std(listener).map_err(failed)?;
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router(host)).await {
                tracing::error!(%error, "the admin API ended");
            }
        });
        Ok(Self {
            task,
            state_directory: state_directory.to_owned(),
        })
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        self.task.abort();
        socket::remove(&self.state_directory);
    }
}

fn router(host: Arc<Host>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/api/v1/status", get(status))
        .route("/api/v1/sync", post(sync))
        .route("/api/v1/replicas/{name}/role", post(role))
        .route("/api/v1/replicas/{name}/routines/{slot}/pause", post(pause))
        .route(
            "/api/v1/replicas/{name}/routines/{slot}/resume",
            post(resume),
        )
        .route("/api/v1/replicas/{name}/adopt", post(adopt))
        .route(
            "/api/v1/replicas/{name}/routines/{slot}/accept",
            post(accept),
        )
        .route(
            "/api/v1/replicas/{name}/routines/{slot}/reject",
            post(reject),
        )
        .route(
            "/api/v1/replicas/{name}/routines/{slot}/rollback",
            post(roll_back),
        )
        .route(
            "/api/v1/replicas/{name}/routines/{slot}/plan",
            post(plan).layer(DefaultBodyLimit::max(COMPONENT_BYTES)),
        )
        .route("/api/v1/forget", post(forget))
        .with_state(host)
}

type Answer<T> = Result<Json<T>, ApiError>;

async fn status(State(host): State<Arc<Host>>) -> Json<Status> {
    Json(host.status())
}

async fn sync(
    State(host): State<Arc<Host>>,
    Json(request): Json<SyncRequest>,
) -> Answer<Vec<SyncReport>> {
    if let Some(name) = &request.replica {
        found(&host, name)?;
    }
    Ok(Json(
        host.sync(request.replica.as_deref(), request.dry_run).await,
    ))
}

async fn role(
    State(host): State<Arc<Host>>,
    UrlPath(name): UrlPath<String>,
    Json(request): Json<RoleRequest>,
) -> Answer<Done> {
    found(&host, &name)?.set_role(request.role).await?;
    Ok(done(Vec::new()))
}

async fn pause(
    State(host): State<Arc<Host>>,
    UrlPath((name, slot)): UrlPath<(String, String)>,
) -> Answer<Done> {
    found(&host, &name)?.pause(slot_of(&slot)?).await?;
    Ok(done(Vec::new()))
}

async fn resume(
    State(host): State<Arc<Host>>,
    UrlPath((name, slot)): UrlPath<(String, String)>,
) -> Answer<Done> {
    found(&host, &name)?.resume(slot_of(&slot)?).await?;
    Ok(done(Vec::new()))
}

type Routine = UrlPath<(String, String)>;

async fn accept(State(host): State<Arc<Host>>, UrlPath((name, slot)): Routine) -> Answer<Done> {
    found(&host, &name)?.accept(slot_of(&slot)?).await?;
    Ok(done(Vec::new()))
}

async fn reject(State(host): State<Arc<Host>>, UrlPath((name, slot)): Routine) -> Answer<Done> {
    found(&host, &name)?.reject(slot_of(&slot)?).await?;
    Ok(done(Vec::new()))
}

async fn roll_back(State(host): State<Arc<Host>>, UrlPath((name, slot)): Routine) -> Answer<Done> {
    found(&host, &name)?.roll_back(slot_of(&slot)?).await?;
    Ok(done(Vec::new()))
}

async fn plan(
    State(host): State<Arc<Host>>,
    UrlPath((name, slot)): Routine,
    component: Bytes,
) -> Answer<PlanReport> {
    let replica = found(&host, &name)?;
    let component = component.as_ref().into();
    Ok(Json(replica.plan(slot_of(&slot)?, component).await?))
}

async fn forget(
    State(host): State<Arc<Host>>,
    Json(request): Json<ForgetRequest>,
) -> Answer<Forgotten> {
    match host.forget(&request.id).await? {
        0 => Err(ApiError {
            error: format!(
                "no slot has quarantined what begins with `{}`; `locum plugin list` tells what is",
                request.id
            ),
            kind: ErrorKind::InUse,
        }),
        slots => Ok(Json(Forgotten { slots })),
    }
}

async fn adopt(
    State(host): State<Arc<Host>>,
    UrlPath(name): UrlPath<String>,
    Json(request): Json<AdoptRequest>,
) -> Answer<Done> {
    Ok(done(found(&host, &name)?.adopt(request.overwrite).await?))
}

fn done(notes: Vec<String>) -> Json<Done> {
    Json(Done { notes })
}

fn found(host: &Host, name: &str) -> Result<Replica, ApiError> {
    if let Some(replica) = host.replica(name) {
        return Ok(replica);
    }
    if let Some((_, why, kind)) = host
        .closed()
        .into_iter()
        .find(|(closed, ..)| closed == name)
    {
        return Err(ApiError {
            error: format!("not open: {why}"),
            kind,
        });
    }
    let known: Vec<_> = host
        .replicas()
        .iter()
        .map(|replica| replica.name().to_owned())
        .collect();
    let error = format!(
        "there is no replica `{name}`; there is: {}",
        known.join(", ")
    );
    Err(ApiError {
        error,
        kind: ErrorKind::Config,
    })
}

fn slot_of(name: &str) -> Result<Slot, ApiError> {
    Slot::from_name(name).ok_or_else(|| {
        let known = Slot::ALL.map(Slot::name).join(", ");
        ApiError {
            error: format!("there is no routine `{name}`; there is: {known}"),
            kind: ErrorKind::Config,
        }
    })
}

impl From<CommandError> for ApiError {
    fn from(error: CommandError) -> Self {
        Self {
            error: chain(&error),
            kind: match error {
                CommandError::NotRecorded(_) => ErrorKind::Disk,
                CommandError::NotPossible(_) => ErrorKind::InUse,
            },
        }
    }
}

impl From<PlanError> for ApiError {
    fn from(error: PlanError) -> Self {
        Self {
            error: chain(&error),
            kind: error.kind(),
        }
    }
}

impl From<AdoptError> for ApiError {
    fn from(error: AdoptError) -> Self {
        Self {
            kind: error.kind(),
            error: chain(&error),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = match self.kind {
            ErrorKind::Config => StatusCode::NOT_FOUND,
            ErrorKind::InUse => StatusCode::CONFLICT,
            ErrorKind::BadData => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Unreachable | ErrorKind::Refused => StatusCode::BAD_GATEWAY,
            ErrorKind::Disk | ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (code, Json(self)).into_response()
    }
}
