//! `locum run` and `locum check`.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use locum::admin::AdminServer;
use locum::{Config, Host};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::error::{CliError, exit};
use super::{ConfigArg, LogArgs, output};

/// How long commits under way may take when the host is told to stop.
const DRAIN: Duration = Duration::from_secs(30);

#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    log: LogArgs,
}

pub(super) fn run(args: &RunArgs) -> Result<exit::Code, CliError> {
    let config = args.config.read()?;
    args.log.start("info")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("locum")
        .build()?;
    let code = runtime.block_on(serve(config));
    // A commit that the drain gave up on must not keep the process.
    runtime.shutdown_background();
    code
}

async fn serve(config: Config) -> Result<exit::Code, CliError> {
    let mut signals = Signals::new()?;
    let state_directory = config.state_directory.clone();
    let starting = Host::from_config(config).start();
    let host = tokio::select! {
        started = starting => Arc::new(started?),
        name = signals.stop() => {
            tracing::info!(signal = name, "stopped before the start was done");
            return Ok(exit::OK);
        }
    };
    let admin = AdminServer::start(Arc::clone(&host), &state_directory)?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        replicas = host.replicas().len(),
        "running"
    );
    let name = signals.stop().await;
    tracing::info!(signal = name, "stopping: commits under way may end");
    drop(admin);
    tokio::select! {
        () = host.shutdown() => {
            tracing::info!("stopped");
            Ok(exit::OK)
        }
        _ = signals.stop() => Err(CliError::new(exit::TRY_AGAIN, "stopped at once by a second signal")),
        () = tokio::time::sleep(DRAIN) => Err(CliError::new(exit::TRY_AGAIN, "stopped although a commit did not end within 30 s")),
    }
}

/// What asks a daemon to stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> Result<Self, CliError> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn stop(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hang_up.recv() => {
                    tracing::warn!("SIGHUP: the configuration is read at the start only; restart to apply it");
                }
            }
        }
    }
}

pub(super) fn check(args: &ConfigArg) -> Result<exit::Code, CliError> {
    let config = args.read()?;
    let problems = locum::check(&config)?;
    for problem in &problems {
        output::say(problem);
    }
    if problems.is_empty() {
        output::print(&format!(
            "{}: ok, {} replica(s)\n",
            args.config.display(),
            config.replicas.len()
        ))?;
        return Ok(exit::OK);
    }
    Ok(exit::CONFIG)
}
