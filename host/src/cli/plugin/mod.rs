//! `locum plugin`: all about policies as files.

#[cfg(feature = "author")]
mod build;
mod inspect;
mod list;
#[cfg(feature = "author")]
mod new;
mod plan;
mod swap;
mod told;

use clap::{Args, Subcommand};
use locum::admin::SwapCommand;
use locum::policy::{Description, Setting};

use std::path::Path;

use super::error::{CliError, exit};
pub(super) use told::{probation, told};

#[derive(Args)]
pub(super) struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Subcommand)]
enum PluginCommand {
    /// Make a crate with a policy, a setting and its tests, that builds from nothing but the crate registry
    #[cfg(feature = "author")]
    #[command(after_help = new::AFTER_HELP)]
    New(new::NewArgs),
    /// Build a policy's crate as a component, and look at it as a host does
    #[cfg(feature = "author")]
    #[command(after_help = build::AFTER_HELP)]
    Build(build::BuildArgs),
    /// Tell what every slot runs, and what became of its last candidate
    List(list::ListArgs),
    /// Look at a component as a host does, and say which slots would take it
    #[command(after_help = inspect::AFTER_HELP)]
    Inspect(inspect::InspectArgs),
    /// Run a component beside what a slot runs, on the master's tables of now, and print what would differ; nothing is changed
    #[command(after_help = plan::AFTER_HELP)]
    Plan(plan::PlanArgs),
    /// Let a held candidate in
    #[command(after_help = swap::AFTER_HELP, override_usage = swap::usage("accept"))]
    Accept(swap::SwapArgs),
    /// Turn a candidate away, and quarantine it: it is not tried again
    #[command(after_help = swap::AFTER_HELP, override_usage = swap::usage("reject"))]
    Reject(swap::SwapArgs),
    /// Go back to the last good policy, and quarantine the one that runs: it is not tried again
    #[command(after_help = swap::ROLLBACK_AFTER_HELP, override_usage = swap::usage("rollback"))]
    Rollback(swap::SwapArgs),
    /// Let a quarantined policy be tried again, in every slot
    #[command(after_help = swap::FORGET_AFTER_HELP)]
    Forget(swap::ForgetArgs),
}

pub(super) fn plugin(args: &PluginArgs) -> Result<exit::Code, CliError> {
    match &args.command {
        #[cfg(feature = "author")]
        PluginCommand::New(args) => new::new(args),
        #[cfg(feature = "author")]
        PluginCommand::Build(args) => build::build(args),
        PluginCommand::List(args) => list::list(args),
        PluginCommand::Inspect(args) => inspect::inspect(args),
        PluginCommand::Plan(args) => plan::plan(args),
        PluginCommand::Accept(args) => swap::swap(args, SwapCommand::Accept),
        PluginCommand::Reject(args) => swap::swap(args, SwapCommand::Reject),
        PluginCommand::Rollback(args) => swap::swap(args, SwapCommand::Rollback),
        PluginCommand::Forget(args) => swap::forget(args),
    }
}

/// What a policy says of itself.
fn described(description: &Description) -> String {
    let Description {
        name,
        version,
        summary,
        writes,
        settings,
    } = description;
    let writes: Vec<&str> = writes.iter().map(|kind| kind.name).collect();
    let mut text = format!(
        "{name} {version}: {summary}; writes {}\n",
        writes.join(", ")
    );
    for setting in settings {
        let Setting { name, summary, .. } = setting;
        text += &format!("setting {name} ({}): {summary}\n", need(setting));
    }
    text
}

fn need(setting: &Setting) -> String {
    match (&setting.default, setting.required) {
        (Some(default), _) => format!("default `{default}`"),
        (None, true) => "required".to_owned(),
        (None, false) => "optional".to_owned(),
    }
}

/// A component's file. One that is not there says nothing of a component, so it is another code than that of a bad one.
fn component(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| {
        let what = format!("cannot read {}: {error}", path.display());
        CliError::new(exit::USAGE, what)
    })
}

/// How this program was called, for commands that are to be typed next, from wherever: its name if the shell finds it so.
#[cfg(feature = "author")]
fn this_program() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    match std::env::current_exe() {
        Ok(path) if called.to_string_lossy().contains('/') => path.display().to_string(),
        _ => "locum".to_owned(),
    }
}
