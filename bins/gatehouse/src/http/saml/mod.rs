//! `/api/saml`: signing in through an identity provider.

mod acs;
mod admit;
mod browser;
mod chores;
mod login;
mod metadata;
mod recheck;
mod report;

use std::{num::NonZeroU32, sync::Arc};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use kernel::TenantId;
use saml_sp::{Provider, ProviderId, ProviderStore, ServiceProvider};
use store::Tx;
use tokio::sync::Semaphore;
use utoipa_actix_web::service_config::ServiceConfig;

pub(super) use self::chores::Caretaker;
use super::Site;
use gate::{access::Visitor, errors::Problem};

/// What a response may come to beside the check that it fails, as `/metrics` has it.
pub(super) const OUTCOMES: [&str; 3] = ["SIGNED_IN", "MFA_OWED", "TESTED"];
/// What reading the metadata of an identity provider may come to, as `/metrics` has it.
pub(super) const READINGS: [&str; 3] = ["unchanged", "changed", "failed"];

pub(super) fn routes(config: &mut ServiceConfig<'_>) {
    config.service(metadata::saml_metadata).service(login::saml_login).service(acs::saml_acs);
}

/// What sign-ins through identity providers have in common.
pub(super) struct Saml {
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
    pub(super) fn new(return_origins: Vec<String>) -> Self {
        saml_sp::warm_up();
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let answers = RateLimiter::keyed(ANSWERS);
        Self { return_origins, turns: Arc::new(Semaphore::new(processors)), answers }
    }

    /// Lets an answer from this address be examined, or refuses it with 429.
    fn admit(&self, origin: &str) -> Result<(), Problem> {
        if self.answers.len() > ORIGINS {
            self.answers.retain_recent();
        }
        self.answers.check_key(&origin.to_owned()).map_err(|until| {
            Problem::too_many_attempts(until.wait_time_from(DefaultClock::default().now()).as_secs() + 1)
        })
    }

    /// Origins beside ours that a sign-in may lead back to.
    pub(super) fn return_origins(&self) -> &[String] {
        &self.return_origins
    }

    /// Runs what computes for a while where no request waits for it.
    pub(super) async fn compute<T: Send + 'static>(
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

/// The provider of an address, and whose it is; 404 for every other.
async fn provider_of(visitor: &Visitor, id: &str) -> Result<(TenantId, Provider), Problem> {
    let id: ProviderId = id.parse().map_err(|_| Problem::not_found())?;
    let tenant = id.tenant().ok_or_else(Problem::not_found)?;
    let find = async move |tx: &mut Tx| Ok::<_, Problem>(tx.provider(&id).await?);
    let provider = visitor.read(&tenant, find).await?.ok_or_else(Problem::not_found)?;
    Ok((tenant, provider))
}

/// Our side of a provider.
pub(super) fn service_of(site: &Site, id: &ProviderId) -> ServiceProvider {
    ServiceProvider::of(&site.pipeline.base_url, id)
}
