//! Checks whether the database answers and accepts writes.

use std::time::{Duration, Instant};

use store::Store;
use tokio::{sync::Mutex, time::timeout};

use crate::meter;

/// Time limit of the check.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a result is valid.
const FRESH: Duration = Duration::from_millis(100);

/// The same for the nodes of a distributed database.
const NODE_PATIENCE: Duration = Duration::from_millis(300);
const NODE_FRESH: Duration = Duration::from_secs(5);

/// The last result. Checks use a connection of their own and run one at a time, because the number of concurrent
/// probes is not limited.
#[derive(Default)]
pub(crate) struct Readiness {
    database: Mutex<Option<(Instant, bool)>>,
    silent: Mutex<Option<(Instant, usize)>>,
}

impl Readiness {
    pub(crate) async fn is_well(&self, database: &Store) -> bool {
        let mut known = self.database.lock().await;
        if let Some((_, well)) = known.filter(|(at, _)| at.elapsed() < FRESH) {
            return well;
        }
        let problem = match timeout(PATIENCE, database.check()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no response within {} s", PATIENCE.as_secs())),
        };
        if let Some(problem) = &problem {
            tracing::warn!(problem, "not ready: the database does not answer or rejects writes");
        }
        *known = Some((Instant::now(), problem.is_none()));
        problem.is_none()
    }

    /// Returns how many nodes of a distributed database do not answer. The server still serves the tenants of the
    /// others.
    pub(crate) async fn silent_nodes(&self, database: &Store) -> usize {
        let mut known = self.silent.lock().await;
        if let Some((_, count)) = known.filter(|(at, _)| at.elapsed() < NODE_FRESH) {
            return count;
        }
        let count = match timeout(NODE_PATIENCE, database.silent_nodes()).await {
            Ok(Ok(nodes)) => {
                if !nodes.is_empty() {
                    let nodes = nodes.join(", ");
                    tracing::warn!(
                        nodes,
                        "degraded: nodes of the database do not answer; their tenants get 503"
                    );
                }
                nodes.len()
            }
            // The check of the database reports this.
            Ok(Err(_)) => 0,
            Err(_) => {
                tracing::warn!("degraded: a node of the database did not answer within 300 ms");
                1
            }
        };
        meter::silent_nodes(count);
        *known = Some((Instant::now(), count));
        count
    }
}
