//! What sign-ins through identity providers have in common.

use std::{num::NonZeroU32, sync::Arc};

use gate::errors::Problem;
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use tokio::sync::Semaphore;

/// What sign-ins through identity providers have in common.
pub(crate) struct Saml {
    /// Origins beside ours that a sign-in may lead back to.
    return_origins: Vec<String>,
    /// Signing and verifying takes a processor: so many at the same time.
    turns: Arc<Semaphore>,
    /// How many answers an address may bring: examining one is work, whoever sends it.
    answers: DefaultKeyedRateLimiter<String>,
}

/// Answers in a second from one address, and so many at once: everybody of an office comes from one.
const ANSWERS: Quota =
    Quota::per_second(NonZeroU32::new(20).unwrap()).allow_burst(NonZeroU32::new(400).unwrap());
/// Addresses that are remembered before those that are full again are forgotten.
const ORIGINS: usize = 10_000;

impl Saml {
    pub(crate) fn new(return_origins: Vec<String>) -> Self {
        saml_sp::warm_up();
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let answers = RateLimiter::keyed(ANSWERS);
        Self { return_origins, turns: Arc::new(Semaphore::new(processors)), answers }
    }

    /// Lets an answer from this address be examined, or refuses it with 429.
    pub(crate) fn admit(&self, origin: &str) -> Result<(), Problem> {
        if self.answers.len() > ORIGINS {
            self.answers.retain_recent();
        }
        self.answers.check_key(&origin.to_owned()).map_err(|until| {
            Problem::too_many_attempts(until.wait_time_from(DefaultClock::default().now()).as_secs() + 1)
        })
    }

    /// Origins beside ours that a sign-in may lead back to.
    pub(crate) fn return_origins(&self) -> &[String] {
        &self.return_origins
    }

    /// Runs what computes for a while where no request waits for it.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(Problem::unforeseen)?;
        let work = move || {
            let done = work();
            drop(turn);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(Problem::unforeseen)
    }
}
