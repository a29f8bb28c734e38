//! Swaps a policy many times while every slot ticks, and measures how long a good file takes into its slot.
//!
//! `cargo run --release -p bench --bin swaps` fails if ticks were missed but by ones that took long or by a machine that stalled, or one ran another file than the one that was live, or if the
//! process takes more than a tenth more, or less, at the last swap than at the tenth part of them. How long a swap takes is
//! printed only: it depends on the machine. Run it on a quiet one: what else runs there makes ticks late too.
#![allow(clippy::print_stdout, reason = "a measurement is printed")]

use std::process::ExitCode;

use bench::Failed;
use bench::footprint::Footprint;
use bench::latency::{self, Latencies, Latency};
use bench::ledger::Ticks;
use bench::swaps::{self, Outcome, Plan};
use clap::Parser;

/// Files that are put into each slot to measure how long that takes.
const TIMES: u32 = 7;

/// Swaps a policy many times while every slot ticks each 100 ms, and measures how long a swap takes.
#[derive(Parser)]
#[command(name = "swaps")]
struct Arguments {
    /// How many swaps.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    swaps: u32,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failed> {
    let plan = Plan::of(Arguments::parse().swaps);
    println!(
        "{} swaps between two policies, four slots that tick each {:?}",
        plan.swaps, plan.period
    );
    let outcome = swaps::run(&plan).await?;
    let good = print_outcome(&outcome);
    print_latencies(&latency::measure(TIMES).await?);
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Prints what came of the swaps; whether all is well.
fn print_outcome(outcome: &Outcome) -> bool {
    println!(
        "  {} done in {:.1?}; the machine kept a sleeping thread waiting {} times",
        outcome.swaps, outcome.took, outcome.stalls
    );
    for (slot, ticks) in &outcome.ticks {
        let missed = outcome.missed.get(slot).copied().unwrap_or_default();
        let Ticks { count, overrun, .. } = ticks;
        println!(
            "  {slot:<9} {count:>6} ticks, {missed} missed ({overrun} while a tick took long)"
        );
    }
    for fault in &outcome.faults {
        println!("  fault: {fault}");
    }
    println!("  at swap   resident   files    maps");
    for (swap, footprint) in &outcome.footprints {
        print_footprint(*swap, footprint);
    }
    let small = outcome.stays_small();
    println!(
        "  the last within 10 % of the first: {}",
        if small { "yes" } else { "no" }
    );
    small && outcome.faults.is_empty() && kept_time(outcome)
}

fn print_footprint(swap: u32, footprint: &Footprint) {
    let Footprint {
        resident,
        files,
        maps,
    } = footprint;
    let tenths = resident * 10 / (1024 * 1024);
    println!(
        "  {swap:>7} {:>6}.{} MiB  {files:>6}  {maps:>6}",
        tenths / 10,
        tenths % 10
    );
}

fn print_latencies(latencies: &Latencies) {
    println!(
        "from the rename of a file to the first tick that may use it, quiet period taken off, median of {TIMES}"
    );
    println!("  slot           cold        warm");
    for Latency { slot, cold, warm } in &latencies.slots {
        println!("  {slot:<9} {cold:>9.1?}   {warm:>9.1?}");
    }
    match latencies.cached {
        0 => println!("  there was no code cache: both are cold"),
        cached => println!("  warm with a code cache of {cached} files"),
    }
}

/// Whether no tick was missed but by one that took longer than its period, as on a disk that hangs, or by a machine that stalled.
fn kept_time(outcome: &Outcome) -> bool {
    outcome.missed.iter().all(|(slot, missed)| {
        let overrun = outcome.ticks.get(slot).map_or(0, |ticks| ticks.overrun);
        *missed <= overrun + outcome.stalls
    })
}
