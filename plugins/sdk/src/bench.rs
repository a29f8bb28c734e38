//! A bench for policies: one tick, natively, over the host's own tables, with a master that answers what the test says.
//!
//! ```
//! use locum_sdk::bench::{Bench, table};
//! use locum_sdk::prelude::*;
//! # struct Mirror;
//! # impl Routine for Mirror {
//! #     fn describe() -> Description { Description::new("mirror", "0.1.0", "").writes(TOPICS) }
//! #     fn sync(_: Tick) -> Result<(), Failure> {
//! #         let theirs = master::fetch(TOPICS)?;
//! #         replica::edit(TOPICS).replace(&theirs);
//! #         Ok(())
//! #     }
//! # }
//! let answer = r#"{"topicConfigTable":{"orders":{"perm":6}}}"#;
//! let ran = Bench::new().answer(TOPICS, answer).run::<Mirror>();
//! assert_eq!(ran.result, Ok(()));
//! assert!(ran.draft(TOPICS).is_some_and(|draft| draft.same(&table(TOPICS, answer))));
//!
//! let next = Bench::after(&ran).refuse(TOPICS, FetchError::TimedOut).run::<Mirror>();
//! assert_eq!(next.result, Err(Failure::Fetch(FetchError::TimedOut)));
//! ```
//!
//! What would be a trap in a host is a panic here, such as a draft of a table that the description does not list.

use std::collections::BTreeMap;

use locum_tables::{ReadLimits, TableKind};

use crate::world::{self, World};
use crate::{Failure, FetchError, Level, Routine, Table, Tick};

/// One tick to come. What is not set: an empty replica, no setting, nothing remembered; to ask the master for a table
/// without an answer is a panic.
#[derive(Debug, Default)]
pub struct Bench {
    world: World,
    number: u64,
    started_at: u64,
}

impl Bench {
    /// The first tick of a fresh replica.
    #[must_use]
    pub fn new() -> Self {
        Self {
            number: 1,
            ..Self::default()
        }
    }

    /// The tick after another one, with what that one left: its drafts committed and its memory kept if it ended well.
    #[must_use]
    pub fn after(ran: &Ran) -> Self {
        let World {
            current, memory, ..
        } = &ran.before;
        let mut bench = Self {
            number: ran.tick.number + 1,
            started_at: ran.tick.started_at,
            ..Self::default()
        };
        bench.world.current.clone_from(current);
        bench.world.memory.clone_from(memory);
        if ran.result.is_ok() {
            let drafts = ran
                .drafts
                .iter()
                .map(|(name, draft)| ((*name).to_owned(), draft.0.clone()));
            bench.world.current.extend(drafts);
            bench.world.memory.clone_from(&ran.memory);
        }
        bench
    }

    /// The master answers with this document: the members as they come on the wire.
    ///
    /// # Panics
    /// If `document` is not what a master can answer for this table.
    #[must_use]
    #[track_caller]
    pub fn answer(mut self, table: &str, document: &str) -> Self {
        let answer = self::table(table, document);
        self.world.answers.insert(table.to_owned(), Ok(answer.0));
        self
    }

    /// The master, or the way to it, fails when it is asked for this table.
    #[must_use]
    pub fn refuse(mut self, table: &str, error: FetchError) -> Self {
        self.world.answers.insert(table.to_owned(), Err(error));
        self
    }

    /// The replica holds this document: the members as they are in its file.
    ///
    /// # Panics
    /// If `document` is not what can be in this table's file.
    #[must_use]
    #[track_caller]
    pub fn current(mut self, table: &str, document: &str) -> Self {
        let read = locum_tables::Table::from_file(
            kind(table),
            document.as_bytes(),
            &ReadLimits::default(),
        );
        self.world
            .current
            .insert(table.to_owned(), world::Table(good(table, read)));
        self
    }

