//! Several name servers, asked all at once, so that one that is dead takes no time from another.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::lookup::Answers;
use super::name_server::{AskBrokers, ClusterInfo, NameServerError};

/// The longest that one name server is waited for: what RocketMQ's own clients wait.
const LONGEST: Duration = Duration::from_secs(3);

/// The name servers of one replica.
pub struct NameServers(Vec<Arc<Server>>);

struct Server {
    address: Arc<str>,
    link: Arc<dyn AskBrokers>,
    /// Why it did not answer when it was last asked.
    dead: Mutex<Option<NameServerError>>,
}

/// What came of asking them all.
#[derive(Debug, Default)]
pub struct Heard {
    /// Those that answered, in the order of the configuration.
    pub answers: Answers,
    /// Why the others did not, or did not last time.
    pub failures: Vec<NameServerError>,
}

impl NameServers {
    /// These, by address.
    #[must_use]
    pub fn new(servers: Vec<(Arc<str>, Arc<dyn AskBrokers>)>) -> Self {
        let server = |(address, link)| {
            Arc::new(Server {
                address,
                link,
                dead: Mutex::default(),
            })
        };
        Self(servers.into_iter().map(server).collect())
    }

    /// What each of so many may take of a budget.
    #[must_use]
    pub fn share(budget: Duration, servers: usize) -> Duration {
        let parts = u32::try_from(servers.max(1)).unwrap_or(u32::MAX);
        (budget / parts).min(LONGEST)
    }

    /// Asks them all, within the budget. Those that did not answer last time are asked too, and waited for only if nobody else
    /// answers.
    pub async fn ask(&self, budget: Duration) -> Heard {
        let share = Self::share(budget, self.0.len());
        let mut asking = JoinSet::new();
        let mut awaited = 0;
        for (place, server) in self.0.iter().enumerate() {
            let server = Arc::clone(server);
            let awaits = server.dead.lock().is_none();
            awaited += usize::from(awaits);
            asking.spawn(async move {
                let answer = server.link.brokers(share).await;
                *server.dead.lock() = answer.as_ref().err().cloned();
                (place, awaits, answer)
            });
        }
        let mut answers = Vec::new();
        while awaited > 0 || answers.is_empty() {
            match asking.join_next().await {
                None => break,
                // One that panicked has said nothing.
                Some(Err(_)) => {}
                Some(Ok((place, awaits, answer))) => {
                    awaited -= usize::from(awaits);
                    answers.extend(answer.ok().map(|info| (place, info)));
                }
            }
        }
        // The rest may still come to life.
        asking.detach_all();
        self.heard(answers)
    }

    fn heard(&self, mut answers: Vec<(usize, ClusterInfo)>) -> Heard {
        answers.sort_by_key(|(place, _)| *place);
        let with_address = |(place, info): (usize, ClusterInfo)| {
            let server = self.0.get(place)?;
            Some((Arc::clone(&server.address), info))
        };
        let failures = self
            .0
            .iter()
            .filter_map(|server| server.dead.lock().clone());
        Heard {
            failures: failures.collect(),
            answers: answers.into_iter().filter_map(with_address).collect(),
        }
    }
}
