//! What a policy may use. Every bound of this room is a figure in this file.

use std::num::NonZeroUsize;
use std::time::Duration;

use wasmtime::ResourceLimiter;

pub use crate::config::Limits;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// The largest component that is read at all, in bytes. The largest known kind, Python, has 18 MB.
pub const COMPONENT_BYTES: usize = 64 * MIB;
/// Stack of the thread that loads a component.
pub(super) const LOAD_STACK: usize = 16 * MIB;
/// How often the epoch advances: so often a running guest gives its thread back.
pub(super) const EPOCH: Duration = Duration::from_millis(10);
/// What a metered engine fills up: guest time is used up long before.
pub(super) const FUEL: u64 = u64::MAX;
/// Frames that a trap report keeps.
pub(super) const FRAMES: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");
/// Bytes that one frame of a trap report keeps; generics make long names.
pub(super) const FRAME_BYTES: usize = 300;
/// Bytes that one text of a policy (a panic, a failure, a log line) keeps.
pub(super) const TEXT_BYTES: usize = 8 * KIB;
/// Bytes of each name and version in a description.
pub(super) const NAME_BYTES: usize = 100;
/// Bytes of each summary and default in a description.
pub(super) const SUMMARY_BYTES: usize = 1000;
/// Settings that a description may list.
pub(super) const SETTINGS: usize = 100;
/// Handles that a guest may lend during one call, besides those that it holds.
pub(super) const LENT: usize = 64;
/// Address space that is reserved for a guest's memory where there is little, as wasmtime does on machines of 32 bits: more than
/// most policies ever use.
pub(super) const SCARCE_RESERVATION: u64 = 10 * MIB as u64;
/// Address space that is reserved beyond a memory that has grown out of that, so that it need not move each time.
pub(super) const SCARCE_GROWTH: u64 = MIB as u64;
/// Address space behind a memory, in which nothing can be.
pub(super) const SCARCE_GUARD: u64 = 64 * KIB as u64;
/// Core instances, tables and memories of one component: dozens in what the known toolchains make.
const PARTS: usize = 200;

/// A limit was hit: which one, and its value as the operator would write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("over the limit `{limit}` of {value}")]
pub(super) struct Exceeded {
    pub(super) limit: &'static str,
    pub(super) value: String,
}

impl Exceeded {
    pub(super) fn memory(bytes: usize) -> Self {
        Self {
            limit: "memory",
            value: size(bytes),
        }
    }

    pub(super) fn guest_time(time: Duration) -> Self {
        Self {
            limit: "guest-time",
            value: format!("{time:?}"),
        }
    }

    pub(super) fn host_call_bytes(bytes: usize) -> Self {
        Self {
            limit: "host-call-bytes",
            value: size(bytes),
        }
    }

    pub(super) fn handles(count: usize) -> Self {
        Self {
            limit: "handles",
            value: count.to_string(),
        }
    }

    pub(super) fn log_lines(count: usize) -> Self {
        Self {
            limit: "log-lines",
            value: count.to_string(),
        }
    }

    pub(super) fn log_bytes(bytes: usize) -> Self {
        Self {
            limit: "log-bytes",
            value: size(bytes),
        }
    }

    pub(super) fn memory_entries(count: usize) -> Self {
        Self {
            limit: "memory-entries",
            value: count.to_string(),
        }
    }
}

/// `bytes` in the largest unit that divides them.
fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes != 0 && bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ if bytes != 0 && bytes.is_multiple_of(KIB) => format!("{} KiB", bytes / KIB),
        _ => format!("{bytes} bytes"),
    }
}

/// At most `bytes` of a text that a policy made, on one line: it ends up in logs and tables. A cut text says how long it was.
pub(super) fn clip(text: &str, bytes: usize) -> String {
    let kept = &text[..text.floor_char_boundary(bytes)];
    let mut line = String::with_capacity(kept.len());
    for character in kept.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    if kept.len() < text.len() {
        line.push_str(&format!("... ({} bytes in all)", text.len()));
    }
    line
}

/// Counts all memories and tables of a store together (wasmtime's own limits count each for itself) and traps where growing
/// would pass the limit: a guest that is told "no" mostly aborts with a text that misleads.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    limit: usize,
    used: usize,
}

impl MemoryLimiter {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: 0 }
    }

    fn grow(&mut self, bytes: usize) -> wasmtime::Result<bool> {
        let used = self.used.saturating_add(bytes);
        if used > self.limit {
            return Err(Exceeded::memory(self.limit).into());
        }
        self.used = used;
        Ok(true)
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.grow(desired.saturating_sub(current))
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(error)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let elements = desired.saturating_sub(current);
        self.grow(elements.saturating_mul(size_of::<usize>()))
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(error)
    }

    fn instances(&self) -> usize {
        PARTS
    }

    fn tables(&self) -> usize {
        PARTS
    }

    fn memories(&self) -> usize {
        PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_counted_together() {
        let mut limiter = MemoryLimiter::new(3 * MIB);
        assert!(limiter.memory_growing(0, 2 * MIB, None).unwrap());
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        let error = limiter.memory_growing(MIB, MIB + 1, None).unwrap_err();
        assert_eq!(error.to_string(), "over the limit `memory` of 3 MiB");
    }

    #[test]
    fn table_elements_count_as_memory() {
        let mut limiter = MemoryLimiter::new(64);
        assert!(limiter.table_growing(0, 8, None).unwrap());
        assert!(limiter.table_growing(8, 9, None).is_err());
    }

    #[test]
    fn texts_are_clipped_between_characters_and_kept_on_one_line() {
        assert_eq!(clip("short", 5), "short");
        assert_eq!(clip("two\nlines\u{1b}[2J", 100), r"two\nlines\u{1b}[2J");
        assert_eq!(clip("zürich", 2), "z... (7 bytes in all)");
    }
}
