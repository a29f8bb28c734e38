//! A host on a stub master, in folders of its own.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use locum::{Event, Host, Period, PluginsConfig, ReplicaConfig, Slot};
use sha2::{Digest, Sha256};
use stub_master::{Dialect, Fill, Stub};
use tempfile::TempDir;
use tokio::sync::broadcast;

use crate::Failed;

/// Longer than anything takes here: only a bug makes a run wait for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The replica's name.
const REPLICA: &str = "broker-a";

/// Small tables: what a swap costs, not what a table costs.
const FILL: Fill = Fill {
    topics: 40,
    groups: 20,
    offset_keys: 200,
    queues: 4,
    seed: 1,
};

/// A plugin folder, a state directory, a replica's directory, and a master.
pub(crate) struct Stage {
    root: TempDir,
    stub: Stub,
}

impl Stage {
    /// With the four policies in the plugin folder.
    pub(crate) async fn new() -> Result<Self, Failed> {
        let stub = Stub::start(Dialect::V5_5).await?;
        stub.tables().fill(&FILL);
        stub.tables().set_delay(1, 10);
        let stage = Self {
            root: TempDir::new()?,
            stub,
        };
        fs::create_dir(stage.path("plugins"))?;
        for slot in Slot::ALL {
            stage.install(slot, &policies::all().bytes(slot.name()))?;
        }
        Ok(stage)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Where the host keeps its own files.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Lets go of what the master noted, which is no part of what a run takes.
    pub(crate) fn tidy(&self) {
        self.stub.recorder().forget();
    }

    /// A file of the replica.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path("store/config").join(name)
    }

    /// Puts a component into a slot's place by rename, as an editor saves; its hash in hex.
    pub(crate) fn install(&self, slot: Slot, component: &[u8]) -> Result<String, Failed> {
        let next = self.path("next.wasm");
        fs::write(&next, component)?;
        fs::rename(&next, self.path("plugins").join(format!("{slot}.wasm")))?;
        Ok(sha256(component))
    }

    /// Starts a host whose slots are due after `first_delay`, then each `period`.
    pub(crate) async fn start(
        &self,
        first_delay: Duration,
        period: Duration,
        quiet_period: Duration,
    ) -> Result<(Host, Watch), Failed> {
        let plugins = PluginsConfig {
            quiet_period,
            ..PluginsConfig::new(self.path("plugins"))
        };
        let replica = ReplicaConfig {
            master: Some(self.stub.address()),
            first_delay,
            period: Period::named(period),
            ..ReplicaConfig::new(self.path("store/config"))
        };
        let host = Host::builder(self.state(), plugins)
            .replica(REPLICA, replica)
            .start()
            .await?;
        let watch = Watch(host.events());
        Ok((host, watch))
    }
}

/// How often each slot of the host was due and did not tick.
pub(crate) fn missed(host: &Host) -> Vec<(Slot, u64)> {
    let replicas = host.status().replicas.into_iter();
    replicas
        .flat_map(|replica| replica.routines)
        .map(|routine| (routine.name, routine.missed))
        .collect()
}

/// Somebody who hears every event of a host.
pub(crate) struct Watch(broadcast::Receiver<Event>);

impl Watch {
    /// The next event.
    ///
    /// # Errors
    /// If some were lost.
    pub(crate) async fn next(&mut self) -> Result<Event, Failed> {
        Ok(self.0.recv().await?)
    }
}

fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
