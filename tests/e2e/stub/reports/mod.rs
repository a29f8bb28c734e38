//! What went wrong elsewhere, each with a test of its own. Those that are tested whole in one room are there: 13 in
//! `host/src/store/tests`, 18 in `host/src/policy/tests.rs`, 94 in `host/tests/policy`, 39 in `host/tables`; 22, 67 and 68 are in
//! `reload.rs` of this crate.

mod files;
mod keys;
mod masters;
mod plugins;
mod tables;
mod ticks;
