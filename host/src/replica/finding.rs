//! Finding the master by name servers: when to ask them, and what follows for the replica.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::outcome::Fault;
use super::{Inner, State};
use crate::clock::now;
use crate::config::{LookupConfig, ReplicaConfig, is_address};
use crate::events::{Event, Telling};
use crate::master::{Followed, Heard, NameServers, UnfoundError, Wanted, master_of};
use crate::status::{ErrorKind, RoutineState};
use crate::telemetry::chain;

/// From one look-up to the next while all is well.
const EACH: Duration = Duration::from_secs(60);

/// A master's address, and how it came to be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) address: String,
    pub(super) how: How,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    /// `master` in the configuration.
    Configured,
    /// By `Replica::set_master`.
    Told,
    /// By a look-up.
    Found {
        name_server: Arc<str>,
        /// What the name server says, where it is mapped to another address.
        mapped: Option<String>,
    },
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured => f.write_str("configured"),
            Self::Told => f.write_str("told by the program that runs the host"),
            Self::Found {
                name_server,
                mapped: None,
            } => write!(f, "found by the name server at {name_server}"),
            Self::Found {
                name_server,
                mapped: Some(advertised),
            } => write!(
                f,
                "mapped from {advertised}, which was found by the name server at {name_server}"
            ),
        }
    }
}

impl Known {
    pub(super) fn configured(address: String) -> Self {
        let how = How::Configured;
        Self { address, how }
    }

    pub(super) fn told(address: String) -> Self {
        let how = How::Told;
        Self { address, how }
    }

    /// Whether that is this address, as we connect to it or as it is advertised.
    pub(super) fn is(&self, address: &str) -> bool {
        let advertised = match &self.how {
            How::Found { mapped, .. } => mapped.as_deref(),
            How::Configured | How::Told => None,
        };
        self.address == address || advertised == Some(address)
    }

    /// What to know of the address when the master there cannot be asked; empty where the operator wrote it.
    pub(super) fn hint(&self) -> String {
        match &self.how {
            How::Configured | How::Told => String::new(),
            How::Found {
                name_server,
                mapped: None,
            } => format!(
                "; {} is what the broker advertises, by the name server at {name_server}: if it cannot be reached from here, give \
                 another address in `address-map`",
                self.address
            ),
            How::Found { .. } => format!("; {} is {}", self.address, self.how),
        }
    }
}

/// Why there is no master, after a look-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unfound {
    /// There is none now.
    NoMaster(String),
    /// It cannot be told whether there is one.
    Failed(ErrorKind, String),
}

impl Unfound {
    pub(super) fn text(&self) -> &str {
        let (Self::NoMaster(text) | Self::Failed(_, text)) = self;
        text
    }
}

/// What a replica knows of its master.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sight {
    pub(super) master: Option<Known>,
    /// Set only where there is no master, and only by a look-up.
    pub(super) unfound: Option<Unfound>,
    /// What is wrong with name servers although there is a master.
    pub(super) trouble: Option<String>,
}

