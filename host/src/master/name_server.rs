//! One name server: which brokers it knows (106), and what it means if it does not say.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use locum_remoting::{Command, code, response};
use locum_tables::{ReadError, ReadLimits, dialect};
use serde::Deserialize;

use super::{Client, ClientOptions, ConnectError, LostError, MalformedError, RequestError};

/// What a name server knows of clusters and brokers: its answer to 106, a raw view in which id 0 is a real master.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterInfo {
    /// The brokers by name.
    pub brokers: BTreeMap<String, BrokerInfo>,
}

/// The processes that have registered under one broker name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BrokerInfo {
    /// The clusters that it is said to be in: one, unless the name server is at odds with itself.
    pub clusters: BTreeSet<String>,
    /// `ip:port` by broker id, as each advertises itself; id 0 is the master.
    pub addresses: BTreeMap<i64, String>,
}

/// The answer as Java writes it. Members that nobody needs are left out, and what is missing or null is empty.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    broker_addr_table: Option<BTreeMap<String, Option<Broker>>>,
    cluster_addr_table: Option<BTreeMap<String, Option<Vec<String>>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Broker {
    cluster: Option<String>,
    broker_addrs: Option<BTreeMap<i64, Option<String>>>,
}

impl ClusterInfo {
    /// Reads the body of an answer, with bare or quoted ids.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(body: &[u8], limits: &ReadLimits) -> Result<Self, ClusterInfoError> {
        let json = dialect::to_json(body, limits)?;
        let body: Body = serde_json::from_str(&json)
            .map_err(|error| ClusterInfoError::Members(error.to_string()))?;
        let Some(table) = body.broker_addr_table else {
            return Err(ClusterInfoError::Members("no `brokerAddrTable`".to_owned()));
        };
        let mut brokers: BTreeMap<String, BrokerInfo> = table
            .into_iter()
            .map(|(name, broker)| (name, broker.map(BrokerInfo::from).unwrap_or_default()))
            .collect();
        for (cluster, names) in body.cluster_addr_table.into_iter().flatten() {
            for name in names.into_iter().flatten() {
                // A name without a broker is one that has just gone.
                if let Some(broker) = brokers.get_mut(&name) {
                    broker.clusters.insert(cluster.clone());
                }
            }
        }
        Ok(Self { brokers })
    }
}

impl From<Broker> for BrokerInfo {
    fn from(broker: Broker) -> Self {
        let addresses = broker.broker_addrs.into_iter().flatten();
        Self {
            clusters: broker.cluster.into_iter().collect(),
            addresses: addresses
                .filter_map(|(id, address)| Some((id, address?)))
                .collect(),
        }
    }
}

/// Why a body is no answer to 106.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClusterInfoError {
    /// It is not what Java brokers write.
    #[error("{0}")]
    Json(Arc<ReadError>),
    /// It is, and says something else.
    #[error("{0}")]
    Members(String),
}

impl From<ReadError> for ClusterInfoError {
    fn from(error: ReadError) -> Self {
        Self::Json(Arc::new(error))
    }
}

/// Why a name server did not say. Each text names it and says what to do; causes are sources.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NameServerError {
    /// There is no connection, by a fault of the address or of the way.
    #[error(
        "cannot reach the name server at {address}: check that it runs there (its usual port is 9876)"
    )]
    Unreachable {
        /// The name server.
        address: Arc<str>,
        /// How the last attempt failed.
        source: ConnectError,
    },
    /// The connection ended before the answer.
    #[error("the connection to the name server at {address} ended before its answer")]
    Closed {
        /// The name server.
        address: Arc<str>,
        /// How it ended.
        source: LostError,
    },
    /// The deadline came before the answer.
    #[error(
        "no answer from the name server at {address} within {timeout:?}: it hangs, or this is no name server's port"
    )]
    TimedOut {
        /// The name server.
        address: Arc<str>,
        /// Its share of the time for the whole look-up.
        timeout: Duration,
    },
    /// Response code 3: a broker's answer to 106.
    #[error(
        "{address} does not know the request for brokers (106): it is a broker; write it as `master`, or write a name server's address"
    )]
    IsBroker {
        /// What was taken for a name server.
        address: Arc<str>,
    },
    /// It answered that it will not, such as 5.x while it is not ready yet.
    #[error("the name server at {address} refused with code {response}: {remark}")]
    Refused {
        /// The name server.
        address: Arc<str>,
        /// Response code.
        response: i32,
        /// What it says.
        remark: String,
    },
    /// What came is no answer to 106.
    #[error(
        "what {address} sent in answer to the request for brokers (106) cannot be read; is it a name server?"
    )]
    Malformed {
        /// The name server.
        address: Arc<str>,
        /// What is wrong.
        source: NameServerReplyError,
    },
    /// The request was not sent, or not answered, for a reason of ours.
    #[error("the name server at {address} was not asked")]
    NotAsked {
        /// The name server.
        address: Arc<str>,
        /// Why.
        source: RequestError,
    },
}

