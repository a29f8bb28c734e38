//! What the tests share: a stage of folders, a watched host, a scripted master, the command.

mod broker;
mod command;
mod log;
mod process;
mod script;
mod snapshot;
mod stage;
mod watched;

pub(crate) use broker::Broker;
pub(crate) use command::{Locum, Output, Running};
pub(crate) use log::Log;
pub(crate) use process::{alone, resident};
pub(crate) use script::{Reply, Script, fails, says};
pub(crate) use snapshot::expect_snapshot;
pub(crate) use stage::{REPLICA, Stage, answered};
pub(crate) use watched::{Pass, Watched, routine, tick_of};

use std::time::Duration;

/// Longer than anything here takes on a busy machine: only a bug makes a test wait for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Waits for what must happen soon, whatever the machine is busy with.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("nothing came of it")
}
