//! `locum demo`: the main job before your eyes, on a stub master of this process.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use locum::status::{Status, TickResult};
use locum::store::{RealDisk, inspect};
use locum::{Event, Host, Period, PluginsConfig, ReplicaConfig, Slot, Transition};
use stub_master::{Dialect, Live, Stub};
use tokio::sync::broadcast;

use super::error::{CliError, exit};
use super::output::{self, Columns};
use super::{block_on, directory};

const REPLICA: &str = "broker-a";
/// An offset that nobody moves any more.
const RETIRED: &str = "retired-topic";
const GROUP: &str = "audit";
const PERIOD: Duration = Duration::from_secs(1);
/// Longer than any step should take on a busy machine; then the demo says so and fails.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(super) struct DemoArgs {
    /// The folder with the policies' components; the one beside this program if not given
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    /// Go on after the last step, until interrupted
    #[arg(long)]
    forever: bool,
}

pub(super) fn demo(args: &DemoArgs) -> Result<exit::Code, CliError> {
    let policies = match &args.plugins {
        Some(folder) => folder.clone(),
        None => std::env::current_exe()?.with_file_name("plugins"),
    };
    let folder = Scratch::new()?;
    block_on(async {
        let stage = Stage::set(&policies, &folder.0).await?;
        stage.play(&policies, args.forever).await
    })
}

