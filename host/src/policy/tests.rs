//! What needs an epoch that the test moves itself, or the inside of a tick.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use locum_tables::{Slot, TOPICS, Table, TableKind};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::engine::{Ticker, config};
use super::log::Log;
use super::meter::Meter;
use super::state::State;
use super::world::World;
use super::*;

/// A master that holds nothing, and counts how often it was asked.
#[derive(Default)]
struct Empty {
    asked: AtomicU64,
    answer: Option<FetchError>,
}

impl Fetch for Empty {
    fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = self
            .answer
            .clone()
            .map_or_else(|| Ok(Table::empty(kind)), Err);
        Box::pin(std::future::ready(answer))
    }
}

fn tick(deed: &str, with: &str) -> Tick {
    let settings = [("do", deed), ("with", with)];
    Tick {
        number: 1,
        started_at: 0,
        current: BTreeMap::new(),
        settings: settings
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        memory: Memory::new(),
        fetch: Arc::new(Empty::default()),
        limits: Limits::default(),
        replica: "broker-a".to_owned(),
        slot: Slot::Topic,
    }
}

/// Each line that the guest logs ends an epoch: the test's clock is the guest's own progress.
struct EpochPerLine(wasmtime::Engine);

impl<S: Subscriber> Layer<S> for EpochPerLine {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "locum::policy" {
            self.0.increment_epoch();
        }
    }
}

#[tokio::test]
async fn a_looping_guest_yields_at_each_epoch() {
    let clock = wasmtime::Engine::new(&config()).unwrap();
    let engine = Engine::with_ticker(&clock, Ticker::stopped()).unwrap();
    let policy = engine
        .load(components::guests().bytes("misbehave"))
        .unwrap();
    let lines = tracing_subscriber::registry().with(EpochPerLine(clock));
    let _lines = tracing::subscriber::set_default(lines);

    let ran = policy.run(tick("log-flood", "100")).await;

    assert!(ran.result.is_ok(), "{:?}", ran.result);
    assert_eq!(ran.spent.log_lines, 100);
    assert_eq!(
        ran.spent.yields, 100,
        "one for each epoch that ended while the guest ran"
    );
}

#[tokio::test]
async fn a_deadline_counts_from_now_however_long_the_epoch_has_run() {
    let clock = wasmtime::Engine::new(&config()).unwrap();
    let engine = Engine::with_ticker(&clock, Ticker::stopped()).unwrap();
    (0..10_000).for_each(|_| clock.increment_epoch());
    let policy = engine
        .load(components::guests().bytes("misbehave"))
        .unwrap();
    (0..10_000).for_each(|_| clock.increment_epoch());

    let ran = policy.run(tick("nothing", "")).await;

    assert!(ran.result.is_ok(), "{:?}", ran.result);
    assert_eq!(ran.spent.yields, 0);
}

#[test]
fn the_ticker_ends_with_its_last_holder() {
    let (ticker, thread) = Ticker::start(wasmtime::Engine::new(&config()).unwrap()).unwrap();
    let another = ticker.clone();
    drop(ticker);
    assert!(!thread.is_finished());
    drop(another);
    thread.join().unwrap();
}

#[tokio::test]
async fn each_request_goes_out_once_a_tick_whatever_came_of_it() {
    for answer in [None, Some(FetchError::TimedOut)] {
        let master = Arc::new(Empty {
            answer: answer.clone(),
            ..Empty::default()
        });
        let tick = Tick {
            fetch: master.clone(),
            ..tick("nothing", "")
        };
        let (mut state, meter) = running(tick);
        for _ in 0..3 {
            assert_eq!(World::enter(&mut state).answer(&TOPICS).await.err(), answer);
        }
        assert_eq!(master.asked.load(Ordering::Relaxed), 1);
        assert_eq!(meter.spent().fetches, 1);
        assert_eq!(
            state.finish().failed_fetches.len(),
            usize::from(answer.is_some())
        );
    }
}

/// A pause that is longer than an epoch, so that the two ways to count it differ.
const PAUSE: Duration = Duration::from_millis(30);

/// A state whose guest may run, and its account.
fn running(tick: Tick) -> (State, Meter) {
    let meter = Meter::new(Duration::from_secs(60));
    let log = Log::new(String::new(), "topic", String::new(), &tick.limits);
    (State::new(tick, Vec::new(), meter.clone(), log), meter)
}

#[test]
fn a_host_call_counts_in_full_and_guest_code_by_the_epoch() {
    let (mut state, meter) = running(tick("nothing", ""));
    meter.resume();
    let call = World::enter(&mut state);
    std::thread::sleep(PAUSE);
    drop(call);
    meter.pause();
    assert!(meter.spent().guest_time >= PAUSE, "{:?}", meter.spent());

    let before = meter.spent().guest_time;
    meter.resume();
    std::thread::sleep(PAUSE);
    meter.pause();
    let epoch = Duration::from_millis(10);
    assert_eq!(meter.spent().guest_time, before + epoch);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_master_is_free() {
    struct Slow;
    impl Fetch for Slow {
        fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
            Box::pin(async move {
                // The meter's clock is a real one: this is long for it too.
                std::thread::sleep(Duration::from_secs(1));
                Ok(Table::empty(kind))
            })
        }
    }
    let slow = Tick {
        fetch: Arc::new(Slow),
        ..tick("nothing", "")
    };
    let (mut state, meter) = running(slow);
    meter.resume();
    World::enter(&mut state).answer(&TOPICS).await.unwrap();
    meter.pause();
    assert!(meter.spent().guest_time < Duration::from_secs(1));
}

#[test]
fn the_last_error_is_kept_in_part_also_when_the_log_is_full() {
    use super::bindings::locum::sync::log::Level;

    let limits = Limits {
        log_lines: 0,
        ..Limits::default()
    };
    let mut log = Log::new(String::new(), "topic", String::new(), &limits);
    log.write(
        Level::Error,
        &format!("panicked at {}", "x".repeat(1 << 20)),
    );
    log.write(Level::Info, "not an error");
    let last = log.last_error().unwrap();
    assert!(last.starts_with("panicked at xxx") && last.ends_with("... (1048588 bytes in all)"));
    assert!(last.len() < 10_000, "{}", last.len());
}

#[test]
fn the_interface_is_the_one_that_is_named() {
    let wit = include_str!("../../../wit/0.1.0/sync.wit");
    let package = wit
        .lines()
        .find(|line| line.starts_with("package "))
        .unwrap();
    let name = package.trim_start_matches("package ").trim_end_matches(';');
    assert!(check::SERVED.starts_with(name), "{name}");
}
