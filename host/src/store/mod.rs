//! A replica's files: atomic commit, locks, `.bak`, whose a directory is; our own records, and our copies of good components.
//!
//! One function changes files (`write`), and each file appears by rename, whole and flushed. What always holds:
//!
//! - After each step of a commit, main or `.bak` is a whole generation that we committed, and main is never missing.
//! - `.bak` is made only from a main of ours that was whole when it was written or read.
//! - Nothing damaged or foreign is deleted: it is put aside, and the newest few are kept.
//! - Nothing is written while a broker holds the store's lock, nor after one was there and left files of its own, until
//!   an operator adopts the directory.
//! - Nothing is written, either, when our lock is not at its place and another host has taken the one that is.
//! - Whether something has to be written is learned from the disk, not from what was tried before.
//!
//! The room knows the disk through the [`Disk`] trait only, and nothing of masters, policies or schedules. All calls
//! block; none waits.

mod aside;
mod broker;
mod components;
mod content;
mod directory;
mod disk;
mod error;
mod hexadecimal;
mod inspect;
mod json;
mod kept;
mod ledger;
mod load;
mod peek;
mod record;
mod recover;
mod rocksdb;
#[cfg(test)]
mod tests;
mod write;

pub use broker::broker_lock;
pub use components::Components;
pub use directory::{Commit, Directory, Standing, Unreadable};
pub use disk::{Disk, FileIdentity, Holder, Locking, NewFile, Ownership, RealDisk, Stat};
pub use error::{OpenError, StoreError};
pub use inspect::{Access, CopyReport, CopyState, Inspection, Loads, TableReport, inspect};
pub use load::{Adoption, Loaded, LoadedFrom};
pub use peek::{Peeked, peek};
pub use record::{
    CommitRecord, GoodRecord, PolicyId, ProbationRecord, QuarantineRecord, Record, RoleRecord,
    SwapRecord,
};
pub use recover::{RecoverError, RecoveredFile, Recovery, Replaced, recover};
