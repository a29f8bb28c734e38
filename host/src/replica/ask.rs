//! Filling the policy room's `Fetch` from the master room: the one place where the two meet.

use std::sync::Arc;
use std::time::Duration;

use locum_tables::{Table, TableKind};

use crate::config::ReplicaConfig;
use crate::master::{AskBrokers, Client, ClientOptions, NameServer, NameServers, RequestError};
use crate::policy::{BoxFuture, Fetch, FetchError};

/// Makes the way to a master. The host's own is [`Remoting`]; tests put a scripted one in its place.
pub trait Masters: Send + Sync {
    /// The master at `address`, for a replica of that configuration. Connects when it is first asked.
    fn connect(&self, address: &str, replica: &ReplicaConfig) -> Arc<dyn Fetch>;

    /// The name server at `address`, for the same. Connects when it is first asked.
    fn name_server(&self, address: &str, replica: &ReplicaConfig) -> Arc<dyn AskBrokers> {
        let servers = replica
            .lookup
            .as_ref()
            .map_or(1, |lookup| lookup.name_servers.len());
        let share = NameServers::share(replica.request_timeout, servers);
        let options = ClientOptions {
            frame_limit: replica.frame_limit,
            // A little sooner, so that one that cannot be reached is not told of as one that is silent.
            connect_timeout: share - share / 10,
            ..ClientOptions::default()
        };
        Arc::new(NameServer::new(address, options))
    }
}

/// RocketMQ's remoting protocol over TCP.
#[derive(Debug, Default)]
pub struct Remoting;

impl Masters for Remoting {
    fn connect(&self, address: &str, replica: &ReplicaConfig) -> Arc<dyn Fetch> {
        let options = ClientOptions {
            frame_limit: replica.frame_limit,
            acl: replica.acl.clone(),
            ..ClientOptions::default()
        };
        Arc::new(Asking {
            client: Client::new(address, options),
            timeout: replica.request_timeout,
        })
    }
}

struct Asking {
    client: Client,
    timeout: Duration,
}

impl Fetch for Asking {
    fn fetch(&self, kind: &'static TableKind) -> BoxFuture<'_, Result<Table, FetchError>> {
        Box::pin(async move {
            let answer = self.client.table(kind, self.timeout).await.map_err(told)?;
            Ok(answer.table)
        })
    }
}

/// The same cases, as a policy is told them.
fn told(error: RequestError) -> FetchError {
    let text = crate::telemetry::chain(&error);
    match error {
        RequestError::Unreachable { .. } | RequestError::Closed { .. } => {
            FetchError::Unreachable(text)
        }
        RequestError::TimedOut { .. } => FetchError::TimedOut,
        RequestError::Refused {
            response, remark, ..
        } => FetchError::Refused {
            code: response,
            remark,
        },
        RequestError::NotServed { .. } => FetchError::NotServed,
        RequestError::NothingThere { remark, .. } => FetchError::NothingThere(remark),
        RequestError::TooLarge { size, limit, .. } => FetchError::TooLarge { size, limit },
        RequestError::Malformed { .. } => FetchError::Malformed(text),
        RequestError::NotSigned { .. } => FetchError::NotSigned(text),
        RequestError::NotSent { .. } => FetchError::Other(text),
    }
}
