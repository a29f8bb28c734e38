//! Putting a host together, and its start.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, broadcast};

use super::plugins::{self, COMPILERS, TRIALS};
use super::{Host, Inner, StartError, kept, open_closed};
use crate::config::{PluginsConfig, ReplicaConfig};
use crate::policy::{COMPONENT_BYTES, Engine};
use crate::replica::{Masters, Shared};
use crate::swap::{Files, Watcher};

/// How many events a listener may lag behind before it misses some.
const EVENT_BACKLOG: usize = 4096;

/// Puts a host together. See `host/examples/embed.rs`.
pub struct HostBuilder {
    pub(super) state_directory: PathBuf,
    pub(super) plugins: PluginsConfig,
    pub(super) replicas: BTreeMap<String, ReplicaConfig>,
    pub(super) masters: Arc<dyn Masters>,
    pub(super) scheduled: bool,
    pub(super) read_only: bool,
    pub(super) pool: Option<tokio::runtime::Handle>,
}

impl HostBuilder {
    /// Adds a replica.
    #[must_use]
    pub fn replica(mut self, name: impl Into<String>, config: ReplicaConfig) -> Self {
        self.replicas.insert(name.into(), config);
        self
    }

    /// Reaches masters in another way than over TCP: for tests.
    #[must_use]
    pub fn masters(mut self, masters: Arc<dyn Masters>) -> Self {
        self.masters = masters;
        self
    }

    /// Routines run only when they are asked ([`Host::sync`]), and the plugin folder is read only once.
    #[must_use]
    pub fn without_schedule(mut self) -> Self {
        self.scheduled = false;
        self
    }

    /// Nothing is written, not even our own lock, and nothing runs by schedule: for [`Host::sync`] as a dry run.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self.without_schedule()
    }

    /// Ticks run on that runtime instead of threads of their own: for tests with a paused clock.
    #[must_use]
    pub fn ticks_on(mut self, pool: tokio::runtime::Handle) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Starts: loads the policies, opens every replica, and lets the schedules run. A replica that cannot be opened is tried again
    /// each ten seconds and does not keep the others from running, unless it is all of them.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then, and no directory is held.
    pub async fn start(self) -> Result<Host, StartError> {
        let engine = Engine::new()?;
        let engine = match self.read_only {
            true => engine,
            false => engine.with_code_cache(self.state_directory.join("code")),
        };
        let own_pool = match self.pool {
            None => Some(tick_threads().map_err(StartError::Threads)?),
            Some(_) => None,
        };
        let pool = own_pool
            .as_ref()
            .map(|pool| pool.handle().clone())
            .or(self.pool);
        let shared = Arc::new(Shared {
            pool: pool.unwrap_or_else(tokio::runtime::Handle::current),
            io: tokio::runtime::Handle::current(),
            events: broadcast::Sender::new(EVENT_BACKLOG),
            masters: self.masters,
            scheduled: self.scheduled,
            read_only: self.read_only,
            probation_ticks: self.plugins.probation_ticks,
            compilers: Semaphore::new(COMPILERS),
            trials: Semaphore::new(TRIALS),
        });
        let changed = Arc::new(Notify::new());
        let watcher = Watcher::new(
            self.plugins.directory.clone(),
            Vec::new(),
            Arc::clone(&changed),
        );
        let inner = Arc::new(Inner {
            state_directory: self.state_directory,
            files: Mutex::new(Files::new(
                self.plugins.directory.clone(),
                COMPONENT_BYTES as u64,
            )),
            plugins: Mutex::default(),
            engine,
            replicas: Mutex::new(BTreeMap::new()),
            stopped: AtomicBool::new(false),
            closed: Mutex::new(BTreeMap::new()),
            shared,
            watcher: Mutex::new(watcher),
            changed,
        });
        if self.scheduled {
            // Before the first look at a file: what changes after it must not be missed.
            inner.renew_watch().await;
        }
        let (watching, opening) = (Arc::clone(&inner), Arc::clone(&inner));
        let tasks = [
            tokio::spawn(kept("watching the plugin folder", move || {
                plugins::watch(Arc::clone(&watching), self.plugins.clone(), self.scheduled)
            })),
            tokio::spawn(kept("opening replicas again", move || {
                open_closed(Arc::clone(&opening), self.scheduled)
            })),
        ];
        let host = Host {
            inner,
            pool: own_pool,
            tasks,
        };
        host.open_all(self.replicas).await?;
        Ok(host)
    }
}

fn tick_threads() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_name("locum-tick")
        .max_blocking_threads(64)
        .enable_time()
        .build()
}
