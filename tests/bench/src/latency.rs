//! How long a good file takes into its slot.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use components::variant;
use locum::{Event, Slot, Transition};
use tokio::time::{sleep, timeout};

use crate::Failed;
use crate::stage::{PATIENCE, Stage, Watch};

/// How long the plugin folder has to be quiet; it is taken off the figures.
const QUIET_PERIOD: Duration = Duration::from_millis(50);

/// No slot is due while it is measured: a trial does not wait for a tick.
const NEVER: Duration = Duration::from_secs(3600);

/// How long the code cache is given to be written, at most: nothing that a swap waits for waits for that.
const WRITING: Duration = Duration::from_secs(5);

/// The medians of one slot's own policy: from the rename of a file to the exchange, from which on a tick may use it. The quiet
/// period is taken off.
#[derive(Debug, Clone, Copy)]
pub struct Latency {
    /// The slot, and its policy.
    pub slot: Slot,
    /// The file was never compiled before.
    pub cold: Duration,
    /// A host on the same state directory compiled it before.
    pub warm: Duration,
}

/// What was measured.
#[derive(Debug)]
pub struct Latencies {
    /// One for each slot.
    pub slots: Vec<Latency>,
    /// How many files the code cache held when the second host started; without any, warm is cold too.
    pub cached: usize,
}

/// Puts `times` files (at least 2) into each slot, one after the other, on one host; then the same files on another host that has
/// the first one's state directory, and starts with the last of them.
///
/// # Errors
/// If a file does not come into its slot.
pub async fn measure(times: u32) -> Result<Latencies, Failed> {
    let stage = Stage::new().await?;
    let cold = swap_all(&stage, times).await?;
    let cached = cached(&stage.state(), times as usize * Slot::ALL.len()).await;
    let warm = swap_all(&stage, times).await?;
    let pairs = cold.into_iter().zip(warm);
    let slots = pairs
        .map(|((slot, cold), (_, warm))| Latency { slot, cold, warm })
        .collect();
    Ok(Latencies { slots, cached })
}

/// The median of each slot on a host of its own.
async fn swap_all(stage: &Stage, times: u32) -> Result<Vec<(Slot, Duration)>, Failed> {
    let (host, mut watch) = stage.start(NEVER, NEVER, QUIET_PERIOD).await?;
    // The replica has tables, as in a host that has run for a while.
    for report in host.sync(None, false).await {
        if report.tick.is_none() {
            return Err(format!("{} did not run: {:?}", report.routine, report.not_run).into());
        }
    }
    let mut medians = Vec::new();
    for slot in Slot::ALL {
        let mut took = Vec::new();
        for number in 1..=times {
            took.push(swap(stage, &mut watch, slot, number).await?);
        }
        took.sort_unstable();
        medians.push((slot, took[took.len() / 2]));
    }
    host.shutdown().await;
    Ok(medians)
}

/// Puts one file into its slot.
async fn swap(
    stage: &Stage,
    watch: &mut Watch,
    slot: Slot,
    number: u32,
) -> Result<Duration, Failed> {
    let file = variant(&policies::all().bytes(slot.name()), number);
    let renamed = Instant::now();
    let sha256 = stage.install(slot, &file)?;
    match timeout(PATIENCE, live(watch, &sha256)).await {
        Ok(live) => live?,
        Err(_) => return Err(format!("{slot}: file {number} did not come into its slot").into()),
    }
    Ok(renamed.elapsed().saturating_sub(QUIET_PERIOD))
}

/// Waits for a file's exchange.
async fn live(watch: &mut Watch, sha256: &str) -> Result<(), Failed> {
    loop {
        let Event::Swap {
            slot, transition, ..
        } = watch.next().await?
        else {
            continue;
        };
        match transition {
            Transition::Live { policy } if policy.sha256 == sha256 => return Ok(()),
            Transition::Refused { reason, .. } | Transition::Held { reason, .. } => {
                return Err(format!("{slot}: {reason}").into());
            }
            _ => {}
        }
    }
}

/// Waits until so much compiled code is below a folder, or time is up; how much there is.
async fn cached(folder: &Path, wanted: usize) -> usize {
    let begun = Instant::now();
    loop {
        let found = count(folder);
        if found >= wanted || begun.elapsed() >= WRITING {
            return found;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Files of compiled code below a folder.
fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .map(|path| match path.extension() {
            _ if path.is_dir() => count(&path),
            extension => usize::from(extension.is_some_and(|extension| extension == "cwasm")),
        })
        .sum()
}