/// A folder of this demo's own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, CliError> {
        let folder = std::env::temp_dir().join(format!("locum-demo-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("plugins"))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed from the temporary folder goes with it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Master, host, and the folders that they work in.
struct Stage {
    stub: Stub,
    host: Host,
    plugins: PathBuf,
    directory: PathBuf,
}

impl Stage {
    async fn set(policies: &Path, folder: &Path) -> Result<Self, CliError> {
        let plugins = folder.join("plugins");
        for slot in Slot::ALL {
            copy(
                policies,
                &format!("{slot}.wasm"),
                &plugins.join(format!("{slot}.wasm")),
            )?;
        }
        let stub = Stub::start(Dialect::V5_5).await?;
        stub.tables().set_topic(RETIRED);
        stub.tables().commit_offset(RETIRED, GROUP, 0, 7);
        let directory = folder.join("broker-a/config");
        let replica = ReplicaConfig {
            master: Some(stub.address()),
            first_delay: Duration::ZERO,
            period: Period::named(PERIOD),
            ..ReplicaConfig::new(&directory)
        };
        let host = Host::builder(folder.join("state"), PluginsConfig::new(&plugins))
            .replica(REPLICA, replica)
            .start()
            .await?;
        Ok(Self {
            stub,
            host,
            plugins,
            directory,
        })
    }

    async fn play(self, policies: &Path, forever: bool) -> Result<exit::Code, CliError> {
        let mut events = self.host.events();
        let live = Live::start(self.stub.tables(), PERIOD);
        told(&format!(
            "A stub master speaks RocketMQ 5.5 on {}; its tables change each second.",
            self.stub.address()
        ));
        told("Four routines copy it each second, each a WebAssembly component:\n");
        self.watch(&mut events, 4).await?;
        self.topic_arrives(&mut events).await?;
        self.policy_is_swapped(&mut events, policies).await?;
        self.watch(&mut events, 1).await?;
        self.offset_goes(&mut events).await?;
        self.policy_is_good(&mut events).await?;
        self.policy_is_refused(&mut events, policies).await?;
        self.watch(&mut events, 1).await?;
        drop(live);
        self.files_are_verified()?;
        if forever {
            told("Going on until you interrupt (--forever).");
            let _live = Live::start(self.stub.tables(), PERIOD);
            loop {
                self.watch(&mut events, 1).await?;
            }
        }
        self.host.shutdown().await;
        Ok(exit::OK)
    }

    /// Prints the status after each round of ticks.
    async fn watch(
        &self,
        events: &mut broadcast::Receiver<Event>,
        rounds: u32,
    ) -> Result<(), CliError> {
        for _ in 0..rounds {
            until(events, |event| match event {
                Event::TickEnded {
                    slot: Slot::Offset, ..
                } => Some(()),
                _ => None,
            })
            .await?;
            // The four tick together; let the other three of this round end.
            tokio::time::sleep(Duration::from_millis(100)).await;
            output::print(&format!("{}\n", table(&self.host.status())))?;
        }
        Ok(())
    }

    async fn topic_arrives(&self, events: &mut broadcast::Receiver<Event>) -> Result<(), CliError> {
        const TOPIC: &str = "made-just-now";
        told(&format!("Now a topic is made on the master: {TOPIC}."));
        let made = Instant::now();
        self.stub.tables().set_topic(TOPIC);
        let file = self.directory.join("topics.json");
        until(events, |event| match event {
            Event::TickEnded {
                slot: Slot::Topic,
                tick,
                ..
            } if tick.result == TickResult::Updated => std::fs::read_to_string(&file)
                .is_ok_and(|text| text.contains(TOPIC))
                .then_some(()),
            _ => None,
        })
        .await?;
        told(&format!(
            "It is in topics.json after {} ms (it ticks once a second), safe on disk.\n",
            made.elapsed().as_millis()
        ));
        Ok(())
    }

    async fn policy_is_swapped(
        &self,
        events: &mut broadcast::Receiver<Event>,
        policies: &Path,
    ) -> Result<(), CliError> {
        told(
            "Now offset.wasm is replaced by examples/offset-mirror.wasm (which deletes what the master deleted), by rename:",
        );
        let renamed = self.put(policies, "examples/offset-mirror.wasm", Slot::Offset)?;
        let after = || renamed.elapsed().as_millis();
        let sha256 = until_swap(events, Slot::Offset, |transition| match transition {
            Transition::Noticed { sha256, .. } => Some(sha256),
            _ => None,
        })
        .await?;
        told(&format!(
            "  noticed after {} ms (200 ms of them are the quiet period): {sha256:.8}",
            after()
        ));
        until_swap(events, Slot::Offset, |transition| {
            matches!(transition, Transition::Live { .. }).then_some(())
        })
        .await?;
        told(&format!(
            "  live after {} ms: tried beside the next tick, on the same answers, it left what the policy before left;",
            after()
        ));
        let (number, missed) = until(events, |event| match event {
            Event::TickEnded {
                slot: Slot::Offset,
                tick,
                ..
            } if tick.sha256 == sha256 => Some((tick.number, self.missed())),
            _ => None,
        })
        .await?;
        told(&format!(
            "  tick {number} ran {sha256:.8}, in probation: had it failed, the policy before would have run that very tick;"
        ));
        told(&format!("  ticks missed since the start: {missed}.\n"));
        Ok(())
    }

    async fn policy_is_good(
        &self,
        events: &mut broadcast::Receiver<Event>,
    ) -> Result<(), CliError> {
        let in_probation = || {
            let replicas = self.host.status().replicas;
            let mut routines = replicas.iter().flat_map(|replica| &replica.routines);
            routines.any(|routine| routine.probation.is_some())
        };
        // The last good tick may be over already.
        if in_probation() {
            until(events, |_| (!in_probation()).then_some(())).await?;
        }
        told("The probation is over: from now on offset-mirror is the policy to return to.\n");
        Ok(())
    }

    /// What runs goes on, whatever is put in its place.
    async fn policy_is_refused(
        &self,
        events: &mut broadcast::Receiver<Event>,
        policies: &Path,
    ) -> Result<(), CliError> {
        told(
            "Now a slip: topic.wasm is replaced by examples/topic-filter.wasm, and nobody has set what it is to keep:",
        );
        self.put(policies, "examples/topic-filter.wasm", Slot::Topic)?;
        let reason = until_swap(events, Slot::Topic, |transition| match transition {
            Transition::Refused { reason, .. } => Some(reason),
            _ => None,
        })
        .await?;
        told(&format!("  {reason}"));
        let tick = until(events, |event| match event {
            Event::TickEnded {
                slot: Slot::Topic,
                tick,
                ..
            } => Some(tick),
            _ => None,
        })
        .await?;
        told(&format!(
            "  the policy that ran goes on: tick {} ran {:.8} ({}); ticks missed since the start: {}.\n",
            tick.number,
            tick.sha256,
            tick.result,
            self.missed()
        ));
        Ok(())
    }

    /// Puts a component in the place of a slot's, by rename. When.
    fn put(&self, policies: &Path, name: &str, slot: Slot) -> Result<Instant, CliError> {
        let next = self.plugins.join(".next");
        copy(policies, name, &next)?;
        let renamed = Instant::now();
        std::fs::rename(&next, self.plugins.join(format!("{slot}.wasm")))?;
        Ok(renamed)
    }

    /// What the two policies differ in.
    async fn offset_goes(&self, events: &mut broadcast::Receiver<Event>) -> Result<(), CliError> {
        let key = format!("{RETIRED}@{GROUP}");
        told(&format!(
            "Now the master forgets the offset {key}, which the policy before would have kept:"
        ));
        self.stub.tables().remove_offset(RETIRED, GROUP);
        let file = self.directory.join("consumerOffset.json");
        until(events, |event| match event {
            Event::TickEnded {
                slot: Slot::Offset, ..
            } => std::fs::read_to_string(&file)
                .is_ok_and(|text| !text.contains(&key))
                .then_some(()),
            _ => None,
        })
        .await?;
        told("  it is gone from consumerOffset.json.\n");
        Ok(())
    }

    fn missed(&self) -> u64 {
        let replicas = self.host.status().replicas;
        replicas
            .iter()
            .flat_map(|replica| &replica.routines)
            .map(|routine| routine.missed)
            .sum()
    }

    fn files_are_verified(&self) -> Result<(), CliError> {
        told("What would a broker load from here? `locum verify` says:\n");
        let report = inspect(&RealDisk, &self.directory)?;
        output::print(&directory::text(&report))?;
        match report.boot_ready {
            true => Ok(()),
            false => Err(CliError::new(
                exit::BAD_DATA,
                "the files are not boot-ready",
            )),
        }
    }
}

/// Waits for what happens to a slot's policies that `wanted` gives something for.
async fn until_swap<T>(
    events: &mut broadcast::Receiver<Event>,
    of: Slot,
    mut wanted: impl FnMut(Transition) -> Option<T>,
) -> Result<T, CliError> {
    let in_slot = |event| match event {
        Event::Swap {
            slot, transition, ..
        } if slot == of => wanted(transition),
        _ => None,
    };
    until(events, in_slot).await
}

/// Waits for the event that `wanted` gives something for.
async fn until<T>(
    events: &mut broadcast::Receiver<Event>,
    mut wanted: impl FnMut(Event) -> Option<T>,
) -> Result<T, CliError> {
    let wait = async {
        loop {
            match events.recv().await {
                Ok(event) => {
                    if let Some(found) = wanted(event) {
                        return Ok(found);
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => {
                    return Err(CliError::new(exit::INTERNAL, "the host ended"));
                }
            }
        }
    };
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    waited.unwrap_or_else(|_| {
        Err(CliError::new(
            exit::INTERNAL,
            "nothing came of it within a minute",
        ))
    })
}

fn copy(policies: &Path, name: &str, to: &Path) -> Result<(), CliError> {
    let from = policies.join(name);
    std::fs::copy(&from, to).map(drop).map_err(|error| {
        let hint = "`make build` makes the policies; `--plugins DIR` tells where they are";
        CliError::new(
            exit::CONFIG,
            format!("cannot copy {}: {error}; {hint}", from.display()),
        )
    })
}

fn told(text: &str) {
    // Into the same stream as the tables, so that they stay in order.
    let _ = output::print(&format!("{text}\n"));
}

fn table(status: &Status) -> Columns {
    let mut columns = Columns::new(&[
        "ROUTINE", "STATE", "TICKS", "RESULT", "TOOK", "ENTRIES", "VERSION", "AGE", "POLICY",
    ]);
    for routine in status.replicas.iter().flat_map(|replica| &replica.routines) {
        let tick = routine.last_tick.as_ref();
        let table = routine.tables.first();
        let dash = || "-".to_owned();
        columns.row([
            routine.name.to_string(),
            routine.state.to_string(),
            routine.ticks.to_string(),
            tick.map_or_else(dash, |tick| tick.result.to_string()),
            tick.map_or_else(dash, |tick| format!("{:.1} ms", tick.duration_ms)),
            table
                .and_then(|table| table.entries)
                .map_or_else(dash, |entries| entries.to_string()),
            table
                .and_then(|table| table.version)
                .map_or_else(dash, |version| version.counter.to_string()),
            routine.last_success.map_or_else(dash, |time| {
                format!("{} ms", time.age_ms(SystemTime::now()))
            }),
            routine.policy.as_ref().map_or_else(dash, |policy| {
                format!("{} {:.8}", policy.name, policy.sha256)
            }),
        ]);
    }
    columns
}
