//! The host through the component's imports: thin, only the types are changed on the way.

use crate::bindings::locum::sync::{log as host_log, master, memory, replica, settings, tables};
use crate::{DataVersion, DraftError, FetchError, Level, MemoryError};

/// A handle of a table that the host holds.
pub(crate) struct Table(tables::Table);

impl Table {
    pub(crate) fn version(&self) -> Option<DataVersion> {
        self.0.version().map(Into::into)
    }

    pub(crate) fn same_version(&self, other: &Self) -> bool {
        self.0.same_version(&other.0)
    }

    pub(crate) fn same_entries(&self, other: &Self) -> bool {
        self.0.same_entries(&other.0)
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len() as usize
    }

    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.0.get(key)
    }

    pub(crate) fn member(&self, name: &str) -> Option<String> {
        self.0.member(name)
    }

    pub(crate) fn page_packed(&self, after: Option<&str>, limit: u32) -> Vec<u8> {
        self.0.page_packed(after, limit)
    }

    pub(crate) fn keys_packed(&self, after: Option<&str>, limit: u32) -> Vec<u8> {
        self.0.keys_packed(after, limit)
    }
}

/// A handle of a draft that the host holds.
pub(crate) struct Draft(tables::Draft);

impl Draft {
    pub(crate) fn snapshot(&self) -> Table {
        Table(self.0.snapshot())
    }

    pub(crate) fn put(&self, key: &str, value: &str) -> Result<(), DraftError> {
        Ok(self.0.put(key, value)?)
    }

    pub(crate) fn put_packed(&self, page: &[u8]) -> Result<(), DraftError> {
        Ok(self.0.put_packed(page)?)
    }

    pub(crate) fn remove(&self, key: &str) -> bool {
        self.0.remove(key)
    }

    pub(crate) fn remove_packed(&self, keys: &[u8]) -> Result<usize, DraftError> {
        Ok(self.0.remove_packed(keys)? as usize)
    }

    pub(crate) fn replace(&self, source: &Table) {
        self.0.replace(&source.0);
    }

    pub(crate) fn merge(&self, source: &Table) {
        self.0.merge(&source.0);
    }

    pub(crate) fn set_version(&self, version: Option<DataVersion>) {
        self.0.set_version(version.map(Into::into));
    }
}

pub(crate) fn fetch(table: &str) -> Result<Table, FetchError> {
    Ok(Table(master::fetch(table)?))
}

pub(crate) fn current(table: &str) -> Option<Table> {
    replica::current(table).map(Table)
}

pub(crate) fn edit(table: &str) -> Draft {
    Draft(replica::edit(table))
}

pub(crate) fn setting(name: &str) -> Option<String> {
    settings::get(name)
}

pub(crate) fn remembered(name: &str) -> Option<Vec<u8>> {
    memory::get(name)
}

pub(crate) fn remember(name: &str, value: &[u8]) -> Result<(), MemoryError> {
    memory::set(name, value).map_err(|error| match error {
        memory::MemoryError::TooLarge(limit) => MemoryError::TooLarge(limit),
        memory::MemoryError::Other(text) => MemoryError::Other(text),
    })
}

pub(crate) fn forget(name: &str) {
    memory::remove(name);
}

pub(crate) fn log(level: Level, message: &str) {
    let level = match level {
        Level::Trace => host_log::Level::Trace,
        Level::Debug => host_log::Level::Debug,
        Level::Info => host_log::Level::Info,
        Level::Warn => host_log::Level::Warn,
        Level::Error => host_log::Level::Error,
    };
    host_log::write(level, message);
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

impl From<tables::DraftError> for DraftError {
    fn from(error: tables::DraftError) -> Self {
        match error {
            tables::DraftError::InvalidKey(text) => Self::InvalidKey(text),
            tables::DraftError::InvalidValue(text) => Self::InvalidValue(text),
            tables::DraftError::MalformedPage(text) => Self::MalformedPage(text),
            tables::DraftError::TooLarge(limit) => Self::TooLarge(limit),
            tables::DraftError::Other(text) => Self::Other(text),
        }
    }
}

impl From<master::FetchError> for FetchError {
    fn from(error: master::FetchError) -> Self {
        match error {
            master::FetchError::UnknownTable(name) => Self::UnknownTable(name),
            master::FetchError::NotServed => Self::NotServed,
            master::FetchError::NothingThere(remark) => Self::NothingThere(remark),
            master::FetchError::Unreachable(text) => Self::Unreachable(text),
            master::FetchError::TimedOut => Self::TimedOut,
            master::FetchError::Refused(master::Refusal { code, remark }) => {
                Self::Refused { code, remark }
            }
            master::FetchError::TooLarge(master::Excess { size, limit }) => {
                Self::TooLarge { size, limit }
            }
            master::FetchError::Malformed(text) => Self::Malformed(text),
            master::FetchError::Other(text) => Self::Other(text),
        }
    }
}
