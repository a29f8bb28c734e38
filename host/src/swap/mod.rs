//! Noticing that a policy's file has another content. Knows folders and hashes, neither RocketMQ nor wasmtime.
//!
//! * [`Watcher`] is the only place that names notify. It watches folders, never files, since a save by rename leaves a watch
//!   of the file on the old inode; and all it says is "something changed", of which the host's own files are no part.
//! * [`Quiet`] decides, with `now` as a parameter, when a changing folder has come to rest.
//! * [`Way`] is one slot's way of swapping as a state machine: candidate, trial, probation, quarantine, and back. Its actions are
//!   performed by whoever keeps it.
//! * [`Files`] reads the files that slots use and tells which have a content that was not seen before. Judged by hash, not by
//!   event: touching, permissions and reading lead to nothing.

mod files;
mod ident;
mod quiet;
mod route;
mod watch;
mod way;

pub(crate) use files::{Content, Files, Seen};
pub(crate) use ident::Ident;
pub(crate) use quiet::Quiet;
pub(crate) use watch::Watcher;
pub(crate) use way::{
    Accepted, Action, Command, Entrant, Event, Lasting, Outcome, Probation, Quarantined, Refused,
    Verdict, Way,
};
