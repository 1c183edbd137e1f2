//! Resolves host names to addresses.

use std::{io, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use tokio::{net::lookup_host, sync::Semaphore};

/// Maximum number of concurrent DNS lookups. Each occupies a thread of the runtime until it completes, and other work
/// needs threads too. The limit is higher than the number of concurrent deliveries per tenant.
const AT_A_TIME: usize = 256;

/// Resolves host names. The caller checks the addresses.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// Returns all addresses of this host, in the order in which to try them.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Uses the operating system's resolver: `/etc/hosts`, DNS, and so on.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    slots: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(AT_A_TIME)) }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(io::Error::other)?;
        let host = host.to_owned();
        // A separate task keeps the permit until the lookup thread ends, even if the caller stops waiting.
        let looking = tokio::spawn(async move {
            let found = lookup_host((host.as_str(), 0)).await;
            drop(slot);
            Ok(found?.map(|address| address.ip()).collect())
        });
        looking.await.map_err(io::Error::other)?
    }
}
