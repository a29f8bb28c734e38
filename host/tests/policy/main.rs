//! Policies as the host runs them: real components on a scripted master.

#![allow(clippy::unwrap_used, reason = "a test's helpers are tests too")]

mod code_cache;
mod files;
mod fuel;
mod limits;
mod load;
mod support;
mod ticks;
