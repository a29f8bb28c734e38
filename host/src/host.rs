//! All replicas of one process: start, the plugin folder, stop.

mod builder;
mod plugins;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use locum_tables::Slot;
use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast};
use tokio::task::{JoinHandle, JoinSet};

pub use builder::HostBuilder;
use plugins::Plugins;
pub(crate) use plugins::load;

use crate::config::{Config, PluginsConfig, ReplicaConfig, Role, checked_name};
use crate::events::{Event, Telling};
use crate::policy::{Engine, EngineError};
use crate::replica::{CommandError, OpenReplicaError, Remoting, Replica, Shared, SyncReport};
use crate::status::{ErrorKind, ReplicaStatus, RoutineState, RoutineStatus, Status};
use crate::swap::{Files, Watcher};
use crate::telemetry::chain;

/// A running host. Dropping it stops everything without waiting; [`Host::shutdown`] waits for commits under way.
pub struct Host {
    inner: Arc<Inner>,
    pool: Option<tokio::runtime::Runtime>,
    tasks: [JoinHandle<()>; 2],
}

struct Inner {
    state_directory: PathBuf,
    /// Held while a plugin file is read.
    files: Mutex<Files>,
    plugins: Mutex<Plugins>,
    engine: Engine,
    replicas: Mutex<BTreeMap<String, Replica>>,
    /// No replica may be added any more. Changed under the lock of `replicas`.
    stopped: AtomicBool,
    /// Replicas that could not be opened, and are tried again.
    closed: Mutex<BTreeMap<String, Closed>>,
    shared: Arc<Shared>,
    watcher: Mutex<Watcher>,
    changed: Arc<Notify>,
}

/// A replica whose directory or record cannot be used now: kept by another host, on a full or read-only disk.
struct Closed {
    config: ReplicaConfig,
    why: String,
    kind: ErrorKind,
}

/// Why a host did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The WebAssembly engine could not be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The threads for the ticks could not be started.
    #[error("cannot start the threads that run ticks")]
    Threads(#[source] std::io::Error),
    /// A replica's directory or record cannot be used.
    #[error("replica `{name}`")]
    Replica {
        /// Which.
        name: String,
        /// Why.
        source: OpenReplicaError,
    },
    /// The host is shutting down.
    #[error("the host is shutting down")]
    Stopped,
    /// A replica's name cannot stand in a path.
    #[error("{0}")]
    Name(String),
    /// The host has a replica of that name.
    #[error("there is a replica `{0}` already")]
    NameTaken(String),
}

impl Host {
    /// A host that keeps its own records in `state_directory` and takes policies from a plugin folder.
    pub fn builder(state_directory: impl Into<PathBuf>, plugins: PluginsConfig) -> HostBuilder {
        HostBuilder {
            state_directory: state_directory.into(),
            plugins,
            replicas: BTreeMap::new(),
            masters: Arc::new(Remoting),
            scheduled: true,
            read_only: false,
            pool: None,
        }
    }

    /// What a configuration file asks for.
    pub fn from_config(config: Config) -> HostBuilder {
        HostBuilder {
            replicas: config.replicas,
            ..Self::builder(config.state_directory, config.plugins)
        }
    }

