//! What the host keeps for one tick, inside its store.

use std::collections::BTreeMap;

use locum_tables::{Draft, Table, TableKind};
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};

use super::bindings::exports::locum::sync::policy as wit;
use super::fetch::FetchError;
use super::limits::{Exceeded, MemoryLimiter};
use super::log::Log;
use super::meter::Meter;
use super::report::Failure;
use super::tick::{Done, Tick};

/// What a guest's handle to a draft stands for: the draft's place in the order of `writes`.
#[derive(Debug, Clone, Copy)]
#[expect(unreachable_pub, reason = "the generated bindings export it")]
pub struct DraftHandle(pub(super) usize);

/// A guest did what the interface forbids; it traps with this text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misuse(pub(super) String);

/// One tick, as its imports see it. It is dropped with its store.
pub(super) struct State {
    pub(super) tick: Tick,
    pub(super) writes: Vec<&'static TableKind>,
    pub(super) meter: Meter,
    pub(super) limiter: MemoryLimiter,
    pub(super) handles: ResourceTable,
    /// Each request goes out once: the answers by the table's name, errors too.
    pub(super) answers: BTreeMap<&'static str, Result<Table, FetchError>>,
    /// In the order of `writes`; none before the guest asks for it.
    pub(super) drafts: Vec<Option<Draft>>,
    /// Bytes of names and values in the tick's memory.
    pub(super) memory_bytes: usize,
    pub(super) log: Log,
}

impl State {
    pub(super) fn new(tick: Tick, writes: Vec<&'static TableKind>, meter: Meter, log: Log) -> Self {
        let mut handles = ResourceTable::new();
        handles.set_max_capacity(tick.limits.handles);
        Self {
            drafts: vec![None; writes.len()],
            memory_bytes: tick
                .memory
                .iter()
                .map(|(name, value)| name.len() + value.len())
                .sum(),
            limiter: MemoryLimiter::new(tick.limits.memory),
            answers: BTreeMap::new(),
            tick,
            writes,
            meter,
            handles,
            log,
        }
    }

    /// A new handle for the guest.
    pub(super) fn hand_out<T: Send + 'static>(
        &mut self,
        value: T,
    ) -> wasmtime::Result<Resource<T>> {
        self.handles.push(value).map_err(|error| match error {
            ResourceTableError::Full => Exceeded::handles(self.tick.limits.handles).into(),
            other => other.into(),
        })
    }

    /// The table behind a guest's handle.
    pub(super) fn table(&self, handle: &Resource<Table>) -> wasmtime::Result<&Table> {
        Ok(self.handles.get(handle)?)
    }

    /// The draft behind a guest's handle.
    pub(super) fn draft(&mut self, handle: &Resource<DraftHandle>) -> wasmtime::Result<&mut Draft> {
        let DraftHandle(place) = *self.handles.get(handle)?;
        let draft = self.drafts.get_mut(place).and_then(Option::as_mut);
        draft.ok_or_else(|| Misuse("a handle to no draft".to_owned()).into())
    }

    /// A policy's failure in the host's words, which knows of more kinds of failed fetches than it tells a guest.
    pub(super) fn failure(&self, said: wit::Failure) -> Failure {
        let failure = Failure::from(said);
        let errors = self
            .answers
            .values()
            .filter_map(|answer| answer.as_ref().err());
        let mut ours = errors
            .filter(|error| matches!(error, FetchError::OverTime(_) | FetchError::NotSigned(_)));
        let meant = ours.find(|error| failure == Failure::Fetch(error.as_told()));
        meant.cloned().map_or(failure, Failure::Fetch)
    }

    /// What the tick leaves behind after `sync` returned ok.
    pub(super) fn finish(self) -> Done {
        Done {
            drafts: self.drafts.iter().flatten().map(Draft::snapshot).collect(),
            memory: self.tick.memory,
            failed_fetches: self.answers.into_iter().filter_map(failed).collect(),
        }
    }
}

fn failed(
    (name, answer): (&'static str, Result<Table, FetchError>),
) -> Option<(&'static TableKind, FetchError)> {
    Some((TableKind::by_name(name)?, answer.err()?))
}
