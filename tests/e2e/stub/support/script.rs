//! A master without sockets, for what is about time: it answers by a script, on tokio's clock, which tests pause.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use locum::policy::{BoxFuture, Fetch, FetchError};
use locum::{Masters, ReplicaConfig, Slot, Table, TableKind};
use locum_tables::ReadLimits;
use tokio::time::{Instant, sleep};

/// What becomes of one request.
#[derive(Clone)]
pub(crate) struct Reply {
    after: Duration,
    end: End,
}

#[derive(Clone)]
enum End {
    Table,
    Error(FetchError),
    Panic,
}

/// The table, at once. Each answer's version is the number of the request.
pub(crate) fn says() -> Reply {
    Reply {
        after: Duration::ZERO,
        end: End::Table,
    }
}

/// No connection.
pub(crate) fn fails() -> Reply {
    Reply {
        end: End::Error(FetchError::Unreachable("connection refused".to_owned())),
        ..says()
    }
}

impl Reply {
    /// A fault of the host's own code.
    pub(crate) fn panics() -> Self {
        Self {
            end: End::Panic,
            ..says()
        }
    }

    pub(crate) fn after(self, seconds: u64) -> Self {
        Self {
            after: Duration::from_secs(seconds),
            ..self
        }
    }
}

/// What is decided for the n-th request, counted from 1, of a table.
type Decide = dyn Fn(Slot, u64) -> Reply + Send + Sync;

/// A way to the master that is not found at first.
struct PanicsAtFirst {
    script: Script,
    left: Mutex<u32>,
}

impl Masters for PanicsAtFirst {
    fn connect(&self, address: &str, replica: &ReplicaConfig) -> Arc<dyn Fetch> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fewer) = left.checked_sub(1) {
            *left = fewer;
            panic!("a fault while connecting");
        }
        self.script.connect(address, replica)
    }
}

/// The master and the way to it. Clones are the same.
#[derive(Clone)]
pub(crate) struct Script(Arc<Inner>);

struct Inner {
    start: Instant,
    decide: Box<Decide>,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    asked: Vec<Asked>,
    under_way: BTreeMap<Slot, u64>,
    overlaps: u64,
    dropped: u64,
}

struct Asked {
    /// Milliseconds since the script was made.
    at: u128,
    slot: Slot,
    address: String,
}

impl Script {
    /// Time counts from here.
    pub(crate) fn new(decide: impl Fn(Slot, u64) -> Reply + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            start: Instant::now(),
            decide: Box::new(decide),
            log: Mutex::default(),
        }))
    }

    pub(crate) fn masters(&self) -> Arc<dyn Masters> {
        Arc::new(self.clone())
    }

    /// The same, with a fault of the host's own code in the first attempts to connect.
    pub(crate) fn connecting_panics(&self, times: u32) -> Arc<dyn Masters> {
        Arc::new(PanicsAtFirst {
            script: self.clone(),
            left: Mutex::new(times),
        })
    }

    /// Lets time pass up to this second since the script was made.
    pub(crate) async fn until(&self, second: f64) {
        tokio::time::sleep_until(self.0.start + Duration::from_secs_f64(second)).await;
    }

    /// The seconds at which the slot asked.
    pub(crate) fn times(&self, slot: Slot) -> Vec<u128> {
        self.asked(|asked| (asked.slot == slot).then_some(asked.at / 1000))
    }

    /// The milliseconds at which the slot asked.
    pub(crate) fn exact_times(&self, slot: Slot) -> Vec<u128> {
        self.asked(|asked| (asked.slot == slot).then_some(asked.at))
    }

    /// Who was asked, in order.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.asked(|asked| Some(asked.address.clone()))
    }

    /// How often a slot asked while it was still waiting for an answer.
    pub(crate) fn overlaps(&self) -> u64 {
        self.0.log.lock().unwrap().overlaps
    }

    /// How many requests were given up before they were answered.
    pub(crate) fn dropped(&self) -> u64 {
        self.0.log.lock().unwrap().dropped
    }

    fn asked<T>(&self, tell: impl FnMut(&Asked) -> Option<T>) -> Vec<T> {
        let log = self.0.log.lock().unwrap();
        log.asked.iter().filter_map(tell).collect()
    }

    fn begin(&self, slot: Slot, address: &str) -> (u64, UnderWay) {
        let mut log = self.0.log.lock().unwrap();
        log.asked.push(Asked {
            at: self.0.start.elapsed().as_millis(),
            slot,
            address: address.to_owned(),
        });
        let under_way = log.under_way.entry(slot).or_default();
        *under_way += 1;
        let overlaps = *under_way > 1;
        log.overlaps += u64::from(overlaps);
        let number = log.asked.iter().filter(|asked| asked.slot == slot).count() as u64;
        let guard = UnderWay {
            script: self.clone(),
            slot,
            answered: false,
        };
        (number, guard)
    }
}

/// A request that is not answered yet.
struct UnderWay {
    script: Script,
    slot: Slot,
    answered: bool,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut log = self.script.0.log.lock().unwrap();
        *log.under_way.entry(self.slot).or_default() -= 1;
        log.dropped += u64::from(!self.answered);
    }
}

impl Masters for Script {
    fn connect(&self, address: &str, _: &ReplicaConfig) -> Arc<dyn Fetch> {
        Arc::new(Line {
            script: self.clone(),
            address: address.to_owned(),
        })
    }
}

/// The connection to one address.
struct Line {
    script: Script,
    address: String,
}

impl Fetch for Line {
    fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
        Box::pin(async move {
            let (number, mut under_way) = self.script.begin(kind.slot, &self.address);
            let reply = (self.script.0.decide)(kind.slot, number);
            if !reply.after.is_zero() {
                sleep(reply.after).await;
            }
            under_way.answered = true;
            match reply.end {
                End::Table => Ok(table(kind, number)),
                End::Error(error) => Err(error),
                End::Panic => panic!("a fault of the host"),
            }
        })
    }
}

/// What the master has: one entry, and a version that counts the requests.
fn table(kind: &'static TableKind, number: u64) -> Table {
    let version = format!(r#"{{"stateVersion":0,"timestamp":1,"counter":{number}}}"#);
    let entries = match kind.slot {
        Slot::Topic => r#"{"T":{"topicName":"T","perm":6}}"#.to_owned(),
        Slot::Offset => format!(r#"{{"T@G":{{0:{number}}}}}"#),
        Slot::Delay => format!("{{1:{number}}}"),
        Slot::Subgroup => r#"{"G":{"groupName":"G"}}"#.to_owned(),
    };
    let body = format!(
        r#"{{"{}":{entries},"{}":{version}}}"#,
        kind.entries.wire, kind.version.wire
    );
    Table::from_answer(kind, body.as_bytes(), &ReadLimits::default()).unwrap()
}
