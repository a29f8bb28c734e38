//! The guest's log lines, on their way to the host's log.

use super::bindings::locum::sync::log::Level;
use super::limits::{Exceeded, Limits, TEXT_BYTES, clip};

/// Where a policy's lines go, and how many are left.
#[derive(Debug)]
pub(super) struct Log {
    replica: String,
    routine: &'static str,
    policy: String,
    limits: Limits,
    lines: usize,
    bytes: usize,
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
            limits: limits.clone(),
            lines: 0,
            bytes: 0,
            full: false,
            last_error: None,
        }
    }

    /// Writes one line, unless the tick has logged too much already.
    pub(super) fn write(&mut self, level: Level, message: &str) {
        let message = clip(message, TEXT_BYTES);
        match self.room_for(&message) {
            Ok(()) => {
                self.lines += 1;
                self.bytes += message.len();
                self.emit(level, &message);
            }
            Err(exceeded) if !self.full => {
                self.full = true;
                let text = format!(
                    "the policy logs too much, {exceeded}; further lines of this tick are dropped"
                );
                self.emit(Level::Warn, &text);
            }
            Err(_) => {}
        }
        if level == Level::Error {
            self.last_error = Some(message);
        }
    }

    fn room_for(&self, message: &str) -> Result<(), Exceeded> {
        let (lines, bytes) = (self.limits.log_lines, self.limits.log_bytes);
        if self.lines >= lines {
            return Err(Exceeded::log_lines(lines));
        }
        if self.bytes + message.len() > bytes {
            return Err(Exceeded::log_bytes(bytes));
        }
        Ok(())
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
