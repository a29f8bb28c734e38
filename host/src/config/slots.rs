//! What a slot is told of limits and trials: its own tables over what is said to all, over the defaults.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserialize;

use super::limits::{KIB, Limits, MIB, TrialConfig};
use super::units::{Share, Size, Span};
use super::{MOMENT, YEAR, bounded};

const GIB: usize = 1024 * MIB;

/// What `[limits]` and `[trial]` say to every slot, `None` where there is no such table.
pub(super) struct SlotDefaults {
    limits: Option<LimitsTable>,
    trial: Option<TrialTable>,
}

impl SlotDefaults {
    /// Looked at here, so that a slip in them is told as theirs, also where no replica is.
    pub(super) fn new(
        limits: Option<LimitsTable>,
        trial: Option<TrialTable>,
    ) -> Result<Self, String> {
        if let Some(limits) = limits {
            limits
                .over(Limits::default())
                .map_err(|error| format!("`[limits]`: {error}"))?;
        }
        Ok(Self { limits, trial })
    }

    /// What the slot's own table says, over what is said to all, over what holds where nobody says anything. `None` if nobody does.
    pub(super) fn limits(
        &self,
        own: Option<LimitsTable>,
        request_timeout: Duration,
    ) -> Result<Option<Limits>, String> {
        [self.limits, own]
            .into_iter()
            .flatten()
            .try_fold(None, |below: Option<Limits>, table| {
                let below = below.unwrap_or_else(|| Limits::for_timeout(request_timeout));
                table.over(below).map(Some)
            })
    }

    pub(super) fn trial(&self, own: Option<TrialTable>) -> Option<TrialConfig> {
        [self.trial, own]
            .into_iter()
            .flatten()
            .fold(None, |below: Option<TrialConfig>, table| {
                Some(table.over(below.unwrap_or_default()))
            })
    }

    pub(super) fn say_nothing(&self) -> bool {
        self.limits.is_none() && self.trial.is_none()
    }
}

/// `[limits]`, or the `limits` of one routine: what is named there.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct LimitsTable {
    memory: Option<Size>,
    guest_time: Option<Span>,
    tick_time: Option<Span>,
    fetch_time: Option<Span>,
    host_call_bytes: Option<Size>,
    handles: Option<usize>,
    log_lines: Option<usize>,
    log_bytes: Option<Size>,
    memory_entries: Option<usize>,
    memory_bytes: Option<Size>,
}

/// From one page of WebAssembly's to all that a guest of 32 bits can address.
const MEMORY: RangeInclusive<usize> = 64 * KIB..=4 * GIB;
/// From a page that holds an entry with a long name to what a guest of 32 bits can bring.
const HOST_CALL_BYTES: RangeInclusive<usize> = KIB..=4 * GIB;
/// A policy that may hold no handle can do nothing at all.
const HANDLES: RangeInclusive<usize> = 1..=1_000_000;
/// Not one line is a wish that can be had.
const LOG_LINES: RangeInclusive<usize> = 0..=1_000_000;
const LOG_BYTES: RangeInclusive<usize> = 0..=GIB;
/// No memory between ticks is one, too. It is part of a record that is written whole whenever it changes.
const MEMORY_ENTRIES: RangeInclusive<usize> = 0..=1_000_000;
const MEMORY_BYTES: RangeInclusive<usize> = 0..=64 * MIB;

impl LimitsTable {
    /// What is named here, over `limits`. An error names the first key that is out of bounds.
    pub(super) fn over(self, limits: Limits) -> Result<Limits, String> {
        let bytes = |key, size: Option<Size>, default, range| match size {
            Some(size) => in_range(key, usize::from(size), range, ShownSize),
            None => Ok(default),
        };
        let count = |key, count, default, range| match count {
            Some(count) => in_range(key, count, range, |count| count),
            None => Ok(default),
        };
        let time = |key, span, default| match span {
            Some(span) => bounded(key, Some(span), YEAR, MOMENT),
            None => Ok(default),
        };
        let fetch_time = self
            .fetch_time
            .map(|span| bounded("fetch-time", Some(span), YEAR, MOMENT));
        Ok(Limits {
            memory: bytes("memory", self.memory, limits.memory, MEMORY)?,
            guest_time: time("guest-time", self.guest_time, limits.guest_time)?,
            tick_time: time("tick-time", self.tick_time, limits.tick_time)?,
            fetch_time: fetch_time.transpose()?.or(limits.fetch_time),
            host_call_bytes: bytes(
                "host-call-bytes",
                self.host_call_bytes,
                limits.host_call_bytes,
                HOST_CALL_BYTES,
            )?,
            handles: count("handles", self.handles, limits.handles, HANDLES)?,
            log_lines: count("log-lines", self.log_lines, limits.log_lines, LOG_LINES)?,
            log_bytes: bytes("log-bytes", self.log_bytes, limits.log_bytes, LOG_BYTES)?,
            memory_entries: count(
                "memory-entries",
                self.memory_entries,
                limits.memory_entries,
                MEMORY_ENTRIES,
            )?,
            memory_bytes: bytes(
                "memory-bytes",
                self.memory_bytes,
                limits.memory_bytes,
                MEMORY_BYTES,
            )?,
        })
    }
}

/// `[trial]`, or the `trial` of one routine: what is named there.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct TrialTable {
    max_removed: Option<Share>,
    min_removed: Option<usize>,
    max_changed: Option<Share>,
}

impl TrialTable {
    /// What is named here, over `trial`.
    pub(super) fn over(self, trial: TrialConfig) -> TrialConfig {
        TrialConfig {
            max_removed: self.max_removed.map_or(trial.max_removed, f64::from),
            min_removed: self.min_removed.unwrap_or(trial.min_removed),
            max_changed: self.max_changed.map_or(trial.max_changed, f64::from),
        }
    }
}

/// A value that is in a range, or what to write instead.
pub(super) fn in_range<T: Copy + PartialOrd, S: fmt::Display>(
    key: &str,
    value: T,
    range: RangeInclusive<T>,
    shown: impl Fn(T) -> S,
) -> Result<T, String> {
    if range.contains(&value) {
        return Ok(value);
    }
    let [value, least, most] = [value, *range.start(), *range.end()].map(shown);
    Err(format!(
        "`{key}` of {value}: write at least {least}, and at most {most}"
    ))
}

/// A number of bytes as an operator would write it.
struct ShownSize(usize);

impl fmt::Display for ShownSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes != 0 && bytes.is_multiple_of(GIB) => write!(f, "{}GiB", bytes / GIB),
            bytes if bytes != 0 && bytes.is_multiple_of(MIB) => write!(f, "{}MiB", bytes / MIB),
            bytes if bytes != 0 && bytes.is_multiple_of(KIB) => write!(f, "{}KiB", bytes / KIB),
            bytes => write!(f, "{bytes}B"),
        }
    }
}
