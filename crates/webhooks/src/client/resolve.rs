//! From names to addresses.

use std::{io, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use tokio::{net::lookup_host, sync::Semaphore};

/// Look-ups at a time. Each holds a thread for as long as the name server keeps it waiting, and the runtime's threads
/// are needed for other things too. More than one tenant may have in flight.
const AT_A_TIME: usize = 256;

/// Finds the addresses of a name. What it finds is checked by whoever asks.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// All addresses of this host, in the order in which they should be tried.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// What the operating system is configured to ask: `/etc/hosts`, DNS, and so on.
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
        // In a task of its own, because the thread works on when nobody waits any more, and the slot is the thread's.
        let looking = tokio::spawn(async move {
            let found = lookup_host((host.as_str(), 0)).await;
            drop(slot);
            Ok(found?.map(|address| address.ip()).collect())
        });
        looking.await.map_err(io::Error::other)?
    }
}
