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
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Site, meter};

/// How often is looked for news.
const EVERY: Duration = Duration::from_secs(1);
/// How long nobody else goes on with a log that was sealed a moment ago, in milliseconds.
const LEASE: i64 = 3_000;
/// Logs that are sealed at the same time.
const TOGETHER: usize = 4;
/// Batches of one tenant in a round at most: others wait for the end of it.
const OF_A_TENANT: usize = 32;
/// How long the last round may take before the end of the server.
const LAST: Duration = Duration::from_secs(5);
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
            while self.round(LEASE).await {}
        }
    }

    /// Seals what waits, once more before the end, and keeps no lease of it.
    pub(super) async fn finish(&self) {
        if timeout(LAST, self.round(0)).await.is_err() {
            tracing::info!("what waits to be sealed is left to others, or to the next start");
        }
    }

    /// Whether there was more than a round seals.
    async fn round(&self, lease: i64) -> bool {
        let tenants = match self.due().await {
            Ok(tenants) => tenants,
            Err(error) => {
                meter::sealing_failed();
                tracing::warn!(%error, "the audit logs that have news could not be found");
                return false;
            }
        };
        let seal = async |tenant: TenantId| match self.seal(&tenant, lease).await {
            Ok(more) => more,
            Err(error) => {
                meter::sealing_failed();
                tracing::warn!(%error, tenant = tenant.as_str(), "an audit log could not be sealed");
                false
            }
        };
        let sealed = stream::iter(tenants).map(seal).buffer_unordered(TOGETHER);
        sealed.fold(false, async |any, more| any || more).await
    }

    /// The tenants with news that nobody else looks after.
    async fn due(&self) -> Result<Vec<TenantId>, StoreError> {
        let (mut tenants, mut after) = (Vec::new(), None);
        let now = self.env.now();
        let own = Lease { owner: self.owner.clone(), now, until: now };
        while tenants.len() < OF_A_ROUND {
            let last: Option<TenantId> = after.clone();
            let look = async move |across: &mut Across| across.next_unsealed(last.as_ref()).await;
            let Some(Waiting { tenant, lease }) = self.store.across(look).await? else { break };
            after = Some(tenant.clone());
            if lease.is_none_or(|(owner, until)| own.may_take(&owner, until)) {
                tenants.push(tenant);
            }
        }
        Ok(tenants)
    }

    /// Seals what waits in a tenant's log; whether more of it does.
    async fn seal(&self, tenant: &TenantId, lease: i64) -> Result<bool, StoreError> {
        let mut last: Option<String> = None;
        for _ in 0..OF_A_TENANT {
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
                return Ok(false);
            }
            last = done.last;
        }
        Ok(true)
    }
}
