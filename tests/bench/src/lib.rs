//! Runs that are measured, and those of them that the tests go through too, in a shorter form.

pub mod footprint;
pub mod latency;
pub mod ledger;
mod stage;
pub mod stalls;
pub mod swaps;

/// Why a run came to no end.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;