impl Sight {
    pub(super) fn of(master: Option<Known>) -> Self {
        Self {
            master,
            ..Self::default()
        }
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = &str> {
        let unfound = self.unfound.as_ref().map(Unfound::text);
        self.trouble.as_deref().into_iter().chain(unfound)
    }

    fn unfound(unfound: Unfound) -> Self {
        Self {
            unfound: Some(unfound),
            ..Self::default()
        }
    }

    fn failed(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self::unfound(Unfound::Failed(kind, text.into()))
    }

    /// What follows from a look-up. `doubted` says that the master could not be asked a moment ago.
    fn after(
        self,
        heard: &Heard,
        doubted: bool,
        lookup: &LookupConfig,
        map: &BTreeMap<String, String>,
    ) -> Self {
        let LookupConfig {
            cluster, broker, ..
        } = lookup;
        let failures: Vec<String> = heard.failures.iter().map(|error| chain(error)).collect();
        let failures = failures.join("; ");
        if heard.answers.is_empty() {
            return self.nobody_answered(lookup, &failures);
        }
        let trouble = (!failures.is_empty()).then_some(failures);
        match master_of(&heard.answers, Wanted { cluster, broker }) {
            Ok(Followed::Master {
                address,
                name_server,
            }) => match found(address, name_server, lookup, map) {
                Ok(master) => Self {
                    trouble,
                    ..Self::of(Some(master))
                },
                Err(error) => Self::failed(ErrorKind::BadData, error.to_string()),
            },
            Ok(Followed::NoMaster {
                others,
                name_server,
            }) => Self::unfound(Unfound::NoMaster(format!(
                "`{broker}` in the cluster `{cluster}` has no master (id 0) now, by the name server at {name_server}, {}; the \
                 files stay as they are",
                registered(&others)
            ))),
            Err(error) if error.is_unknown() => self.nobody_knows(&error, doubted),
            Err(error) => Self::failed(ErrorKind::BadData, error.to_string()),
        }
    }

    /// What was known still holds.
    fn nobody_answered(self, lookup: &LookupConfig, failures: &str) -> Self {
        let LookupConfig {
            cluster, broker, ..
        } = lookup;
        match &self.master {
            Some(Known { address, .. }) => {
                let trouble =
                    format!("no name server answers, so {address} is still the master: {failures}");
                Self {
                    trouble: Some(trouble),
                    ..self
                }
            }
            None => Self::failed(
                ErrorKind::Unreachable,
                format!(
                    "cannot look up the master of `{broker}` in the cluster `{cluster}`, since no name server answers: {failures}"
                ),
            ),
        }
    }

    /// Either a name is wrong, or who bore it has gone, or the name servers have just started.
    fn nobody_knows(self, error: &UnfoundError, doubted: bool) -> Self {
        match (&self.master, &self.unfound) {
            (Some(Known { address, .. }), _) if !doubted => {
                let trouble = format!("{error}; {address} still answers, and is still the master");
                Self {
                    trouble: Some(trouble),
                    ..self
                }
            }
            (Some(_), _) | (None, Some(Unfound::NoMaster(_))) => {
                let text = format!("the master has gone; the files stay as they are: {error}");
                Self::unfound(Unfound::NoMaster(text))
            }
            (None, _) => Self::failed(ErrorKind::Config, error.to_string()),
        }
    }
}

fn found(
    address: String,
    name_server: Arc<str>,
    lookup: &LookupConfig,
    map: &BTreeMap<String, String>,
) -> Result<Known, UnfoundError> {
    let (address, mapped) = match map.get(&address) {
        Some(ours) => (ours.clone(), Some(address)),
        None => (address, None),
    };
    if !is_address(&address) {
        return Err(UnfoundError::BadAddress {
            broker: lookup.broker.clone(),
            address,
            name_server,
        });
    }
    let how = How::Found {
        name_server,
        mapped,
    };
    Ok(Known { address, how })
}

fn registered(others: &BTreeMap<i64, String>) -> String {
    if others.is_empty() {
        return "and nobody else is registered".to_owned();
    }
    let others: Vec<String> = others
        .iter()
        .map(|(id, address)| format!("id {id} at {address}"))
        .collect();
    format!("only {}", others.join(", "))
}

/// The name servers of a replica, and when they were asked.
#[derive(Default)]
pub(super) struct Finder {
    /// Made when they are first asked.
    servers: OnceLock<NameServers>,
    /// One look-up at a time.
    turn: tokio::sync::Mutex<()>,
    /// Look-ups that have ended.
    ended: AtomicU64,
    asked: Mutex<Option<Instant>>,
    /// The master could not be asked since the last look-up.
    doubted: Arc<AtomicBool>,
}

#[derive(Debug, PartialEq, Eq)]
enum Due {
    No,
    /// What is known holds meanwhile.
    Beside,
    First,
}

impl Finder {
    /// To be set when the master could not be asked.
    pub(super) fn doubt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.doubted)
    }

    fn due(&self, now: Instant, is_known: bool) -> Due {
        if !is_known || self.doubted.load(Ordering::Relaxed) {
            return Due::First;
        }
        let mut asked = self.asked.lock();
        let is_over = |asked: Instant| now.saturating_duration_since(asked) >= EACH;
        if asked.is_none_or(is_over) {
            // It is on its way: nobody else begins another.
            *asked = Some(now);
            return Due::Beside;
        }
        Due::No
    }

    fn servers(&self, replica: &Inner, lookup: &LookupConfig) -> &NameServers {
        self.servers.get_or_init(|| {
            let _on_io = replica.shared.io.enter();
            let masters = &replica.shared.masters;
            let server = |address: &String| {
                let link = masters.name_server(address, &replica.config);
                (Arc::from(address.as_str()), link)
            };
            NameServers::new(lookup.name_servers.iter().map(server).collect())
        })
    }
}

