//! Many swaps between two good policies while all slots tick.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use components::guests;
use locum::Slot;
use tokio::time::timeout;

use crate::Failed;
use crate::footprint::Footprint;
use crate::ledger::{Ledger, Ticks};
use crate::stage::{PATIENCE, Stage, Watch, missed};
use crate::stalls::Stalls;

/// The two that take turns: each puts a topic of its own name beside the master's, which shows in the file which of them ran.
const POLICIES: [&str; 2] = ["marker-v1", "marker-v2"];

/// Whose policy is swapped.
const SLOT: Slot = Slot::Topic;

/// What is run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many swaps; at least 1.
    pub swaps: u32,
    /// How often every slot ticks.
    pub period: Duration,
    /// How long the plugin folder has to be quiet.
    pub quiet_period: Duration,
}

impl Plan {
    /// So many swaps, with a tick of each slot each 100 ms.
    #[must_use]
    pub fn of(swaps: u32) -> Self {
        Self {
            swaps,
            period: Duration::from_millis(100),
            quiet_period: Duration::from_millis(20),
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// How many swaps were done; fewer than planned if something went wrong.
    pub swaps: u32,
    /// How long it took.
    pub took: Duration,
    /// The ticks of each slot.
    pub ticks: BTreeMap<Slot, Ticks>,
    /// How often each slot was due and did not tick.
    pub missed: BTreeMap<Slot, u64>,
    /// How often the machine did not keep time for anybody.
    pub stalls: u64,
    /// What the process took at each tenth part of the swaps, and at which swap that was.
    pub footprints: Vec<(u32, Footprint)>,
    /// What must not happen and did, for people; the run ends with the first.
    pub faults: Vec<String>,
}

impl Outcome {
    /// Whether the process took about as much at the end as at the first tenth part.
    #[must_use]
    pub fn stays_small(&self) -> bool {
        match (self.footprints.first(), self.footprints.last()) {
            (Some((_, first)), Some((_, last))) => last.is_near(first),
            _ => false,
        }
    }
}

/// Runs it. Each swap is a rename in the plugin folder; the next one follows when a tick of the one before it has ended. All in
/// this process, the master too.
///
/// # Errors
/// If a swap comes to nothing, or the machine fails us. What the host does wrong is in the outcome.
pub async fn run(plan: &Plan) -> Result<Outcome, Failed> {
    let stage = Stage::new().await?;
    let mut sha256 = stage.install(SLOT, &guests().bytes(POLICIES[0]))?;
    let (host, mut watch) = stage
        .start(Duration::ZERO, plan.period, plan.quiet_period)
        .await?;
    let mut ledger = Ledger::new(SLOT, &sha256, plan.period);
    follow(&mut watch, &mut ledger, |ledger| {
        ledger.ticks().contains_key(&SLOT)
    })
    .await?;

    let (begun, stalls) = (Instant::now(), Stalls::watch());
    let mut footprints = Vec::new();
    let mut done = 0;
    while done < plan.swaps && ledger.faults().is_empty() {
        let policy = POLICIES[(done as usize + 1) % 2];
        sha256 = stage.install(SLOT, &guests().bytes(policy))?;
        ledger.installed(&sha256);
        follow(&mut watch, &mut ledger, Ledger::has_run)
            .await
            .map_err(|error| format!("swap {} of {}: {error}", done + 1, plan.swaps))?;
        if marks(&stage)? != [policy] {
            ledger.fault(format!("{policy} ran, and topics.json is not its own"));
        }
        done += 1;
        stage.tidy();
        if done % (plan.swaps / 10).max(1) == 0 {
            footprints.push((done, Footprint::now()?));
        }
    }
    let outcome = Outcome {
        swaps: done,
        took: begun.elapsed(),
        missed: missed(&host).into_iter().collect(),
        stalls: stalls.count(),
        footprints,
        faults: ledger.faults().to_vec(),
        ticks: ledger.ticks().clone(),
    };
    host.shutdown().await;
    Ok(outcome)
}

/// Takes down events until `done` says so, or something is wrong.
async fn follow(
    watch: &mut Watch,
    ledger: &mut Ledger,
    done: impl Fn(&Ledger) -> bool,
) -> Result<(), Failed> {
    let followed = timeout(PATIENCE, async {
        while !done(ledger) && ledger.faults().is_empty() {
            ledger.take(&watch.next().await?);
        }
        Ok(())
    });
    match followed.await {
        Ok(followed) => followed,
        Err(_) => Err(format!(
            "nothing came of it; the last that was told: {}",
            ledger.told()
        )
        .into()),
    }
}

/// Whose topics are in the replica's file.
fn marks(stage: &Stage) -> Result<Vec<&'static str>, Failed> {
    let text = fs::read_to_string(stage.file("topics.json"))?;
    let marked = |policy: &&str| text.contains(&format!("\"{policy}\""));
    Ok(POLICIES.into_iter().filter(marked).collect())
}
