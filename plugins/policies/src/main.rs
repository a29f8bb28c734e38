//! Builds this project's policies and lays them out as an operator's plugin folder: `topic.wasm` and so on, and the
//! examples in `examples/`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool"
)]

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use policies::{Built, EXAMPLES, Error, POLICIES};

/// Builds the policies and examples of this workspace as WebAssembly components.
#[derive(Parser)]
#[command(name = "policies")]
struct Arguments {
    /// The folder to leave them in.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Packages of this workspace to build, such as `policy-topic`; all policies and examples if none is named.
    #[arg(value_name = "PACKAGE")]
    packages: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprintln!("  because: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let out = &arguments.out;
    if !arguments.packages.is_empty() {
        let packages: Vec<&str> = arguments.packages.iter().map(String::as_str).collect();
        return policies::build(&packages)?
            .iter()
            .try_for_each(|built| lay_out(built, out));
    }
    for built in policies::build(&POLICIES)? {
        lay_out(&built, out)?;
    }
    for built in policies::build(&EXAMPLES)? {
        lay_out(&built, &out.join("examples"))?;
    }
    Ok(())
}

/// Checks a component, leaves it in a folder, and says so.
fn lay_out(built: &Built, folder: &Path) -> Result<(), Error> {
    let size = built.checked_size()?;
    let path = folder.join(&built.name).with_extension("wasm");
    policies::write_if_changed(&path, &built.bytes()?)?;
    println!("{:<14} {size:>6} bytes  {}", built.name, path.display());
    Ok(())
}