impl Inner {
    /// Asks the name servers if that is due; waits for them only where there is no master to ask meanwhile.
    pub(super) async fn find_master(self: &Arc<Self>) {
        let Some(finder) = &self.finder else { return };
        let is_known = self.state().sight.master.is_some();
        match finder.due(now(), is_known) {
            Due::No => {}
            Due::First => self.look_up().await,
            Due::Beside => {
                let inner = Arc::clone(self);
                self.shared.io.spawn(async move { inner.look_up().await });
            }
        }
    }

    async fn look_up(&self) {
        let (Some(finder), Some(lookup)) = (&self.finder, &self.config.lookup) else {
            return;
        };
        let came = finder.ended.load(Ordering::Acquire);
        let _turn = finder.turn.lock().await;
        if finder.ended.load(Ordering::Acquire) != came {
            // One that ended meanwhile says it all.
            return;
        }
        let term = *self.term.borrow();
        let doubted = finder.doubted.swap(false, Ordering::Relaxed);
        let servers = finder.servers(self, lookup);
        let heard = servers.ask(self.config.request_timeout).await;
        *finder.asked.lock() = Some(now());
        self.heard(&heard, doubted, term, lookup);
        finder.ended.fetch_add(1, Ordering::Release);
    }

    fn heard(&self, heard: &Heard, doubted: bool, term: u64, lookup: &LookupConfig) {
        let (before, after) = {
            let mut state = self.state();
            if *self.term.borrow() != term {
                return;
            }
            let before = state.sight.clone();
            let map = &self.config.address_map;
            let after = before.clone().after(heard, doubted, lookup, map);
            state.see(after.clone());
            (before, after)
        };
        self.tell_of_master(before.master.as_ref(), after.master.as_ref(), &after);
        if let Some(trouble) = after
            .trouble
            .filter(|now| before.trouble.as_ref() != Some(now))
        {
            self.emit_note(trouble);
        }
    }

    /// An event, if it is another.
    pub(super) fn tell_of_master(&self, from: Option<&Known>, to: Option<&Known>, sight: &Sight) {
        let address = |known: Option<&Known>| known.map(|known| known.address.clone());
        let (from, to) = (address(from), address(to));
        if from == to {
            return;
        }
        let how = match (&sight.master, &sight.unfound) {
            (Some(master), _) => master.how.to_string(),
            (None, Some(unfound)) => unfound.text().to_owned(),
            (None, None) => How::Told.to_string(),
        };
        let event = Event::MasterChanged {
            replica: self.name.clone(),
            from,
            to,
            how,
        };
        self.emit(event, Telling::default());
    }

    /// What keeps a routine from asking a master, as far as is known without a look-up.
    pub(super) fn master_obstacle(&self, state: &State) -> Option<RoutineState> {
        let Sight {
            master, unfound, ..
        } = &state.sight;
        match (master, unfound) {
            (Some(master), _) => is_own(&self.config, master).then_some(RoutineState::OwnAddress),
            // The next tick asks, or says what came of asking.
            (None, None | Some(Unfound::Failed(..))) if self.finder.is_some() => None,
            (None, _) => Some(RoutineState::NoMaster),
        }
    }

    /// The master to ask, or why there is none.
    pub(super) fn master_to_ask(&self, state: &State) -> Result<Known, NoWay> {
        if let Some(obstacle) = self.master_obstacle(state) {
            return Err(NoWay::State(obstacle));
        }
        match (&state.sight.master, &state.sight.unfound) {
            (Some(master), _) => Ok(master.clone()),
            (None, Some(Unfound::Failed(kind, text))) => {
                Err(NoWay::Fault(Fault::new(*kind, text.clone())))
            }
            (None, _) => Err(NoWay::State(RoutineState::NoMaster)),
        }
    }
}

impl State {
    /// Takes up what is known of the master now; the connection to another is given up.
    pub(super) fn see(&mut self, sight: Sight) {
        let address = |sight: &Sight| sight.master.as_ref().map(|master| master.address.clone());
        if address(&self.sight) != address(&sight) {
            self.link = None;
        }
        self.sight = sight;
    }
}

/// Why a tick asks no master.
pub(super) enum NoWay {
    State(RoutineState),
    Fault(Fault),
}

fn is_own(config: &ReplicaConfig, master: &Known) -> bool {
    config
        .own_address
        .as_deref()
        .is_some_and(|own| master.is(own))
}

#[cfg(test)]
mod tests;
