//! What a policy sees: the imports of the world `routine`, served from the tick's [`State`].

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use locum_tables::{DataVersion, Draft, DraftError, DraftLimits, Entry, Table, TableKind};
use wasmtime::component::{HasData, Resource};

use super::bindings::locum::sync::{log, master, memory, replica, settings, tables};
use super::fetch::{BoxFuture, FetchError};
use super::limits::Exceeded;
use super::state::{DraftHandle, Misuse, State};

/// The whole world, as the linker knows it.
pub(super) struct World;

impl HasData for World {
    type Data<'a> = Import<'a>;
}

impl World {
    /// Called at the begin of each import.
    pub(super) fn enter(state: &mut State) -> Import<'_> {
        state.meter.start_call();
        Import(state)
    }
}

/// One import that is being served: until it is dropped, it is the host that runs.
pub(super) struct Import<'a>(&'a mut State);

impl Drop for Import<'_> {
    fn drop(&mut self) {
        self.0.meter.resume();
    }
}

impl Deref for Import<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.0
    }
}

impl DerefMut for Import<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.0
    }
}

impl tables::Host for Import<'_> {}

impl tables::HostTable for Import<'_> {
    fn version(&mut self, this: Resource<Table>) -> wasmtime::Result<Option<tables::DataVersion>> {
        Ok(self.table(&this)?.version().map(Into::into))
    }

    fn same_version(
        &mut self,
        this: Resource<Table>,
        other: Resource<Table>,
    ) -> wasmtime::Result<bool> {
        Ok(self.table(&this)?.same_version(self.table(&other)?))
    }

    fn same_entries(
        &mut self,
        this: Resource<Table>,
        other: Resource<Table>,
    ) -> wasmtime::Result<bool> {
        Ok(self.table(&this)?.same_entries(self.table(&other)?))
    }

    fn same(&mut self, this: Resource<Table>, other: Resource<Table>) -> wasmtime::Result<bool> {
        Ok(self.table(&this)?.same(self.table(&other)?))
    }

    fn len(&mut self, this: Resource<Table>) -> wasmtime::Result<u32> {
        Ok(u32::try_from(self.table(&this)?.len()).unwrap_or(u32::MAX))
    }

    fn get(&mut self, this: Resource<Table>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.table(&this)?.get(&key).map(str::to_owned))
    }

    fn member(&mut self, this: Resource<Table>, name: String) -> wasmtime::Result<Option<String>> {
        Ok(self.table(&this)?.member(&name).map(str::to_owned))
    }

    fn page(
        &mut self,
        this: Resource<Table>,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Vec<tables::Entry>> {
        let bytes = self.tick.limits.host_call_bytes;
        let page = self
            .table(&this)?
            .page(after.as_deref(), limit as usize, bytes);
        Ok(page.map(Into::into).collect())
    }

    fn page_packed(
        &mut self,
        this: Resource<Table>,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Vec<u8>> {
        let bytes = self.tick.limits.host_call_bytes;
        Ok(self
            .table(&this)?
            .page_packed(after.as_deref(), limit as usize, bytes))
    }

    fn keys_packed(
        &mut self,
        this: Resource<Table>,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Vec<u8>> {
        let bytes = self.tick.limits.host_call_bytes;
        Ok(self
            .table(&this)?
            .keys_packed(after.as_deref(), limit as usize, bytes))
    }

    fn drop(&mut self, this: Resource<Table>) -> wasmtime::Result<()> {
        self.handles.delete(this)?;
        Ok(())
    }
}

impl tables::HostDraft for Import<'_> {
    fn snapshot(&mut self, this: Resource<DraftHandle>) -> wasmtime::Result<Resource<Table>> {
        let table = self.draft(&this)?.snapshot();
        self.hand_out(table)
    }

    fn put(
        &mut self,
        this: Resource<DraftHandle>,
        key: String,
        value: String,
    ) -> wasmtime::Result<Result<(), tables::DraftError>> {
        Ok(self.draft(&this)?.put(&key, &value).map_err(Into::into))
    }

    fn put_packed(
        &mut self,
        this: Resource<DraftHandle>,
        page: Vec<u8>,
    ) -> wasmtime::Result<Result<(), tables::DraftError>> {
        Ok(self.draft(&this)?.put_packed(&page).map_err(Into::into))
    }

    fn remove(&mut self, this: Resource<DraftHandle>, key: String) -> wasmtime::Result<bool> {
        Ok(self.draft(&this)?.remove(&key))
    }

    fn remove_packed(
        &mut self,
        this: Resource<DraftHandle>,
        keys: Vec<u8>,
    ) -> wasmtime::Result<Result<u32, tables::DraftError>> {
        Ok(self.draft(&this)?.remove_packed(&keys).map_err(Into::into))
    }

    fn replace(
        &mut self,
        this: Resource<DraftHandle>,
        source: Resource<Table>,
    ) -> wasmtime::Result<()> {
        let source = self.table(&source)?.clone();
        self.draft(&this)?
            .replace(&source)
            .map_err(|error| Misuse(error.to_string()).into())
    }

    fn merge(
        &mut self,
        this: Resource<DraftHandle>,
        source: Resource<Table>,
    ) -> wasmtime::Result<()> {
        let source = self.table(&source)?.clone();
        self.draft(&this)?
            .merge(&source)
            .map_err(|error| Misuse(error.to_string()).into())
    }

    fn set_version(
        &mut self,
        this: Resource<DraftHandle>,
        version: Option<tables::DataVersion>,
    ) -> wasmtime::Result<()> {
        self.draft(&this)?.set_version(version.map(Into::into));
        Ok(())
    }

    fn drop(&mut self, this: Resource<DraftHandle>) -> wasmtime::Result<()> {
        self.handles.delete(this)?;
        Ok(())
    }
}

impl master::Host for Import<'_> {
    async fn fetch(
        &mut self,
        table: String,
    ) -> wasmtime::Result<Result<Resource<Table>, master::FetchError>> {
        let Some(kind) = TableKind::by_name(&table) else {
            return Ok(Err(FetchError::UnknownTable(table).into()));
        };
        match self.answer(kind).await {
            Ok(table) => self.hand_out(table).map(Ok),
            Err(error) => Ok(Err(error.into())),
        }
    }
}