    /// The operator gives this setting.
    #[must_use]
    pub fn setting(mut self, name: &str, text: &str) -> Self {
        self.world.settings.insert(name.to_owned(), text.to_owned());
        self
    }

    /// The routine remembers this.
    #[must_use]
    pub fn memory(mut self, name: &str, value: &[u8]) -> Self {
        self.world.memory.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The tick begins then: milliseconds since 1970.
    #[must_use]
    pub fn started_at(mut self, started_at: u64) -> Self {
        self.started_at = started_at;
        self
    }

    /// Runs the tick.
    ///
    /// # Panics
    /// If the host would refuse to load the policy with these settings, or if the policy would trap.
    #[must_use]
    pub fn run<R: Routine>(self) -> Ran {
        let Self {
            mut world,
            number,
            started_at,
        } = self;
        settle::<R>(&mut world);
        let tick = Tick { number, started_at };
        let before = World {
            current: world.current.clone(),
            memory: world.memory.clone(),
            ..World::default()
        };
        let (result, after) = world::enter(world, || R::sync(tick));
        let drafts = after
            .drafts
            .iter()
            .map(|draft| (draft.name(), Table(draft.snapshot())))
            .collect();
        let World {
            memory,
            fetched,
            log,
            ..
        } = after;
        Ran {
            result,
            drafts,
            memory,
            fetched,
            log,
            tick,
            before,
        }
    }
}

/// What a host does before it loads a policy for a slot.
fn settle<R: Routine>(world: &mut World) {
    let description = R::describe();
    for name in world.settings.keys() {
        let known = description
            .settings
            .iter()
            .any(|setting| setting.name == *name);
        assert!(known, "the policy has no setting `{name}`");
    }
    for setting in description.settings {
        match setting.default {
            Some(default) => {
                world.settings.entry(setting.name).or_insert(default);
            }
            None => {
                let missing = setting.required && !world.settings.contains_key(&setting.name);
                assert!(!missing, "setting `{}` is required", setting.name);
            }
        }
    }
    for table in &description.writes {
        kind(table);
    }
    world.writes = description.writes;
}

/// A tick that was run.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub result: Result<(), Failure>,
    /// What the routine remembers now; a host drops that if the tick failed.
    pub memory: BTreeMap<String, Vec<u8>>,
    /// The tables that the policy asked the master for, in that order.
    pub fetched: Vec<String>,
    /// What the policy logged.
    pub log: Vec<(Level, String)>,
    drafts: Vec<(&'static str, Table)>,
    tick: Tick,
    /// The replica's tables and memory as they were.
    before: World,
}

impl Ran {
    /// The draft of a table, if the policy asked for one; a host commits it only if the tick ended well.
    #[must_use]
    pub fn draft(&self, table: &str) -> Option<&Table> {
        self.drafts
            .iter()
            .find(|(name, _)| *name == table)
            .map(|(_, draft)| draft)
    }

    /// Whether a line of this level was logged that contains `text`.
    #[must_use]
    pub fn logged(&self, level: Level, text: &str) -> bool {
        self.log
            .iter()
            .any(|(logged, line)| *logged == level && line.contains(text))
    }
}

/// A table to compare with: the document as a master answers it.
///
/// # Panics
/// If `document` is not what a master can answer for this table.
#[must_use]
#[track_caller]
pub fn table(name: &str, document: &str) -> Table {
    let read =
        locum_tables::Table::from_answer(kind(name), document.as_bytes(), &ReadLimits::default());
    Table(world::Table(good(name, read)))
}

#[track_caller]
fn kind(table: &str) -> &'static TableKind {
    TableKind::by_name(table).unwrap_or_else(|| panic!("there is no table `{table}`"))
}

#[track_caller]
fn good(
    table: &str,
    read: Result<locum_tables::Table, locum_tables::ReadError>,
) -> locum_tables::Table {
    read.unwrap_or_else(|error| panic!("this is no document of `{table}`: {error}"))
}