/// What is wrong with what a name server sent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NameServerReplyError {
    /// It is no frame, or no body at all.
    #[error(transparent)]
    Bytes(MalformedError),
    /// It is no cluster information.
    #[error(transparent)]
    Body(#[from] ClusterInfoError),
    /// It is over the frame limit.
    #[error("a frame of {size} bytes, over the limit of {limit}")]
    TooLarge {
        /// Size of the frame in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

/// An answer that is waited for.
pub type Asking<'a> =
    Pin<Box<dyn Future<Output = Result<ClusterInfo, NameServerError>> + Send + 'a>>;

/// Who knows the brokers. [`NameServer`] is the real one; tests put scripted ones in its place.
pub trait AskBrokers: Send + Sync {
    /// Which brokers there are. The answer, or the error, comes within the timeout.
    fn brokers(&self, timeout: Duration) -> Asking<'_>;
}

/// A name server behind a connection of its own, which is made when it is first asked.
#[derive(Debug, Clone)]
pub struct NameServer {
    address: Arc<str>,
    client: Client,
    limits: ReadLimits,
}

impl NameServer {
    /// The name server at `address` (`host:port`).
    ///
    /// # Panics
    /// Outside of a tokio runtime, as `tokio::spawn` does.
    #[must_use]
    pub fn new(address: impl Into<Arc<str>>, options: ClientOptions) -> Self {
        let address = address.into();
        Self {
            limits: options.read_limits,
            client: Client::new(Arc::clone(&address), options),
            address,
        }
    }

    async fn ask(&self, timeout: Duration) -> Result<ClusterInfo, NameServerError> {
        let request = Command::request(code::GET_BROKER_CLUSTER_INFO);
        let reply = self.client.request(request, timeout).await;
        let reply = reply.map_err(|error| self.told(error))?;
        let address = Arc::clone(&self.address);
        match reply.code {
            response::SUCCESS => ClusterInfo::read(&reply.body, &self.limits)
                .map_err(|error| self.malformed(error.into())),
            response::REQUEST_CODE_NOT_SUPPORTED => Err(NameServerError::IsBroker { address }),
            response => Err(NameServerError::Refused {
                address,
                response,
                remark: reply.remark.unwrap_or_default(),
            }),
        }
    }

    /// The same in words for a name server.
    fn told(&self, error: RequestError) -> NameServerError {
        let address = Arc::clone(&self.address);
        match error {
            RequestError::Unreachable { source, .. } => {
                NameServerError::Unreachable { address, source }
            }
            RequestError::Closed { source, .. } => NameServerError::Closed { address, source },
            RequestError::TimedOut { timeout, .. } => {
                NameServerError::TimedOut { address, timeout }
            }
            RequestError::Malformed { source, .. } => {
                self.malformed(NameServerReplyError::Bytes(source))
            }
            RequestError::TooLarge { size, limit, .. } => {
                self.malformed(NameServerReplyError::TooLarge { size, limit })
            }
            source => NameServerError::NotAsked { address, source },
        }
    }

    fn malformed(&self, source: NameServerReplyError) -> NameServerError {
        NameServerError::Malformed {
            address: Arc::clone(&self.address),
            source,
        }
    }
}

impl AskBrokers for NameServer {
    fn brokers(&self, timeout: Duration) -> Asking<'_> {
        Box::pin(self.ask(timeout))
    }
}
