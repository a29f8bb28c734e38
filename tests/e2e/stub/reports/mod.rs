//! What went wrong elsewhere, each with a test of its own. Those that are tested whole in one room are there: 13 and 14 in
//! `host/src/store/tests`, 18, 59, 64 and 94 in `host/tests/policy` and `host/src/policy/tests.rs`, 39 in `host/tables`.

mod files;
mod masters;
mod plugins;
mod tables;
mod ticks;
