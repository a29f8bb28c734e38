//! Commands to the running host: role, pause, resume, adopt.

use clap::{Args, ValueEnum};
use locum::Role;
use locum::admin::{ApiClient, Done};

use super::error::{CliError, exit};
use super::{ConfigArg, block_on, output};

#[derive(Args)]
pub(super) struct RoleArgs {
    /// Which replica
    replica: String,
    /// What it is to be
    #[arg(value_enum)]
    role: RoleName,
    #[command(flatten)]
    config: ConfigArg,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    /// Copies its master
    Slave,
    /// Does nothing
    Master,
}

#[derive(Args)]
pub(super) struct RoutineArgs {
    /// Which replica
    replica: String,
    /// Which routine
    #[arg(value_parser = ["topic", "offset", "delay", "subgroup"])]
    routine: String,
    #[command(flatten)]
    config: ConfigArg,
}

#[derive(Args)]
pub(super) struct AdoptArgs {
    /// Which replica
    replica: String,
    /// Put the broker's files aside and write ours, instead of taking the broker's files as the current tables
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    config: ConfigArg,
}

pub(super) fn role(args: &RoleArgs) -> Result<exit::Code, CliError> {
    let role = match args.role {
        RoleName::Slave => Role::Slave,
        RoleName::Master => Role::Master,
    };
    let host = host(&args.config)?;
    told(
        &block_on(async { Ok(host.set_role(&args.replica, role).await?) })?,
        &format!("{} is {role} now", args.replica),
    )
}

pub(super) fn set_paused(args: &RoutineArgs, paused: bool) -> Result<exit::Code, CliError> {
    let host = host(&args.config)?;
    let done = block_on(async {
        Ok(host
            .set_paused(&args.replica, &args.routine, paused)
            .await?)
    })?;
    told(
        &done,
        &format!(
            "{}/{} is {}",
            args.replica,
            args.routine,
            if paused { "paused" } else { "resumed" }
        ),
    )
}

pub(super) fn adopt(args: &AdoptArgs) -> Result<exit::Code, CliError> {
    let host = host(&args.config)?;
    let done = block_on(async { Ok(host.adopt(&args.replica, args.overwrite).await?) })?;
    told(&done, &format!("{} goes on", args.replica))
}

pub(super) fn host(config: &ConfigArg) -> Result<ApiClient, CliError> {
    let host = ApiClient::new(&config.read()?.state_directory);
    if host.is_running()? {
        return Ok(host);
    }
    Err(CliError::new(
        exit::TRY_AGAIN,
        "no host is running: start it with `locum run`",
    ))
}

fn told(done: &Done, what: &str) -> Result<exit::Code, CliError> {
    output::say(what);
    done.notes.iter().for_each(|note| output::say(note));
    Ok(exit::OK)
}
