//! Shared state of sign-ins through identity providers.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
};

use gate::{errors::Problem, rate_limit::RateLimit};
use kernel::TenantId;
use tokio::sync::Semaphore;

/// Shared state of sign-ins through identity providers.
pub(crate) struct Saml {
    /// Additional origins that a sign-in may return to.
    return_origins: Vec<String>,
    /// Limits concurrent signing and verifying to the number of processors.
    turns: Arc<Semaphore>,
    /// Limits responses per client address, since each one costs CPU time to examine.
    answers: RateLimit<String>,
    /// Sign-ins that wait for an OpenID provider, by tenant.
    exchanges: Arc<Mutex<HashMap<TenantId, usize>>>,
}

/// Sign-ins of one tenant that may wait for its OpenID provider at the same time, so that a slow provider does not stop the
/// sign-ins of other tenants.
const EXCHANGES_OF_TENANT: usize = 32;
/// Sign-ins of all tenants that may wait for OpenID providers at the same time.
const EXCHANGES: usize = 256;

/// A sign-in that waits for an OpenID provider.
pub(crate) struct WaitingExchange {
    tenant: TenantId,
    exchanges: Arc<Mutex<HashMap<TenantId, usize>>>,
}

impl Drop for WaitingExchange {
    fn drop(&mut self) {
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = exchanges.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                exchanges.remove(&self.tenant);
            }
        }
    }
}

/// SAML responses per second and client address. An office may share one address.
const ANSWERS: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// The burst of them.
const BURST: NonZeroU32 = NonZeroU32::new(400).unwrap();

impl Saml {
    pub(crate) fn new(return_origins: Vec<String>) -> Self {
        saml_sp::warm_up();
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let answers = RateLimit::new(ANSWERS, BURST);
        let (turns, exchanges) = (Arc::new(Semaphore::new(processors)), Arc::default());
        Self { return_origins, turns, answers, exchanges }
    }

    /// Counts a sign-in of a tenant that will wait for its OpenID provider. Fails with 429 above the limits.
    pub(crate) fn begin_exchange(&self, tenant: &TenantId) -> Result<WaitingExchange, Problem> {
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = exchanges.values().sum();
        let own = exchanges.entry(tenant.clone()).or_default();
        if *own >= EXCHANGES_OF_TENANT || all >= EXCHANGES {
            if *own == 0 {
                exchanges.remove(tenant);
            }
            return Err(Problem::too_many_attempts(1));
        }
        *own += 1;
        Ok(WaitingExchange { tenant: tenant.clone(), exchanges: Arc::clone(&self.exchanges) })
    }

    /// Counts a response from this client address. Fails with 429 above the limit.
    pub(crate) fn admit(&self, origin: &str) -> Result<(), Problem> {
        self.answers.count(&origin.to_owned()).map_err(Problem::too_many_attempts)
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

#[cfg(test)]
mod tests {
    use kernel::SystemEnv;

    use super::*;

    #[test]
    fn slow_providers_of_a_tenant_do_not_stop_other_tenants() {
        let (area, env) = (Saml::new(Vec::new()), SystemEnv::default());
        let [one, other] = [TenantId::new(&env), TenantId::new(&env)];
        let mut waiting: Vec<_> = (0..EXCHANGES_OF_TENANT).map(|_| area.begin_exchange(&one).ok()).collect();
        assert!(waiting.iter().all(Option::is_some) && area.begin_exchange(&one).is_err());
        assert!(area.begin_exchange(&other).is_ok());
        waiting.pop();
        assert!(area.begin_exchange(&one).is_ok(), "a place is free again");
        waiting.clear();
        assert!(area.exchanges.lock().unwrap().is_empty());
        let all: Vec<_> = (0..EXCHANGES).map(|_| area.begin_exchange(&TenantId::new(&env)).ok()).collect();
        assert!(all.iter().all(Option::is_some) && area.begin_exchange(&other).is_err());
        assert_eq!(area.exchanges.lock().unwrap().len(), EXCHANGES);
    }
}
