//! Shared state of SAML sign-ins.

use std::{num::NonZeroU32, sync::Arc};

use gate::errors::Problem;
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use tokio::sync::Semaphore;

/// Shared state of SAML sign-ins.
pub(crate) struct Saml {
    /// Additional origins that a sign-in may return to.
    return_origins: Vec<String>,
    /// Limits concurrent signing and verifying to the number of processors.
    turns: Arc<Semaphore>,
    /// Limits responses per client address, since each one costs CPU time to examine.
    answers: DefaultKeyedRateLimiter<String>,
}

/// SAML responses per second and client address, and the burst. An office may share one address.
const ANSWERS: Quota =
    Quota::per_second(NonZeroU32::new(20).unwrap()).allow_burst(NonZeroU32::new(400).unwrap());
/// Tracked client addresses before idle ones are purged.
const ORIGINS: usize = 10_000;

impl Saml {
    pub(crate) fn new(return_origins: Vec<String>) -> Self {
        saml_sp::warm_up();
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let answers = RateLimiter::keyed(ANSWERS);
        Self { return_origins, turns: Arc::new(Semaphore::new(processors)), answers }
    }

    /// Counts a response from this client address. Fails with 429 above the limit.
    pub(crate) fn admit(&self, origin: &str) -> Result<(), Problem> {
        if self.answers.len() > ORIGINS {
            self.answers.retain_recent();
        }
        self.answers.check_key(&origin.to_owned()).map_err(|until| {
            Problem::too_many_attempts(until.wait_time_from(DefaultClock::default().now()).as_secs() + 1)
        })
    }

    /// Returns the additional origins that a sign-in may return to.
    pub(crate) fn return_origins(&self) -> &[String] {
        &self.return_origins
    }

    /// Runs a CPU-bound task outside of the request threads.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(Problem::unexpected)?;
        let work = move || {
            let done = work();
            drop(turn);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(Problem::unexpected)
    }
}
