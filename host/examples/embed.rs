//! Locum inside another program: a host, one replica, and the event stream.
//!
//! ```sh
//! cargo run -p stub-master -- --port 10911     # or a master of your own
//! cargo run -p locum --example embed -- dist/plugins 127.0.0.1:10911 /tmp/embed
//! ```
#![allow(clippy::print_stdout, reason = "an example for the command line")]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use locum::status::TickResult;
use locum::{Event, Host, PluginsConfig, ReplicaConfig, Slot, Transition};
use tokio::sync::broadcast::error::RecvError;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [plugins, master, folder] = &arguments[..] else {
        return Err("usage: embed PLUGINS HOST:PORT FOLDER".into());
    };
    for line in copy(Path::new(plugins), master, Path::new(folder)).await? {
        println!("{line}");
    }
    Ok(())
}

/// Keeps a stand-in of `master` below `folder` until each of its routines has succeeded once, and tells what it has then.
pub(crate) async fn copy(
    plugins: &Path,
    master: &str,
    folder: &Path,
) -> Result<Vec<String>, Box<dyn Error>> {
    // A host has a state directory of its own, and takes policies from a folder that it watches.
    let host = Host::builder(folder.join("state"), PluginsConfig::new(plugins))
        .start()
        .await?;

    // Listen before there is anything to hear. Replicas come and go while the host runs.
    let mut events = host.events();
    let config = ReplicaConfig {
        master: Some(master.to_owned()),
        first_delay: Duration::ZERO,
        ..ReplicaConfig::new(folder.join("broker-a/config"))
    };
    let replica = host.add_replica("broker-a", config).await?;

    let mut waiting = BTreeSet::from(Slot::ALL);
    while !waiting.is_empty() {
        let event = match events.recv().await {
            Ok(event) => event,
            // Whoever lags too far behind misses events, and goes on with the next.
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return Err("the host has ended".into()),
        };
        match event {
            Event::TickEnded { slot, tick, .. } => match tick.result {
                TickResult::Updated | TickResult::Unchanged => {
                    waiting.remove(&slot);
                }
                // The next tick comes as usual; a program of your own may rather go on than give up.
                _ => return Err(tick.error.unwrap_or_default().into()),
            },
            Event::Swap {
                slot,
                transition: Transition::Refused { reason, .. },
                ..
            } => return Err(format!("{slot}: {reason}").into()),
            // New kinds of events may come.
            _ => {}
        }
    }

    // The tables in memory are those of the last commit. A clone is a pointer.
    let names = replica.status().routines.into_iter();
    let names = names
        .flat_map(|routine| routine.tables)
        .map(|table| table.name);
    let told = names
        .filter_map(|name| replica.table(&name))
        .map(|table| format!("{}: {} entries", table.kind().name, table.len()))
        .collect();

    // Waits for commits under way, and gives the directory free.
    host.shutdown().await;
    Ok(told)
}
