//! Policies: WebAssembly components that fill a replica's slots, run one tick at a time.
//!
//! This is the only room that names wasmtime. It takes a component's bytes, says why it cannot be a policy or what it is
//! ([`Engine::load`]), and runs it ([`Policy::run`]): a fresh store and instance for each tick, so that nothing leaks from
//! one tick to the next and a trap poisons nothing. What the master answers comes through the [`Fetch`] trait, what the
//! policy drafted leaves as tables; this room knows no socket, no schedule, and no file but those of its own code cache.
//!
//! What holds:
//! - A policy imports `locum:sync` and nothing else; whatever does not fit is refused at load, never at its first call.
//! - Guest time, memory, host-call bytes, handles, log and memory between ticks are bounded ([`Limits`]), and a limit that
//!   is hit is named with its value.
//! - Guest time is counted with host calls and without waiting for the master, and a running guest gives its thread back each
//!   epoch.
//! - Whatever is wrong with the code cache, a component is compiled again; nobody waits for the cache's disk.
//! - Dropping [`Policy::run`]'s future is safe: its store goes with it and is never used again.

mod apart;
mod bindings;
mod cause;
mod check;
mod code_cache;
mod description;
mod engine;
mod fetch;
mod limits;
mod linked;
mod log;
mod meter;
mod precompiled;
mod refusal;
mod report;
mod state;
mod tick;
mod world;

pub use cause::Cause;
pub use check::Outside;
pub use description::{Description, Setting, Settings};
pub use engine::{Engine, EngineError};
pub use fetch::{BoxFuture, Fetch, FetchError};
pub use limits::{COMPONENT_BYTES, Limits};
pub use meter::Spent;
pub use refusal::Refusal;
pub use report::{Failure, RunError, TrapReport};
pub use tick::{Done, Memory, Policy, Ran, Tick};

#[cfg(test)]
mod tests;
