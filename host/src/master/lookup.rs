//! Which master follows from what name servers say. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::name_server::{BrokerInfo, ClusterInfo};

/// So many names are listed in an error; `mqadmin clusterList` has all.
const LISTED: usize = 20;

/// What name servers have said, each with its address.
pub type Answers = Vec<(Arc<str>, ClusterInfo)>;

/// A master by its names.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// The broker's name.
    pub broker: &'a str,
}

/// What follows from the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// This is the master.
    Master {
        /// As it advertises itself.
        address: String,
        /// Who said so.
        name_server: Arc<str>,
    },
    /// The broker is there, and its id 0 is not.
    NoMaster {
        /// The ids that are there.
        others: BTreeMap<i64, String>,
        /// Who said so.
        name_server: Arc<str>,
    },
}

/// Why no master follows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnfoundError {
    /// Nobody knows the cluster.
    #[error("{} not know the cluster `{cluster}`: {}; check `cluster`", who(.asked), listed("clusters", .known))]
    UnknownCluster {
        /// What was looked for.
        cluster: String,
        /// What is known instead.
        known: BTreeSet<String>,
        /// The name servers that were asked.
        asked: Vec<Arc<str>>,
    },
    /// Somebody knows the cluster, and nobody the broker in it.
    #[error(
        "{} not know the broker `{broker}` in the cluster `{cluster}`: {}{}; check `broker`, and whether one of that name runs",
        who(.asked),
        listed("brokers there", .known),
        another(.elsewhere)
    )]
    UnknownBroker {
        /// The cluster, which is known.
        cluster: String,
        /// What was looked for.
        broker: String,
        /// What is known there instead.
        known: BTreeSet<String>,
        /// The clusters in which a broker of that name is known.
        elsewhere: BTreeSet<String>,
        /// The name servers that were asked.
        asked: Vec<Arc<str>>,
    },
    /// Two name servers name different masters.
    #[error(
        "the name servers disagree on the master of `{broker}` in the cluster `{cluster}`: {}; check which of them is right, \
         or name the `master`",
        said(.claims)
    )]
    Disagree {
        /// The cluster.
        cluster: String,
        /// The broker.
        broker: String,
        /// The master that each name server names.
        claims: Vec<(Arc<str>, String)>,
    },
    /// What stands for the master's address is none.
    #[error(
        "the name server at {name_server} gives `{address}` as the address of the master of `{broker}`, which is no host:port; \
         set the broker's `brokerIP1`, or add it to `address-map`"
    )]
    BadAddress {
        /// The broker.
        broker: String,
        /// What stands there.
        address: String,
        /// Who said so.
        name_server: Arc<str>,
    },
}

impl UnfoundError {
    /// Whether nobody knows the names: they are wrong, or who had them has gone.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(
            self,
            Self::UnknownCluster { .. } | Self::UnknownBroker { .. }
        )
    }
}

/// Id 0 of the broker of that name in that cluster.
///
/// A name server that does not know a master says nothing against one that does: brokers register each 30 s, so one that has
/// just started knows few.
///
/// # Errors
/// [`UnfoundError`]: nobody knows the names, or two name different masters.
pub fn master_of(answers: &Answers, wanted: Wanted<'_>) -> Result<Followed, UnfoundError> {
    let Wanted { cluster, broker } = wanted;
    let found: Vec<(&Arc<str>, &BrokerInfo)> = answers
        .iter()
        .filter_map(|(name_server, info)| Some((name_server, info.brokers.get(broker)?)))
        .filter(|(_, info)| info.clusters.contains(cluster))
        .collect();
    let claims: Vec<(Arc<str>, String)> = found
        .iter()
        .filter_map(|(name_server, info)| {
            Some((Arc::clone(name_server), info.addresses.get(&0)?.clone()))
        })
        .collect();
    let different: BTreeSet<&String> = claims.iter().map(|(_, address)| address).collect();
    if different.len() > 1 {
        return Err(UnfoundError::Disagree {
            cluster: cluster.to_owned(),
            broker: broker.to_owned(),
            claims,
        });
    }
    match (claims.into_iter().next(), found.first()) {
        (Some((name_server, address)), _) => Ok(Followed::Master {
            address,
            name_server,
        }),
        (None, Some((name_server, info))) => Ok(Followed::NoMaster {
            others: info.addresses.clone(),
            name_server: Arc::clone(name_server),
        }),
        (None, None) => Err(unknown(answers, wanted)),
    }
}

fn unknown(answers: &Answers, Wanted { cluster, broker }: Wanted<'_>) -> UnfoundError {
    let asked = answers
        .iter()
        .map(|(name_server, _)| Arc::clone(name_server))
        .collect();
    let brokers = || answers.iter().flat_map(|(_, info)| &info.brokers);
    let known: BTreeSet<String> = brokers()
        .filter(|(_, info)| info.clusters.contains(cluster))
        .map(|(name, _)| name.clone())
        .collect();
    let (cluster, broker) = (cluster.to_owned(), broker.to_owned());
    if known.is_empty() {
        return UnfoundError::UnknownCluster {
            known: brokers()
                .flat_map(|(_, info)| info.clusters.clone())
                .collect(),
            cluster,
            asked,
        };
    }
    let elsewhere = brokers()
        .filter(|(name, _)| **name == broker)
        .flat_map(|(_, info)| info.clusters.clone())
        .collect();
    UnfoundError::UnknownBroker {
        cluster,
        broker,
        known,
        elsewhere,
        asked,
    }
}

fn who(asked: &[Arc<str>]) -> String {
    match asked {
        [one] => format!("the name server at {one} does"),
        several => format!("the name servers at {} do", several.join(" and ")),
    }
}

fn listed(what: &str, names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "no broker has registered there".to_owned();
    }
    let some: Vec<&str> = names.iter().map(String::as_str).take(LISTED).collect();
    let more = match names.len() - some.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("known {what} are {}{more}", some.join(", "))
}

fn another(clusters: &BTreeSet<String>) -> String {
    if clusters.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = clusters.iter().map(String::as_str).collect();
    format!(", and there is one of that name in {}", names.join(", "))
}

fn said(claims: &[(Arc<str>, String)]) -> String {
    let claims: Vec<String> = claims
        .iter()
        .map(|(name_server, master)| format!("{name_server} says {master}"))
        .collect();
    claims.join(", ")
}
