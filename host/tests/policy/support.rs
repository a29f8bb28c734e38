//! A scripted master, and ticks on it.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use locum::policy::{
    BoxFuture, Engine, Fetch, FetchError, Limits, Memory, Policy, Ran, Settings, Tick,
};
use locum_tables::{ReadLimits, Slot, Table, TableKind};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer};

/// The engine that all these tests share, as a process would.
pub(crate) fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new().unwrap())
}

/// The guest that does what a test says.
pub(crate) fn misbehave() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| {
        engine()
            .load(components::guests().bytes("misbehave"))
            .unwrap()
    })
}

/// A table as a master would answer it.
pub(crate) fn answer(kind: &'static TableKind, body: &str) -> Table {
    Table::from_answer(kind, body.as_bytes(), &ReadLimits::default()).unwrap()
}

/// Topics with these names, at that counter of their version.
pub(crate) fn topics(names: &[&str], counter: i64) -> Table {
    let entries: Vec<_> = names
        .iter()
        .map(|name| format!(r#""{name}":{{"topicName":"{name}","perm":6}}"#))
        .collect();
    let body = format!(
        r#"{{"topicConfigTable":{{{}}},"dataVersion":{{"stateVersion":0,"timestamp":1,"counter":{counter}}}}}"#,
        entries.join(",")
    );
    answer(&locum_tables::TOPICS, &body)
}

/// The keys of a table.
pub(crate) fn keys(table: &Table) -> Vec<&str> {
    table.entries().map(|entry| entry.key).collect()
}

/// A master that answers what the test wrote, after a while, and notes what it was asked.
#[derive(Default)]
pub(crate) struct Script {
    answers: BTreeMap<&'static str, Result<Table, FetchError>>,
    pause: Duration,
    asked: Mutex<Vec<&'static str>>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn serving(mut self, table: Table) -> Self {
        self.answers.insert(table.kind().name, Ok(table));
        self
    }

    pub(crate) fn failing(mut self, kind: &'static TableKind, error: FetchError) -> Self {
        self.answers.insert(kind.name, Err(error));
        self
    }

    pub(crate) fn after(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    pub(crate) fn asked(&self) -> Vec<&'static str> {
        self.asked.lock().unwrap().clone()
    }
}

impl Fetch for Script {
    fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
        self.asked.lock().unwrap().push(kind.name);
        let answer = self
            .answers
            .get(kind.name)
            .cloned()
            .unwrap_or(Err(FetchError::NotServed));
        Box::pin(async move {
            if !self.pause.is_zero() {
                tokio::time::sleep(self.pause).await;
            }
            answer
        })
    }
}

/// A first tick on that master, with everything else at its default.
pub(crate) fn tick(slot: Slot, master: Arc<Script>) -> Tick {
    Tick {
        number: 1,
        started_at: 1_764_547_200_000,
        current: BTreeMap::new(),
        settings: Settings::new(),
        memory: Memory::new(),
        fetch: master,
        limits: Limits::default(),
        replica: "broker-a".to_owned(),
        slot,
    }
}

/// What the guest is told to do.
pub(crate) fn deed(name: &str, with: &str) -> Settings {
    let given = BTreeMap::from([("do", name), ("with", with)]);
    let given = given
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    misbehave().settle(Slot::Topic, &given).unwrap()
}

/// A tick of the misbehaving guest on a master with one topic.
pub(crate) async fn run(name: &str, with: &str, limits: Limits) -> Ran {
    let master = Arc::new(Script::new().serving(topics(&["a"], 1)));
    let tick = Tick {
        settings: deed(name, with),
        limits,
        ..tick(Slot::Topic, master)
    };
    misbehave().run(tick).await
}

/// Notes each line of a policy with its fields.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<BTreeMap<String, String>>>>);

impl Lines {
    pub(crate) fn all(&self) -> Vec<BTreeMap<String, String>> {
        self.0.lock().unwrap().clone()
    }

    /// A field of the last line.
    pub(crate) fn last(&self, field: &str) -> String {
        self.0.lock().unwrap().last().unwrap()[field].clone()
    }
}

struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "locum::policy" {
            let mut fields = Fields(BTreeMap::new());
            fields
                .0
                .insert("level".to_owned(), event.metadata().level().to_string());
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields.0);
        }
    }
}

/// An error with all its causes, as an operator reads it.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
