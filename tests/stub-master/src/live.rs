//! Tables that change by themselves, for a demo.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::tables::Tables;

/// Topics that consumers are busy with.
const TOPICS: [&str; 3] = ["orders", "payments", "shipments"];
/// The consumers' groups.
const GROUPS: [&str; 2] = ["billing", "warehouse"];
/// Queues of an offset.
const QUEUES: i32 = 4;
/// Topics that come and go: the oldest leaves when one more than these are there.
const PASSING: u64 = 5;

/// Changes tables at each interval until it is dropped.
#[derive(Debug)]
pub struct Live {
    task: JoinHandle<()>,
}

impl Live {
    /// Starts with the first step at once.
    pub fn start(tables: Tables, interval: Duration) -> Self {
        let task = tokio::spawn(async move {
            let mut ticker = tokio::time::interval(interval);
            for step in 0.. {
                ticker.tick().await;
                Self::step(&tables, step);
            }
        });
        Self { task }
    }

    /// One step. All consumers and one delay level move on each time; each third step brings a topic and drops the sixth
    /// oldest, each fifth brings a group.
    pub fn step(tables: &Tables, step: u64) {
        if step == 0 {
            TOPICS.iter().for_each(|topic| tables.set_topic(*topic));
            GROUPS.iter().for_each(|group| tables.set_group(*group));
        }
        let moved = i64::try_from(step).unwrap_or(i64::MAX);
        for topic in TOPICS {
            for group in GROUPS {
                for queue in 0..QUEUES {
                    let offset = moved.saturating_mul(100) + i64::from(queue);
                    tables.commit_offset(topic, group, queue, offset);
                }
            }
        }
        tables.set_delay(i32::try_from(step % 18).unwrap_or(0) + 1, moved);
        if step % 3 == 2 {
            let number = step / 3;
            tables.set_topic(passing(number).as_str());
            if let Some(oldest) = number.checked_sub(PASSING) {
                tables.remove_topic(&passing(oldest));
            }
        }
        if step % 5 == 4 {
            tables.set_group(format!("audit-{:03}", step / 5).as_str());
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn passing(number: u64) -> String {
    format!("batch-{number:03}")
}