impl Import<'_> {
    /// The master's answer: each request goes out once in a tick, whatever came of it.
    pub(super) async fn answer(&mut self, kind: &'static TableKind) -> Result<Table, FetchError> {
        if let Some(answer) = self.answers.get(kind.name) {
            return answer.clone();
        }
        let fetch = self.tick.fetch.clone();
        self.meter.start_fetch(kind.name);
        let answer = in_time(self.tick.limits.fetch_time, fetch.fetch(kind)).await;
        self.meter.end_fetch();
        self.answers.insert(kind.name, answer.clone());
        answer
    }
}

/// An answer within the limit, where there is one.
async fn in_time(
    limit: Option<Duration>,
    answer: BoxFuture<'_, Result<Table, FetchError>>,
) -> Result<Table, FetchError> {
    match limit {
        None => answer.await,
        Some(limit) => tokio::time::timeout(limit, answer)
            .await
            .unwrap_or(Err(FetchError::OverTime(limit))),
    }
}

impl replica::Host for Import<'_> {
    fn current(&mut self, table: String) -> wasmtime::Result<Option<Resource<Table>>> {
        let current = self.tick.current.get(table.as_str()).cloned();
        current.map(|table| self.hand_out(table)).transpose()
    }

    fn edit(&mut self, table: String) -> wasmtime::Result<Resource<DraftHandle>> {
        let place = self
            .writes
            .iter()
            .position(|kind| kind.name == table)
            .ok_or_else(|| {
                Misuse(format!(
                    "the policy edits `{table}`, which its description does not list in writes"
                ))
            })?;
        let kind = self.writes[place];
        if self.drafts[place].is_none() {
            let base = self.tick.current.get(kind.name).cloned();
            self.drafts[place] = Some(Draft::new(kind, base, DraftLimits::default()));
        }
        self.hand_out(DraftHandle(place))
    }
}

impl settings::Host for Import<'_> {
    fn get(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        Ok(self.tick.settings.get(&name).cloned())
    }
}

impl memory::Host for Import<'_> {
    fn get(&mut self, name: String) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(self.tick.memory.get(&name).cloned())
    }

    fn set(
        &mut self,
        name: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), memory::MemoryError>> {
        let entries = self.tick.limits.memory_entries;
        if self.tick.memory.len() >= entries && !self.tick.memory.contains_key(&name) {
            let exceeded = Exceeded::memory_entries(entries);
            return Ok(Err(memory::MemoryError::Other(exceeded.to_string())));
        }
        let limit = self.tick.limits.memory_bytes;
        let old = self
            .tick
            .memory
            .get(&name)
            .map_or(0, |old| name.len() + old.len());
        let bytes = self.memory_bytes - old + name.len() + value.len();
        if bytes > limit {
            return Ok(Err(memory::MemoryError::TooLarge(limit as u64)));
        }
        self.memory_bytes = bytes;
        self.tick.memory.insert(name, value);
        Ok(Ok(()))
    }

    fn remove(&mut self, name: String) -> wasmtime::Result<()> {
        if let Some(old) = self.tick.memory.remove(&name) {
            self.memory_bytes -= name.len() + old.len();
        }
        Ok(())
    }
}

impl log::Host for Import<'_> {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.meter.count_log_line();
        self.log.write(level, &message);
        Ok(())
    }
}

impl From<DataVersion> for tables::DataVersion {
    fn from(version: DataVersion) -> Self {
        let DataVersion {
            state_version,
            timestamp,
            counter,
        } = version;
        Self {
            state_version,
            timestamp,
            counter,
        }
    }
}

impl From<tables::DataVersion> for DataVersion {
    fn from(version: tables::DataVersion) -> Self {
        let tables::DataVersion {
            state_version,
            timestamp,
            counter,
        } = version;
        Self {
            state_version,
            timestamp,
            counter,
        }
    }
}

impl From<Entry<'_>> for tables::Entry {
    fn from(entry: Entry<'_>) -> Self {
        Self {
            key: entry.key.to_owned(),
            value: entry.value.to_owned(),
        }
    }
}

impl From<DraftError> for tables::DraftError {
    fn from(error: DraftError) -> Self {
        match error {
            DraftError::InvalidKey(why) => Self::InvalidKey(why),
            DraftError::InvalidValue(why) => Self::InvalidValue(why),
            DraftError::MalformedPage(why) => Self::MalformedPage(why),
            DraftError::TooLarge(why) => Self::TooLarge(why),
            DraftError::Other(why) => Self::Other(why),
        }
    }
}
