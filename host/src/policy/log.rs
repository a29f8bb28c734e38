//! The guest's log lines, on their way to the host's log.

use super::bindings::locum::sync::log::Level;
use super::limits::{Limits, TEXT_BYTES, clip};

/// Where a policy's lines go, and how many are left.
#[derive(Debug)]
pub(super) struct Log {
    replica: String,
    routine: &'static str,
    policy: String,
    lines_left: usize,
    bytes_left: usize,
    full: bool,
    /// The last line at level error, clipped: a panicking guest says its last words there.
    last_error: Option<String>,
}

impl Log {
    pub(super) fn new(
        replica: String,
        routine: &'static str,
        policy: String,
        limits: &Limits,
    ) -> Self {
        Self {
            replica,
            routine,
            policy,
            lines_left: limits.log_lines,
            bytes_left: limits.log_bytes,
            full: false,
            last_error: None,
        }
    }

    /// Writes one line, unless the tick has logged too much already.
    pub(super) fn write(&mut self, level: Level, message: &str) {
        let message = clip(message, TEXT_BYTES);
        if self.lines_left > 0 && message.len() <= self.bytes_left {
            self.lines_left -= 1;
            self.bytes_left -= message.len();
            self.emit(level, &message);
        } else if !self.full {
            self.full = true;
            self.emit(
                Level::Warn,
                "the policy logs too much; its further lines of this tick are dropped",
            );
        }
        if level == Level::Error {
            self.last_error = Some(message);
        }
    }

    /// The text of the last line at level error.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    fn emit(&self, level: Level, message: &str) {
        let Self {
            replica,
            routine,
            policy,
            ..
        } = self;
        // tracing wants a level that is known at compile time.
        macro_rules! emit {
            ($level:ident) => {
                tracing::event!(target: "locum::policy", tracing::Level::$level, replica, routine, policy, "{message}")
            };
        }
        match level {
            Level::Trace => emit!(TRACE),
            Level::Debug => emit!(DEBUG),
            Level::Info => emit!(INFO),
            Level::Warn => emit!(WARN),
            Level::Error => emit!(ERROR),
        }
    }
}
