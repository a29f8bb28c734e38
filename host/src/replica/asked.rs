//! The master as one tick asks it: what it took to answer, and what to tell when it did not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use locum_tables::{Table, TableKind};
use parking_lot::Mutex;

use super::finding::Known;
use super::outcome::Fault;
use crate::clock::now;
use crate::config::ReplicaConfig;
use crate::master::explained;
use crate::policy::{BoxFuture, Fetch, FetchError};
use crate::status::ErrorKind;

/// A master and the connection to it.
pub(super) struct Way {
    pub(super) master: Known,
    pub(super) fetch: Arc<dyn Fetch>,
    /// To be set when it cannot be asked, where name servers may know of another.
    pub(super) doubt: Option<Arc<AtomicBool>>,
}

/// The way to a master, for one tick.
pub(super) struct Asked {
    /// Read once for the tick.
    way: Way,
    /// How long one answer may take.
    timeout: Duration,
    /// Whether requests are signed.
    signs: bool,
    longest_us: AtomicU64,
    /// Whoever runs on the same tick is given the same answers, errors too: a trial, or the last good policy.
    answers: Mutex<BTreeMap<&'static str, Result<Table, FetchError>>>,
}

impl Asked {
    pub(super) fn new(way: Way, config: &ReplicaConfig) -> Self {
        Self {
            way,
            timeout: config.request_timeout,
            signs: config.acl.is_some(),
            longest_us: AtomicU64::new(0),
            answers: Mutex::default(),
        }
    }

    /// The master's address.
    pub(super) fn master(&self) -> &str {
        &self.way.master.address
    }

    /// What the slowest answer took; none where there was none.
    pub(super) fn answer_time(&self) -> Option<Duration> {
        match self.longest_us.load(Ordering::Relaxed) {
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        }
    }

    /// A tick that came to nothing since no table came.
    pub(super) fn fault(&self, error: &FetchError) -> Fault {
        let kind = match error {
            FetchError::Unreachable(_) | FetchError::TimedOut | FetchError::OverTime(_) => {
                ErrorKind::Unreachable
            }
            FetchError::Refused { .. } | FetchError::NotServed => ErrorKind::Refused,
            FetchError::NothingThere(_)
            | FetchError::TooLarge { .. }
            | FetchError::Malformed(_) => ErrorKind::BadData,
            FetchError::UnknownTable(_) | FetchError::NotSigned(_) => ErrorKind::Config,
            FetchError::Other(_) => ErrorKind::Internal,
        };
        let hint = match kind {
            ErrorKind::Unreachable => self.way.master.hint(),
            _ => String::new(),
        };
        Fault::new(kind, self.text(error) + &hint)
    }

    /// What a policy is told leaves out the address and what to do: a policy can do nothing about it, an operator can.
    fn text(&self, error: &FetchError) -> String {
        let (master, timeout) = (self.master(), self.timeout);
        match error {
            FetchError::Unreachable(text)
            | FetchError::Malformed(text)
            | FetchError::NotSigned(text)
            | FetchError::Other(text) => text.clone(),
            FetchError::TimedOut => format!(
                "the master at {master} did not answer within {timeout:?} (request-timeout): it is overloaded, it hangs, or \
                 this is a name server's address"
            ),
            FetchError::OverTime(limit) => format!(
                "the master at {master} did not answer within the limit `fetch-time` of {limit:?}: raise it, or see why the \
                 master is slow"
            ),
            FetchError::Refused { code, remark } => {
                let explained = explained(*code, remark, self.signs);
                format!("the master at {master} refused with code {code}: {explained}")
            }
            FetchError::NotServed => format!("the master at {master} does not serve this table"),
            FetchError::NothingThere(remark) => {
                format!(
                    "the master at {master} has nothing in this table, and the replica stays as it is: {remark}"
                )
            }
            FetchError::TooLarge { size, limit } => format!(
                "the answer of the master at {master} has {size} bytes, over the limit of {limit}; raise `frame-limit`"
            ),
            FetchError::UnknownTable(_) => error.to_string(),
        }
    }
}

impl Fetch for Asked {
    fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
        Box::pin(async move {
            let known = self.answers.lock().get(kind.name).cloned();
            if let Some(answer) = known {
                return answer;
            }
            let begun = now();
            let answer = self.way.fetch.fetch(kind).await;
            if answer.is_ok() {
                let took = now().saturating_duration_since(begun).as_micros();
                let took = u64::try_from(took).unwrap_or(u64::MAX).max(1);
                self.longest_us.fetch_max(took, Ordering::Relaxed);
            }
            if let (Some(doubt), Err(error)) = (&self.way.doubt, &answer)
                && is_doubtful(error)
            {
                doubt.store(true, Ordering::Relaxed);
            }
            self.answers.lock().insert(kind.name, answer.clone());
            answer
        })
    }
}

/// Whether another may be the master by now.
fn is_doubtful(error: &FetchError) -> bool {
    match error {
        FetchError::Unreachable(_)
        | FetchError::TimedOut
        | FetchError::OverTime(_)
        | FetchError::Refused { .. }
        | FetchError::Malformed(_) => true,
        FetchError::NotServed
        | FetchError::NothingThere(_)
        | FetchError::TooLarge { .. }
        | FetchError::UnknownTable(_)
        | FetchError::NotSigned(_)
        | FetchError::Other(_) => false,
    }
}
