//! Who waits for which reply: the request table (`responseTable` in `NettyRemotingAbstract.java`).
//!
//! Pure: time is a parameter, and a waiter is whatever the caller wants back. A reply that nobody waits for is dropped
//! and counted, whatever the peer sends and however often.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::command::Command;
use crate::limits;

/// The table is full; the waiter comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests wait for replies already")]
pub struct TooMany<W>(pub W);

/// What became of a received command.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<W> {
    /// This one waits for it.
    Waiter(W),
    /// Nobody does.
    Dropped(Dropped),
}

/// Why a received command has no waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// Its request was given up before.
    Late,
    /// Its request was answered before.
    Double,
    /// No such request was issued, or long ago.
    Unknown,
    /// It is a request of the peer's own.
    NotAResponse,
}

/// How many received commands had no waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DroppedCounts {
    /// Replies to requests that were given up.
    pub late: u64,
    /// Further replies to answered requests.
    pub double: u64,
    /// Replies to nothing that was asked.
    pub unknown: u64,
    /// Requests of the peer.
    pub not_a_response: u64,
}

/// Requests that wait for their replies, by opaque.
#[derive(Debug)]
pub struct InFlight<W> {
    waiting: BTreeMap<i32, (Instant, W)>,
    /// Newest last; `true` if it was answered.
    gone: VecDeque<(i32, bool)>,
    next: i32,
    limit: usize,
    counts: DroppedCounts,
}

impl<W> Default for InFlight<W> {
    fn default() -> Self {
        Self::with_limit(limits::IN_FLIGHT)
    }
}

impl<W> InFlight<W> {
    /// A table for at most so many requests at a time.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            waiting: BTreeMap::new(),
            gone: VecDeque::new(),
            next: 0,
            limit,
            counts: DroppedCounts::default(),
        }
    }

    /// Notes a request that waits until `deadline`; the opaque to send it with.
    ///
    /// # Errors
    ///
    /// When the table is full.
    pub fn issue(&mut self, waiter: W, deadline: Instant) -> Result<i32, TooMany<W>> {
        if self.waiting.len() >= self.limit {
            return Err(TooMany(waiter));
        }
        while self.waiting.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let opaque = self.next;
        self.next = opaque.wrapping_add(1);
        self.waiting.insert(opaque, (deadline, waiter));
        Ok(opaque)
    }

    /// Whom a received command is for.
    pub fn take(&mut self, command: &Command) -> Taken<W> {
        if !command.is_response() {
            self.counts.not_a_response += 1;
            return Taken::Dropped(Dropped::NotAResponse);
        }
        if let Some((_, waiter)) = self.waiting.remove(&command.opaque) {
            self.remember(command.opaque, true);
            return Taken::Waiter(waiter);
        }
        let known = self
            .gone
            .iter()
            .rev()
            .find(|(opaque, _)| *opaque == command.opaque);
        let (dropped, count) = match known {
            Some((_, true)) => (Dropped::Double, &mut self.counts.double),
            Some((_, false)) => (Dropped::Late, &mut self.counts.late),
            None => (Dropped::Unknown, &mut self.counts.unknown),
        };
        *count += 1;
        Taken::Dropped(dropped)
    }

    /// Gives up the requests whose deadline has come, in the order of their issue.
    pub fn expire(&mut self, now: Instant) -> Vec<W> {
        let expired = self
            .waiting
            .extract_if(.., |_, (deadline, _)| *deadline <= now);
        let expired: Vec<_> = expired
            .map(|(opaque, (_, waiter))| (opaque, waiter))
            .collect();
        self.give_up(expired)
    }

    /// Gives up one request; its waiter if it still waits.
    pub fn cancel(&mut self, opaque: i32) -> Option<W> {
        let (_, waiter) = self.waiting.remove(&opaque)?;
        self.remember(opaque, false);
        Some(waiter)
    }

    /// Gives up all requests: the connection is gone.
    pub fn drain(&mut self) -> Vec<W> {
        let all = std::mem::take(&mut self.waiting);
        self.give_up(
            all.into_iter()
                .map(|(opaque, (_, waiter))| (opaque, waiter))
                .collect(),
        )
    }

    /// How many requests wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What was dropped so far.
    #[must_use]
    pub fn counts(&self) -> DroppedCounts {
        self.counts
    }

    fn give_up(&mut self, requests: Vec<(i32, W)>) -> Vec<W> {
        let give_up = |(opaque, waiter)| {
            self.remember(opaque, false);
            waiter
        };
        requests.into_iter().map(give_up).collect()
    }

    fn remember(&mut self, opaque: i32, answered: bool) {
        if self.gone.len() >= limits::REMEMBERED {
            self.gone.pop_front();
        }
        self.gone.push_back((opaque, answered));
    }
}
