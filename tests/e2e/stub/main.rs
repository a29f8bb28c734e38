//! The host against a stub master, and, for what is about time, against a scripted master without sockets.
#![allow(clippy::unwrap_used, reason = "tests")]

mod behaviour;
mod cli;
mod embed;
mod lasting;
mod names;
mod reload;
mod reports;
mod support;
mod swap;
mod swaps;
