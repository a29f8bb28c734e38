//! Locum keeps a stand-in of an Apache RocketMQ master's metadata: topics, consumer offsets, delay offsets, subscription groups,
//! safe on disk and ready to boot a broker from. Each sync routine is a WebAssembly component, replaced while the host runs
//! when its file changes.
//!
//! A [`Host`] runs [`Replica`]s, one for each master, inside a tokio runtime (any kind); ticks have threads of their own:
//!
//! ```no_run
//! use locum::{Host, PluginsConfig, ReplicaConfig};
//!
//! # async fn embed() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Host::builder("state", PluginsConfig::new("plugins")).start().await?;
//! let mut events = host.events();
//! let config = ReplicaConfig { master: Some("127.0.0.1:10911".into()), ..ReplicaConfig::new("broker-a/config") };
//! let replica = host.add_replica("broker-a", config).await?;
//! println!("{:?}", events.recv().await?);
//! println!("{:?}", replica.status());
//! host.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! `examples/embed.rs` is a whole program. [`Host::from_config`] takes a configuration file's [`Config`]; [`admin::AdminServer`] serves the
//! socket that `locum status` asks; [`Masters`] is where another transport than [`Remoting`] goes.
//!
//! `docs/architecture.md` is the map of this crate.

pub mod admin;
mod check;
mod clock;
mod config;
mod events;
mod hash;
mod host;
pub mod master;
pub mod policy;
mod replica;
pub mod schedule;
pub mod status;
pub mod store;
mod swap;
pub mod telemetry;

pub use check::{
    ComponentReport, RefusedReport, SlotOutcome, SlotVerdict, check, inspect_component,
};
pub use config::{
    AclConfig, Config, ConfigError, Limits, LookupConfig, Period, PluginsConfig, ReplicaConfig,
    Role, RoutineConfig, TrialConfig,
};
pub use events::{Event, Transition};
pub use host::{Host, HostBuilder, StartError};
pub use locum_tables::{
    CONSUMER_OFFSETS, DELAY_OFFSETS, DataVersion, KINDS, SUBSCRIPTION_GROUPS, Slot, TOPICS, Table,
    TableKind,
};
pub use replica::{
    AdoptError, CommandError, Masters, OpenReplicaError, PlanError, PlanOutcome, PlanReport,
    PlannedRun, Remoting, Replica, SyncReport, TableChange,
};
