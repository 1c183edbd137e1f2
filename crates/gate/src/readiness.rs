//! Checks whether the database answers and accepts writes.

use std::time::{Duration, Instant};

use store::Store;
use tokio::{sync::Mutex, time::timeout};

/// Time limit of the check.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a result is valid.
const FRESH: Duration = Duration::from_millis(100);

/// The last result. Checks use a connection of their own and run one at a time, because the number of concurrent
/// probes is not limited.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, bool)>>);

impl Readiness {
    pub(crate) async fn is_well(&self, database: &Store) -> bool {
        let mut known = self.0.lock().await;
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
}
