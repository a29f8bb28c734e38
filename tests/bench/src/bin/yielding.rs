//! How long two policies that never stop hold up everything else on two threads.
//!
//! Three probes run without pause beside them: a timer, a byte through a socket, and a good policy's tick. Each says how late
//! it was, first alone, then beside the loops. The loops give their thread back each 10 ms; the bound is 50 ms.
//!
//! `cargo run --release -p bench --bin yielding` prints the figures and fails if the bound does not hold. Run it on a quiet
//! machine: what else runs there is measured too.
#![allow(clippy::print_stdout, reason = "a measurement is printed")]

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use locum::policy::{BoxFuture, Engine, Fetch, FetchError, Limits, Memory, Policy, Settings, Tick};
use locum_tables::{Slot, Table, TableKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

const THREADS: usize = 2;
const MEASURED: Duration = Duration::from_secs(10);
/// Between two looks of a probe.
const PERIOD: Duration = Duration::from_millis(5);
const BOUND: Duration = Duration::from_millis(50);

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<ExitCode, Failed> {
    let engine = Engine::new()?;
    let looping = engine.load(components::guests().bytes("misbehave"))?;
    let good = engine.load(policies::all().bytes("topic"))?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()?;

    println!("delays on {THREADS} threads, {MEASURED:?} each");
    measure(&runtime, "alone", &good)?;
    let loops = [0; THREADS].map(|_| runtime.spawn(run_on(looping.clone())));
    let worst = measure(&runtime, "beside two loops", &good)?;
    loops.iter().for_each(tokio::task::JoinHandle::abort);

    let holds = worst <= BOUND;
    println!(
        "worst {worst:.1?}, bound {BOUND:?}: {}",
        if holds { "holds" } else { "does not hold" }
    );
    Ok(if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs the three probes at once; the longest delay of any.
fn measure(runtime: &Runtime, when: &str, good: &Policy) -> Result<Duration, Failed> {
    let probes = [
        ("timer", runtime.spawn(timer())),
        ("socket", runtime.spawn(socket())),
        ("tick", runtime.spawn(ticks(good.clone()))),
    ];
    let mut worst = Duration::ZERO;
    for (name, probe) in probes {
        let mut delays = runtime.block_on(probe)??;
        delays.sort_unstable();
        let at = |percent: usize| delays[(delays.len() - 1) * percent / 100];
        println!(
            "  {when:<17} {name:<7} median {:>8.1?}  99 % {:>8.1?}  worst {:>8.1?}  of {}",
            at(50),
            at(99),
            at(100),
            delays.len()
        );
        worst = worst.max(at(100));
    }
    Ok(worst)
}

/// How late a timer is.
async fn timer() -> Result<Vec<Duration>, Failed> {
    let mut delays = Vec::new();
    let started = Instant::now();
    while started.elapsed() < MEASURED {
        let due = Instant::now() + PERIOD;
        sleep(PERIOD).await;
        delays.push(due.elapsed());
    }
    Ok(delays)
}

/// How long a byte takes to another task and back.
async fn socket() -> Result<Vec<Duration>, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut near = TcpStream::connect(listener.local_addr()?).await?;
    near.set_nodelay(true)?;
    let (mut far, _) = listener.accept().await?;
    let echo = tokio::spawn(async move {
        let mut byte = [0];
        while far.read_exact(&mut byte).await.is_ok() && far.write_all(&byte).await.is_ok() {}
    });
    let mut delays = Vec::new();
    let started = Instant::now();
    while started.elapsed() < MEASURED {
        let sent = Instant::now();
        near.write_all(b"x").await?;
        near.read_exact(&mut [0]).await?;
        delays.push(sent.elapsed());
        sleep(PERIOD).await;
    }
    echo.abort();
    Ok(delays)
}

/// How long a tick takes that computes next to nothing.
async fn ticks(policy: Policy) -> Result<Vec<Duration>, Failed> {
    let mut delays = Vec::new();
    let started = Instant::now();
    while started.elapsed() < MEASURED {
        let begun = Instant::now();
        policy.run(tick(Settings::new())).await.result?;
        delays.push(begun.elapsed());
        sleep(PERIOD).await;
    }
    Ok(delays)
}

/// Runs endless ticks, one after the other, each until its guest time is used up.
async fn run_on(looping: Policy) {
    let settings = Settings::from([("do".to_owned(), "loop".to_owned())]);
    loop {
        looping.run(tick(settings.clone())).await;
    }
}

/// A master whose tables are empty.
struct Empty;

impl Fetch for Empty {
    fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
        Box::pin(std::future::ready(Ok(Table::empty(kind))))
    }
}

fn tick(settings: Settings) -> Tick {
    Tick {
        number: 1,
        started_at: 0,
        current: BTreeMap::new(),
        settings,
        memory: Memory::new(),
        fetch: Arc::new(Empty),
        limits: Limits::default(),
        replica: "bench".to_owned(),
        slot: Slot::Topic,
    }
}
