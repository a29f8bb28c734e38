//! The host in a native test: the tables of `locum-tables`, and one world for each thread while a tick runs on the bench.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use locum_tables::{DraftLimits, TableKind};

use crate::{DataVersion, DraftError, FetchError, Level, MemoryError};

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// All that a tick can see and do.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// What the master answers, by the table's name.
    pub(crate) answers: BTreeMap<String, Result<Table, FetchError>>,
    /// What the replica holds, by the table's name.
    pub(crate) current: BTreeMap<String, Table>,
    /// As the host hands them on: with defaults filled in.
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) memory: BTreeMap<String, Vec<u8>>,
    /// The tables that the policy says it writes.
    pub(crate) writes: Vec<String>,
    /// The drafts that the tick asked for, in that order.
    pub(crate) drafts: Vec<Draft>,
    /// The tables that the tick asked the master for, in that order.
    pub(crate) fetched: Vec<String>,
    pub(crate) log: Vec<(Level, String)>,
}

/// Runs `tick` in a world, and gives back the world as the tick left it.
///
/// # Panics
/// If a tick runs on this thread already.
pub(crate) fn enter<T>(world: World, tick: impl FnOnce() -> T) -> (T, World) {
    /// Also after a panic the thread is as it was.
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            WORLD.take();
        }
    }

    let nested = WORLD.replace(Some(world)).is_some();
    let _leave = Leave;
    assert!(!nested, "a tick runs on this thread already");
    let result = tick();
    (result, WORLD.take().unwrap_or_default())
}

#[track_caller]
fn with<T>(act: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(|world| match world {
        Some(world) => act(world),
        None => panic!("no tick runs on this thread: a policy runs on the bench, or in a host"),
    })
}

/// A table of the host's own.
#[derive(Clone)]
pub(crate) struct Table(pub(crate) locum_tables::Table);

impl std::fmt::Debug for Table {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} with {} entries", self.0.kind().name, self.0.len())
    }
}

impl Table {
    pub(crate) fn version(&self) -> Option<DataVersion> {
        self.0.version().map(|version| {
            let locum_tables::DataVersion {
                state_version,
                timestamp,
                counter,
            } = version;
            DataVersion {
                state_version,
                timestamp,
                counter,
            }
        })
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
        self.0.len()
    }

    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.0.get(key).map(str::to_owned)
    }

    pub(crate) fn member(&self, name: &str) -> Option<String> {
        self.0.member(name).map(str::to_owned)
    }

    pub(crate) fn page_packed(&self, after: Option<&str>, limit: u32) -> Vec<u8> {
        self.0.page_packed(after, limit as usize, PAGE_BYTES)
    }

    pub(crate) fn keys_packed(&self, after: Option<&str>, limit: u32) -> Vec<u8> {
        self.0.keys_packed(after, limit as usize, PAGE_BYTES)
    }
}

/// How large a page is at most, in bytes: small, so that a test with some entries has more than one.
const PAGE_BYTES: usize = 4096;

/// A draft of the host's own; asking for it twice gives the same one.
#[derive(Clone)]
pub(crate) struct Draft(Rc<RefCell<locum_tables::Draft>>);

impl std::fmt::Debug for Draft {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "draft of {:?}", self.snapshot())
    }
}

impl Draft {
    /// The name of the table that it is a draft of.
    pub(crate) fn name(&self) -> &'static str {
        self.0.borrow().kind().name
    }

    pub(crate) fn snapshot(&self) -> Table {
        Table(self.0.borrow().snapshot())
    }

    pub(crate) fn put(&self, key: &str, value: &str) -> Result<(), DraftError> {
        self.0.borrow_mut().put(key, value).map_err(draft_error)
    }

    pub(crate) fn put_packed(&self, page: &[u8]) -> Result<(), DraftError> {
        self.0.borrow_mut().put_packed(page).map_err(draft_error)
    }

    pub(crate) fn remove(&self, key: &str) -> bool {
        self.0.borrow_mut().remove(key)
    }

    pub(crate) fn remove_packed(&self, keys: &[u8]) -> Result<usize, DraftError> {
        self.0
            .borrow_mut()
            .remove_packed(keys)
            .map(|removed| removed as usize)
            .map_err(draft_error)
    }

    #[track_caller]
    pub(crate) fn replace(&self, source: &Table) {
        trap(self.0.borrow_mut().replace(&source.0));
    }

    #[track_caller]
    pub(crate) fn merge(&self, source: &Table) {
        trap(self.0.borrow_mut().merge(&source.0));
    }

    pub(crate) fn set_version(&self, version: Option<DataVersion>) {
        let version = version.map(|version| {
            let DataVersion {
                state_version,
                timestamp,
                counter,
            } = version;
            locum_tables::DataVersion {
                state_version,
                timestamp,
                counter,
            }
        });
        self.0.borrow_mut().set_version(version);
    }
}

/// What the interface has no error for is a trap in the host, and a panic here.
#[track_caller]
fn trap(done: Result<(), locum_tables::DraftError>) {
    if let Err(error) = done {
        panic!("the host would trap: {error}");
    }
}

fn draft_error(error: locum_tables::DraftError) -> DraftError {
    use locum_tables::DraftError as Host;
    match error {
        Host::InvalidKey(text) => DraftError::InvalidKey(text),
        Host::InvalidValue(text) => DraftError::InvalidValue(text),
        Host::MalformedPage(text) => DraftError::MalformedPage(text),
        Host::TooLarge(limit) => DraftError::TooLarge(limit),
        Host::Other(text) => DraftError::Other(text),
    }
}

#[track_caller]
pub(crate) fn fetch(table: &str) -> Result<Table, FetchError> {
    if TableKind::by_name(table).is_none() {
        return Err(FetchError::UnknownTable(table.to_owned()));
    }
    let answer = with(|world| {
        world.fetched.push(table.to_owned());
        world.answers.get(table).cloned()
    });
    answer.unwrap_or_else(|| panic!("the bench has no answer for `{table}`: script one"))
}

pub(crate) fn current(table: &str) -> Option<Table> {
    with(|world| world.current.get(table).cloned())
}

#[track_caller]
pub(crate) fn edit(table: &str) -> Draft {
    with(|world| {
        if let Some(draft) = world.drafts.iter().find(|draft| draft.name() == table) {
            return draft.clone();
        }
        match TableKind::by_name(table) {
            Some(kind) if world.writes.iter().any(|written| written == table) => {
                let base = world.current.get(table).map(|table| table.0.clone());
                let draft = locum_tables::Draft::new(kind, base, DraftLimits::default());
                let draft = Draft(Rc::new(RefCell::new(draft)));
                world.drafts.push(draft.clone());
                draft
            }
            _ => panic!("the host would trap: the description does not list `{table}` in writes"),
        }
    })
}

pub(crate) fn setting(name: &str) -> Option<String> {
    with(|world| world.settings.get(name).cloned())
}

pub(crate) fn remembered(name: &str) -> Option<Vec<u8>> {
    with(|world| world.memory.get(name).cloned())
}

#[allow(clippy::unnecessary_wraps, reason = "in a host this can fail")]
pub(crate) fn remember(name: &str, value: &[u8]) -> Result<(), MemoryError> {
    with(|world| world.memory.insert(name.to_owned(), value.to_owned()));
    Ok(())
}

pub(crate) fn forget(name: &str) {
    with(|world| world.memory.remove(name));
}

pub(crate) fn log(level: Level, message: &str) {
    with(|world| world.log.push((level, message.to_owned())));
}
