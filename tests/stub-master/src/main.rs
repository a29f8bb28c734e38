//! `stub-master`: a scripted RocketMQ master and name server on a loopback port.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Parser;
use stub_master::{Dialect, Fill, Live, Stub};

/// A stand-in for a RocketMQ master and its name server. Prints its address, then runs until interrupted.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Port on 127.0.0.1, 0 for a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Releases to sound like: 4.9, 5.0 or 5.5.
    #[arg(long, default_value_t = Dialect::V5_5)]
    dialect: Dialect,
    /// Change the tables at this interval, such as 500ms, 1s or 2m.
    #[arg(long, value_parser = interval)]
    live: Option<Duration>,
    /// Entries to start with: topics=100,groups=10,offsets=800,queues=8,seed=1.
    #[arg(long)]
    fill: Option<Fill>,
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let stub = Stub::start_on(arguments.dialect, address).await?;
    if let Some(fill) = &arguments.fill {
        stub.tables().fill(fill);
    }
    let live = arguments
        .live
        .map(|interval| Live::start(stub.tables(), interval));
    writeln!(io::stdout(), "{}", stub.address())?;
    tokio::signal::ctrl_c().await?;
    drop(live);
    Ok(())
}

fn interval(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let milliseconds = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        _ => 0,
    };
    match digits.parse::<u32>() {
        Ok(number) if number > 0 && milliseconds > 0 => {
            Ok(Duration::from_millis(u64::from(number) * milliseconds))
        }
        _ => Err("an interval is a number over 0 with ms, s or m, such as 500ms".to_owned()),
    }
}
