//! The host's log, at the routine's own name. The macros `error!`, `warn!`, `info!`, `debug!` and `trace!` format as
//! `println!` does.

use std::fmt;

use crate::world;

/// How grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the one who writes the policy.
    Trace,
    /// For the one who looks for a fault.
    Debug,
    /// Worth a line.
    Info,
    /// An operator should look at it.
    Warn,
    /// Something went wrong.
    Error,
}

/// Writes a line. The host bounds how many lines, and how much text, a tick may log.
pub fn write(level: Level, message: fmt::Arguments<'_>) {
    match message.as_str() {
        Some(text) => world::log(level, text),
        None => world::log(level, &message.to_string()),
    }
}

/// Logs at level error.
#[macro_export]
macro_rules! error {
    ($($message:tt)+) => { $crate::log::write($crate::Level::Error, ::core::format_args!($($message)+)) };
}

/// Logs at level warn.
#[macro_export]
macro_rules! warn {
    ($($message:tt)+) => { $crate::log::write($crate::Level::Warn, ::core::format_args!($($message)+)) };
}

/// Logs at level info.
#[macro_export]
macro_rules! info {
    ($($message:tt)+) => { $crate::log::write($crate::Level::Info, ::core::format_args!($($message)+)) };
}

/// Logs at level debug.
#[macro_export]
macro_rules! debug {
    ($($message:tt)+) => { $crate::log::write($crate::Level::Debug, ::core::format_args!($($message)+)) };
}

/// Logs at level trace.
#[macro_export]
macro_rules! trace {
    ($($message:tt)+) => { $crate::log::write($crate::Level::Trace, ::core::format_args!($($message)+)) };
}
