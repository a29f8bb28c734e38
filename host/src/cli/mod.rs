//! What an operator types. Data goes to standard output, talk to standard error; exit codes are those of [`exit`].

mod control;
#[cfg(feature = "demo")]
mod demo;
mod directory;
mod error;
mod output;
mod plugin;
mod run;
mod status;
mod sync;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use locum::Config;
use locum::telemetry::LogFormat;

use error::{CliError, exit};

/// Keeps a stand-in of an Apache RocketMQ master's metadata, ready to boot a broker from.
#[derive(Parser)]
#[command(name = "locum", version, propagate_version = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 2 differs, 64 usage, 65 bad data or policy, 69 master unreachable, 70 internal, 74 disk, \
75 locked or not possible now, 77 refused by the master, 78 config";

#[derive(Subcommand)]
enum Command {
    /// Run the host until it is told to stop
    Run(run::RunArgs),
    /// Read the configuration and every policy that it names, and say what is wrong
    Check(ConfigArg),
    /// Run one pass of all routines now, in the running host or, without one, in this process
    Sync(sync::SyncArgs),
    /// Tell what every replica and routine is in
    Status(status::StatusArgs),
    /// Make a replica a slave, which copies its master, or a master, which does nothing
    Role(control::RoleArgs),
    /// Stop a routine's schedule, also over a restart
    Pause(control::RoutineArgs),
    /// Let a paused routine go on
    Resume(control::RoutineArgs),
    /// Go on with a directory that a broker has taken over
    Adopt(control::AdoptArgs),
    /// Tell what a broker would load from a config directory, file by file
    Verify(directory::VerifyArgs),
    /// Copy a stand-in into a broker's store, checked before and after
    Recover(directory::RecoverArgs),
    /// Make, build, look at and steer policies
    Plugin(plugin::PluginArgs),
    /// Watch it work: a stub master, four policies, one of them swapped under your eyes, and one refused
    #[cfg(feature = "demo")]
    Demo(demo::DemoArgs),
}

/// Where the configuration is if nobody says so.
const DEFAULT_CONFIG: &str = "locum.toml";

/// The configuration file.
#[derive(Args)]
struct ConfigArg {
    /// The configuration file
    #[arg(
        long,
        short,
        env = "LOCUM_CONFIG",
        default_value = DEFAULT_CONFIG,
        value_name = "FILE"
    )]
    config: PathBuf,
}

impl ConfigArg {
    /// Whether the file is there, or was at least named.
    fn is_there(&self) -> bool {
        self.config.exists() || self.config.as_os_str() != DEFAULT_CONFIG
    }

    fn read(&self) -> Result<Config, CliError> {
        Ok(Config::read(&self.config)?)
    }
}

/// How data is printed.
#[derive(Args)]
struct OutputArg {
    /// How to print: for people or for scripts
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// How the log looks.
#[derive(Args)]
struct LogArgs {
    /// How log lines look
    #[arg(long, env = "LOCUM_LOG_FORMAT", value_enum, default_value_t = LogLines::Text)]
    log_format: LogLines,
    /// What is logged, such as `info` or `warn,locum::master=debug`; `info` for `run`, `error` for `sync`, if not given
    #[arg(long, env = "LOCUM_LOG", value_name = "FILTER")]
    log: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogLines {
    Text,
    Json,
}

impl LogArgs {
    fn start(&self, filter: &str) -> Result<(), CliError> {
        let format = match self.log_format {
            LogLines::Text => LogFormat::Text,
            LogLines::Json => LogFormat::Json,
        };
        let filter = self.log.as_deref().unwrap_or(filter);
        locum::telemetry::log_to_stderr(format, filter)
            .map_err(|error| CliError::new(exit::USAGE, error))
    }
}

/// Parses, runs, and turns what comes of it into an exit code.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be done about a closed terminal.
            let _ = error.print();
            return if error.use_stderr() {
                exit::USAGE.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let code = dispatch(cli.command).unwrap_or_else(|error| {
        output::say(&format!("locum: {error}"));
        error.code()
    });
    code.into()
}

fn dispatch(command: Command) -> Result<exit::Code, CliError> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => run::check(&args),
        Command::Sync(args) => sync::sync(&args),
        Command::Status(args) => status::status(&args),
        Command::Role(args) => control::role(&args),
        Command::Pause(args) => control::set_paused(&args, true),
        Command::Resume(args) => control::set_paused(&args, false),
        Command::Adopt(args) => control::adopt(&args),
        Command::Verify(args) => directory::verify(&args),
        Command::Recover(args) => directory::recover(&args),
        Command::Plugin(args) => plugin::plugin(&args),
        #[cfg(feature = "demo")]
        Command::Demo(args) => demo::demo(&args),
    }
}

/// Leaves one replica in the configuration.
fn only(config: &mut Config, name: &str) -> Result<(), CliError> {
    if !config.replicas.contains_key(name) {
        let known = config.replicas.keys().map(String::as_str);
        return Err(CliError::unknown_replica(name, known));
    }
    config.replicas.retain(|other, _| other == name);
    Ok(())
}

/// A runtime of one thread is enough for a command that asks and waits.
fn block_on<T>(future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(future)
}