    async fn open_all(&self, replicas: BTreeMap<String, ReplicaConfig>) -> Result<(), StartError> {
        let count = replicas.len();
        let mut first = None;
        for (name, config) in replicas {
            match self.inner.add(name.clone(), config.clone(), count).await {
                Ok(_) => {}
                Err(error @ StartError::Replica { .. }) => {
                    self.inner.close(name, config, &error);
                    first.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        match first {
            Some(error) if self.inner.replicas.lock().is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// The replicas that could not be opened yet, each with the reason and its kind.
    pub fn closed(&self) -> Vec<(String, String, ErrorKind)> {
        let told =
            |(name, closed): (&String, &Closed)| (name.clone(), closed.why.clone(), closed.kind);
        self.inner.closed.lock().iter().map(told).collect()
    }

    /// Adds a replica to the running host.
    ///
    /// # Errors
    /// [`StartError::NameTaken`] or [`StartError::Replica`]; the others go on.
    pub async fn add_replica(
        &self,
        name: &str,
        config: ReplicaConfig,
    ) -> Result<Replica, StartError> {
        let count = self.inner.replicas().len() + 1;
        // It takes the place of one of that name that could not be opened.
        self.inner.closed.lock().remove(name);
        self.inner.add(name.to_owned(), config, count).await
    }

    /// Stops a replica and gives its directory free; its files stay. Whether there was one.
    pub async fn remove_replica(&self, name: &str) -> bool {
        let was_closed = self.inner.closed.lock().remove(name).is_some();
        let removed = self.inner.replicas.lock().remove(name);
        match removed {
            Some(replica) => {
                replica.stop().await;
                true
            }
            None => was_closed,
        }
    }

    /// The replica of that name.
    pub fn replica(&self, name: &str) -> Option<Replica> {
        self.inner.replicas.lock().get(name).cloned()
    }

    /// All replicas, by name.
    pub fn replicas(&self) -> Vec<Replica> {
        self.inner.replicas()
    }

    /// One pass of every routine of one replica, or of all, all at once: one whose master is slow does not hold up the others.
    /// With `dry_run` nothing is written, and the reports tell what would change. A replica that is not open has failed.
    pub async fn sync(&self, only: Option<&str>, dry_run: bool) -> Vec<SyncReport> {
        let pass = |replica: Replica| async move {
            if dry_run {
                replica.dry_run().await
            } else {
                replica.sync().await
            }
        };
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        let passes: Vec<_> = self
            .replicas()
            .into_iter()
            .filter(|replica| wanted(replica.name()))
            .map(|replica| tokio::spawn(pass(replica)))
            .collect();
        let mut reports = Vec::new();
        for pass in passes {
            // A pass only fails with the runtime that it runs on.
            reports.extend(pass.await.unwrap_or_default());
        }
        let closed = self.closed().into_iter().filter(|(name, ..)| wanted(name));
        reports.extend(closed.flat_map(|(name, why, kind)| {
            Slot::ALL.map(|slot| SyncReport::not_open(&name, slot, &why, kind))
        }));
        // By name, and in the order of the routines within one.
        reports.sort_by(|one, other| one.replica.cmp(&other.replica));
        reports
    }

    /// Lifts the quarantine of what begins with `id`, by id or component hash, everywhere, and looks at the files that hold it
    /// again. In how many slots there was one.
    ///
    /// # Errors
    /// [`CommandError::NotRecorded`]: it holds, and a restart forgets it.
    pub async fn forget(&self, id: &str) -> Result<usize, CommandError> {
        let mut slots = Ok(0);
        for replica in self.replicas() {
            let forgotten = replica.forget(id).await;
            // Also where it was not recorded: it holds.
            slots = slots.and_then(|slots| Ok(slots + forgotten?));
            let inner = Arc::clone(&self.inner);
            off_thread(move || inner.plugins.lock().offer_to(&replica)).await;
        }
        slots
    }

    /// Everything that happens from now on. A listener that lags too far behind is told so and goes on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.inner.shared.events.subscribe()
    }

    /// What everything is in now.
    pub fn status(&self) -> Status {
        let mut replicas: Vec<_> = self.inner.replicas().iter().map(Replica::status).collect();
        let closed = self.inner.closed.lock();
        replicas.extend(closed.iter().map(|(name, closed)| closed.status(name)));
        replicas.sort_by(|one, other| one.name.cmp(&other.name));
        Status { replicas }
    }

    /// Stops the schedules, lets commits under way end, and gives every directory free.
    pub async fn shutdown(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        let replicas = self.inner.stop();
        // All at once: one whose disk hangs does not keep the others from being told.
        let stops: Vec<_> = replicas
            .into_values()
            .map(|replica| tokio::spawn(async move { replica.stop().await }))
            .collect();
        for stop in stops {
            // A stop only fails with the runtime that it runs on.
            let _ = stop.await;
        }
        // For the next process: this one may have been started for a single pass.
        let inner = Arc::clone(&self.inner);
        off_thread(move || {
            inner.engine.wait_for_code();
            if !inner.shared.scheduled {
                // Nobody else does: such a host looks at its folder only once.
                inner.prune();
            }
        })
        .await;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.inner.stop().values().for_each(Replica::abandon);
        if let Some(pool) = self.pool.take() {
            // A runtime must not be dropped, and so waited for, where things are awaited.
            pool.shutdown_background();
        }
    }
}

impl Closed {
    fn status(&self, name: &str) -> ReplicaStatus {
        let state = match (self.config.role, self.kind) {
            (Role::Master, _) => RoutineState::Stopped,
            (Role::Slave, ErrorKind::InUse) => RoutineState::DirectoryInUse,
            (Role::Slave, _) => RoutineState::Failing,
        };
        ReplicaStatus {
            name: name.to_owned(),
            role: self.config.role,
            master: self.config.master.clone(),
            master_source: self.config.master.as_ref().map(|_| "configured".to_owned()),
            directory: self.config.directory.display().to_string(),
            notes: vec![format!("not open: {}", self.why)],
            routines: Slot::ALL
                .map(|slot| RoutineStatus::of_closed(slot, state))
                .into(),
        }
    }
}

impl Inner {
    /// Remembers a replica that could not be opened, and tells it once.
    fn close(&self, name: String, config: ReplicaConfig, error: &StartError) {
        let why = chain(error);
        let kind = match error {
            StartError::Replica { source, .. } => source.kind(),
            _ => ErrorKind::Internal,
        };
        let closed = Closed {
            config,
            why: why.clone(),
            kind,
        };
        let before = self.closed.lock().insert(name.clone(), closed);
        if before.is_none_or(|before| before.why != why) {
            let event = Event::Noticed {
                replica: name,
                note: why,
            };
            event.log(Telling::default());
            // Nobody may be listening.
            let _ = self.shared.events.send(event);
        }
    }

    /// Tries again to open what could not be opened.
    async fn open_again(self: &Arc<Self>) {
        let waiting: Vec<_> = {
            let closed = self.closed.lock();
            closed
                .iter()
                .map(|(name, closed)| (name.clone(), closed.config.clone()))
                .collect()
        };
        let count = self.replicas.lock().len() + waiting.len();
        for (name, config) in waiting {
            if !self.closed.lock().contains_key(&name) {
                continue;
            }
            let added = self.add(name.clone(), config.clone(), count).await;
            let wanted = {
                let mut closed = self.closed.lock();
                match added {
                    Ok(_) => closed.remove(&name).is_some(),
                    Err(_) => closed.contains_key(&name),
                }
            };
            match added {
                Ok(_) if wanted => {}
                // Removed while it was being opened.
                Ok(replica) => {
                    self.replicas.lock().remove(&name);
                    replica.stop().await;
                }
                Err(error) if wanted => self.close(name, config, &error),
                Err(_) => {}
            }
        }
    }

    fn replicas(&self) -> Vec<Replica> {
        self.replicas.lock().values().cloned().collect()
    }

    /// Policies first, so that the first tick of all has one; then the directory; then the schedule.
    async fn add(
        self: &Arc<Self>,
        name: String,
        config: ReplicaConfig,
        count: usize,
    ) -> Result<Replica, StartError> {
        let name = checked_name(name).map_err(StartError::Name)?;
        if self.replicas.lock().contains_key(&name) {
            return Err(StartError::NameTaken(name));
        }
        self.look(Slot::ALL.map(|slot| config.plugin(slot)).into())
            .await;
        let inner = Arc::clone(self);
        off_thread(move || {
            let replica = inner.open(name, config, count)?;
            inner.take_in(replica)
        })
        .await
    }

    /// Offers what is known of its files and lets it run, in one step: a file that changes meanwhile is offered to it by whoever
    /// looks next. Blocking, since a component may be compiling.
    fn take_in(&self, replica: Replica) -> Result<Replica, StartError> {
        let plugins = self.plugins.lock();
        plugins.offer_to(&replica);
        let name = replica.name().to_owned();
        let mut replicas = self.replicas.lock();
        if self.stopped.load(Ordering::Relaxed) {
            return Err(StartError::Stopped);
        }
        if replicas.contains_key(&name) {
            return Err(StartError::NameTaken(name));
        }
        replica.run();
        replicas.insert(name, replica.clone());
        Ok(replica)
    }

    /// Takes all replicas out, and lets none in any more.
    fn stop(&self) -> BTreeMap<String, Replica> {
        let mut replicas = self.replicas.lock();
        self.stopped.store(true, Ordering::Relaxed);
        std::mem::take(&mut *replicas)
    }

    fn open(
        &self,
        name: String,
        config: ReplicaConfig,
        count: usize,
    ) -> Result<Replica, StartError> {
        let shared = Arc::clone(&self.shared);
        let load = |sha256: &str, component| {
            let known = self.plugins.lock().policy(sha256);
            let load = |refusal| chain(&refusal);
            known.map_or_else(|| self.engine.load(component).map_err(load), Ok)
        };
        Replica::open(&name, config, count, &self.state_directory, shared, &load)
            .map_err(|source| StartError::Replica { name, source })
    }
}

/// Runs what blocks. A panic in it goes on here.
async fn off_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(run).await {
        Ok(ran) => ran,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is going, and this future with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// How often a replica that could not be opened is tried again.
const OPEN_AGAIN: Duration = Duration::from_secs(10);

/// Runs a task, and again after a panic: what keeps looking must not stop looking. It ends with the future that keeps it.
async fn kept<F: Future<Output = ()> + Send + 'static>(what: &str, task: impl Fn() -> F) {
    loop {
        // Dropping the set ends what is in it.
        let mut kept = JoinSet::new();
        kept.spawn(task());
        match kept.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                tracing::error!(%error, "{what} failed, and begins anew");
                tokio::time::sleep(OPEN_AGAIN).await;
            }
            _ => return,
        }
    }
}

async fn open_closed(host: Arc<Inner>, scheduled: bool) {
    if !scheduled {
        return;
    }
    loop {
        tokio::time::sleep(OPEN_AGAIN).await;
        host.open_again().await;
    }
}
