//! `locum plugin`: all about policies as files.

mod build;
mod new;

use clap::{Args, Subcommand};

use super::error::{CliError, exit};

#[derive(Args)]
pub(super) struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Subcommand)]
enum PluginCommand {
    /// Make a crate with a policy, a setting and its tests, that builds from nothing but the crate registry
    #[command(after_help = new::AFTER_HELP)]
    New(new::NewArgs),
    /// Build a policy's crate as a component, and look at it as a host does
    #[command(after_help = build::AFTER_HELP)]
    Build(build::BuildArgs),
}

pub(super) fn plugin(args: &PluginArgs) -> Result<exit::Code, CliError> {
    match &args.command {
        PluginCommand::New(args) => new::new(args),
        PluginCommand::Build(args) => build::build(args),
    }
}

/// How this program was called, for commands that are to be typed next, from wherever: its name if the shell finds it so.
fn this_program() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    match std::env::current_exe() {
        Ok(path) if called.to_string_lossy().contains('/') => path.display().to_string(),
        _ => "locum".to_owned(),
    }
}
