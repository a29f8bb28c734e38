//! A light stand-in for an Apache RocketMQ master and its name server, for tests and for the demo.
//!
//! One [`Stub`] listens on a loopback port and answers as a real broker of its [`Dialect`] does, name server codes
//! included: bare integer keys, member sets, member order, key order, reply headers. Its [`Tables`] change while it runs,
//! a [`Fault`] spoils the answers that a test wants spoilt, and its [`Recorder`] tells what was asked.
//!
//! Frames and bodies are written by hand as text, so that nothing that Locum reads them with also wrote them. Only the
//! requests that come in are read by `locum-remoting`. Tests wait on events ([`Recorder::wait_for`], [`Gate::holding`]),
//! never on time.
//!
//! ```no_run
//! # async fn test() -> std::io::Result<()> {
//! use stub_master::{Dialect, Fault, Gate, Stub, Times, Topic};
//!
//! let stub = Stub::start(Dialect::V5_5).await?;
//! stub.tables().set_topic(Topic::new("T").attribute("message.type", "FIFO"));
//! stub.tables().commit_offset("T", "G", 0, 42);
//! let gate = Gate::new();
//! stub.script(43, Fault::Late(gate.clone()), Times::Once);
//! // ... start what is tested with `stub.address()` ...
//! gate.holding(1).await; // its request for offsets has come
//! gate.open();
//! stub.recorder().wait_for(43, 2).await; // and the one after it
//! # Ok(())
//! # }
//! ```
//!
//! Not spoken: sending and pulling messages, writes by remoting (use [`Tables`]), routes (105), TLS. Signatures
//! are asked for when a test says so ([`Stub::demand_signatures`]).

mod acl;
mod answer;
mod config;
mod dialect;
mod fault;
mod fill;
mod fresh;
mod java;
mod json;
mod live;
mod paging;
mod recorder;
mod runtime;
mod script;
mod server;
mod state;
mod stub;
mod tables;
mod version;
mod wire;

pub use config::{Group, Topic};
pub use dialect::{Dialect, UnknownDialect};
pub use fault::{Fault, Gate};
pub use fill::{Fill, MalformedFill};
pub use live::Live;
pub use locum_remoting::HeaderForm;
pub use recorder::{Recorder, Seen};
pub use script::Times;
pub use stub::Stub;
pub use tables::Tables;
pub use version::{Kind, Version};
