//! The `locum` command, by its binary: exit codes, output, and the host that runs.

mod author;
mod codes;
mod demo;
mod directory;
mod help;
mod keys;
mod names;
mod plugin;
mod running;
mod snapshot;
mod status;
