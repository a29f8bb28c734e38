//! Real RocketMQ name servers and brokers for tests.
//!
//! The artifacts come from Maven, once per version, into the cargo target folder. Every process runs on fresh loopback
//! ports with its home, logs and store in a temporary directory, and is stopped by its pid. Everything here blocks: it
//! is called from tests, which wait for it anyway.
//!
//! A broker needs no name server: without one it cannot register, which it only logs. Tests that do not ask a name
//! server start none.
//!
//! ```no_run
//! # fn main() -> Result<(), real_master::Error> {
//! use real_master::{Broker, Version};
//!
//! let broker = Broker::builder(Version::V5_5_0).start()?;
//! real_master::seed(&broker)?;
//! let offsets = broker.ask(43)?;
//! # Ok(()) }
//! ```

pub mod accounts;
mod admin;
mod broker;
mod classpath;
mod connection;
mod error;
mod home;
mod json;
mod message;
mod name_server;
mod ports;
mod process;
mod seed;
mod tools;
mod version;
mod wait;

pub use admin::Topic;
pub use broker::{Broker, BrokerBuilder};
pub use classpath::Classpath;
pub use connection::Connection;
pub use error::Error;
pub use message::Message;
pub use name_server::NameServer;
pub use seed::seed;
pub use tools::{Missing, available, skipped};
pub use version::Version;
pub use wait::wait_for;
