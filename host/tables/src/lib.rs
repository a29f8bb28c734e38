//! RocketMQ's metadata as tables: the JSON dialect that brokers write, and tables, drafts and differences made of it.
//!
//! Bytes in, values out. A master's answer is scanned once into a [`Table`]: one buffer with a sorted index, shared by
//! reference, never a tree of values. A [`Draft`] is a table being changed; [`difference()`] says what it would change.
//! What the four kinds of table differ in is data, see [`TableKind`].
//!
//! This crate knows no sockets, no files and no policies. What always holds here: a document that is not whole and well
//! formed gives an error and never a table; what a value holds is kept byte for byte, apart from white space between
//! its tokens, quotes around bare keys, and a comma before a closing bracket.

pub mod dialect;
mod difference;
mod draft;
mod error;
mod file;
mod kind;
mod limits;
pub mod page;
mod read;
mod sorted;
mod structure;
pub mod system;
mod table;
mod version;

pub use difference::{Difference, difference};
pub use draft::{Draft, DraftError};
pub use error::{ReadError, ReadProblem};
pub use kind::{
    CONSUMER_OFFSETS, DELAY_OFFSETS, Dropped, KINDS, KeyKind, Member, Paging, SUBSCRIPTION_GROUPS,
    Slot, TOPICS, TableKind, ValueKind,
};
pub use limits::{DraftLimits, ReadLimits};
pub use table::{Entry, Table};
pub use version::DataVersion;
