//! What was asked of the stub.

use std::collections::BTreeMap;
use std::sync::Arc;

use locum_remoting::{Frame, HeaderForm};
use tokio::sync::watch;

/// One request as it came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Request code.
    pub code: i32,
    /// Chosen by the client.
    pub opaque: i32,
    /// The client's version ordinal.
    pub version: i32,
    /// Ext fields, none being the same as empty.
    pub ext_fields: BTreeMap<String, String>,
    /// How the header was written.
    pub form: HeaderForm,
    /// Bytes of the body.
    pub body_bytes: usize,
    /// On which connection: 1 for the first that the stub took, and so on.
    pub connection: u64,
}

impl Seen {
    pub(crate) fn new(frame: &Frame, connection: u64) -> Self {
        let command = &frame.command;
        Self {
            code: command.code,
            opaque: command.opaque,
            version: command.version,
            ext_fields: command.ext_fields.clone(),
            form: frame.form,
            body_bytes: command.body.len(),
            connection,
        }
    }
}

/// Remembers every request, in the order in which they came, before it is answered. Clones are the same recorder.
#[derive(Debug, Clone)]
pub struct Recorder {
    log: Arc<watch::Sender<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    seen: Vec<Seen>,
    connections: u64,
}

impl Log {
    fn of(&self, code: i32) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| seen.code == code)
    }
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            log: Arc::new(watch::Sender::new(Log::default())),
        }
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Seen> {
        self.log.borrow().seen.clone()
    }

    /// Forgets every request so far, so that a long run does not grow by them: requests are counted anew, connections are not.
    pub fn forget(&self) {
        self.log.send_modify(|log| log.seen = Vec::new());
    }

    /// How many requests of this code have come.
    pub fn count(&self, code: i32) -> usize {
        self.log.borrow().of(code).count()
    }

    /// How many connections were taken.
    pub fn connections(&self) -> u64 {
        self.log.borrow().connections
    }

    /// Waits until `count` (at least 1) requests of this code have come since the start, and gives the last of these.
    pub async fn wait_for(&self, code: i32, count: usize) -> Seen {
        let nth = |log: &Log| log.of(code).nth(count.saturating_sub(1)).cloned();
        self.wait(nth).await
    }

    /// Waits until so many connections have been taken since the start.
    pub async fn wait_for_connections(&self, count: u64) {
        self.wait(|log| (log.connections >= count).then_some(()))
            .await;
    }

    async fn wait<T>(&self, found: impl Fn(&Log) -> Option<T>) -> T {
        let mut log = self.log.subscribe();
        loop {
            if let Some(found) = found(&log.borrow_and_update()) {
                return found;
            }
            // Fails only without a sender, and self is one.
            let _ = log.changed().await;
        }
    }

    pub(crate) fn connected(&self) -> u64 {
        self.log.send_modify(|log| log.connections += 1);
        self.connections()
    }

    pub(crate) fn saw(&self, seen: Seen) {
        self.log.send_modify(|log| log.seen.push(seen));
    }
}
