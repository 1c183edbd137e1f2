//! Sealing the audit log, away from requests: each second, of the tenants with news alone.
//!
//! Every instance does; a tenant's log is gone on with by the one that has the lease of it, which it keeps as long as it
//! seals. What two do at once the database keeps apart.

use std::{sync::Arc, time::Duration};

use actix_web::web;
use audit::{
    Audited, Unaudited,
    log::{AT_ONCE, Lease, seal},
};
use futures_util::{StreamExt, stream};
use kernel::{Actor, Ctx, Env, Id, Kind, StoreError, TenantId};
use store::{Across, Store, Tx, Waiting};
use tokio::time::{MissedTickBehavior, interval};

use super::{Site, meter};

/// How often is looked for news.
const EVERY: Duration = Duration::from_secs(1);
/// How long nobody else goes on with a log that was sealed a moment ago, in milliseconds.
const LEASE: i64 = 3_000;
/// Logs that are sealed at the same time.
const TOGETHER: usize = 4;
/// Tenants of one round at most.
const OF_A_ROUND: usize = 10_000;

/// Marks ids of sealers.
enum OfSealer {}
impl Kind for OfSealer {
    const PREFIX: &'static str = "sea";
}

/// Who seals.
pub(super) struct Sealer {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    site: web::Data<Site>,
    owner: String,
}

impl Sealer {
    pub(super) fn new(store: Arc<Store>, env: Arc<dyn Env>, site: web::Data<Site>) -> Self {
        let owner = Id::<OfSealer>::new(&*env).to_string();
        Self { store, env, site, owner }
    }

    /// Seals until it is dropped.
    pub(super) async fn run(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.round(LEASE).await;
        }
    }

    /// Seals what waits, once more before the end, and keeps no lease of it.
    pub(super) async fn finish(&self) {
        self.round(0).await;
    }

    async fn round(&self, lease: i64) {
        let tenants = match self.due().await {
            Ok(tenants) => tenants,
            Err(error) => {
                meter::sealing_failed();
                tracing::warn!(%error, "the audit logs that have news could not be found");
                return;
            }
        };
        let seal = async |tenant: TenantId| {
            if let Err(error) = self.seal(&tenant, lease).await {
                meter::sealing_failed();
                tracing::warn!(%error, tenant = tenant.as_str(), "an audit log could not be sealed");
            }
        };
        stream::iter(tenants).for_each_concurrent(TOGETHER, seal).await;
    }

    /// The tenants with news that nobody else looks after.
    async fn due(&self) -> Result<Vec<TenantId>, StoreError> {
        let (now, mut tenants, mut after) = (self.env.now(), Vec::new(), None);
        while tenants.len() < OF_A_ROUND {
            let last: Option<TenantId> = after.clone();
            let look = async move |across: &mut Across| across.next_unsealed(last.as_ref()).await;
            let Some(Waiting { tenant, lease }) = self.store.across(look).await? else { break };
            after = Some(tenant.clone());
            if lease.is_none_or(|(owner, until)| owner == self.owner || until <= now) {
                tenants.push(tenant);
            }
        }
        Ok(tenants)
    }

    /// Seals all that waits in a tenant's log.
    async fn seal(&self, tenant: &TenantId, lease: i64) -> Result<(), StoreError> {
        let mut last: Option<String> = None;
        loop {
            let (keys, now) = (self.site.keys.checkpoints(), self.env.now());
            let lease = Lease { owner: self.owner.clone(), now, until: now.plus_millis(lease) };
            let ctx = Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("sealer"));
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                let done = seal(tx, &keys, &ctx.tenant, &lease, last.as_deref()).await?;
                Ok::<_, StoreError>(Audited::without(done, Unaudited::Sealed))
            };
            let done = self.store.write(ctx, work).await?;
            meter::sealed(done.count);
            if done.count < AT_ONCE {
                return Ok(());
            }
            last = done.last;
        }
    }
}
