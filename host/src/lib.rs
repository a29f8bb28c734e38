//! Locum keeps a stand-in of an Apache RocketMQ master's metadata: topics, consumer offsets, delay offsets, subscription groups,
//! safe on disk and ready to boot a broker from. Each sync routine is a WebAssembly component, replaced while the host runs
//! when its file changes.
//!
//! A [`Host`] runs [`Replica`]s, one for each master:
//!
//! ```no_run
//! use locum::{Host, PluginsConfig, ReplicaConfig};
//!
//! # async fn embed() -> Result<(), Box<dyn std::error::Error>> {
//! let replica = ReplicaConfig { master: Some("127.0.0.1:10911".into()), ..ReplicaConfig::new("broker-a/config") };
//! let host = Host::builder("state", PluginsConfig::new("plugins")).replica("broker-a", replica).start().await?;
//! let mut events = host.events();
//! while let Ok(event) = events.recv().await {
//!     println!("{event:?}");
//! }
//! host.shutdown().await;
//! # Ok(())
//! # }
//! ```
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

pub use check::check;
pub use config::{Config, ConfigError, Period, PluginsConfig, ReplicaConfig, Role, RoutineConfig};
pub use events::Event;
pub use host::{Host, HostBuilder, StartError};
pub use locum_tables::{DataVersion, Slot, Table, TableKind};
pub use replica::{
    AdoptError, CommandError, Masters, OpenReplicaError, Remoting, Replica, SyncReport, TableChange,
};
