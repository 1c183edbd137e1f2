//! Finds audit entries that should have been sealed.

use audit::{
    EntryKeys,
    log::{AT_ONCE, LONG_UNSEALED, SealStore},
};
use kernel::{Env, StoreError, StoreResult, TenantId, Timestamp};
use store::{Across, Store, Tx};
use tokio::time::timeout;

use super::findings::{Findings, PATIENCE};
use crate::config::Settings;

const CHECK: &str = "audit log";
/// Tenants that are checked.
const MAX_TENANTS: usize = 1000;

/// Unsealed entries.
#[derive(Default)]
struct UnsealedEntries {
    /// Entries without a valid MAC, which are never sealed.
    unauthenticated: usize,
    /// Time of the oldest entry among the first unsealed ones of each log.
    oldest: Option<Timestamp>,
}

pub(crate) async fn examine(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    let masters = settings.master_keys();
    let keys = EntryKeys::derive(&masters);
    if !settings.database_url.may_exist() || keys.is_empty() {
        return;
    }
    let Ok(store) = Store::open(&settings.database_url, 1, EntryKeys::none()) else { return };
    // The check of the database reports errors.
    let Ok(Ok(waiting)) = timeout(PATIENCE, waiting(&store, &keys)).await else { return };
    match waiting.unauthenticated {
        0 => findings.ok(CHECK, "all unsealed entries have a valid MAC"),
        count => findings.fail(
            CHECK,
            format!(
                "{count} unsealed entries have no valid MAC: an older version of the server wrote them, or somebody forged \
                 them. List them with gatehouse audit verify"
            ),
        ),
    }
    let age = waiting.oldest.map_or(0, |oldest| env.now().unix_millis() - oldest.unix_millis());
    if age > LONG_UNSEALED {
        findings.warn(
            CHECK,
            format!(
                "entries have been unsealed for {} s: no server is running, or something prevents it from sealing",
                age / 1000
            ),
        );
    }
}

async fn waiting(store: &Store, keys: &EntryKeys) -> StoreResult<UnsealedEntries> {
    let (mut all, mut after): (UnsealedEntries, Option<TenantId>) = Default::default();
    for _ in 0..MAX_TENANTS {
        let last = after.take();
        let next = async move |across: &mut Across| across.next_unsealed(last.as_ref()).await;
        let Some(waiting) = store.across(next).await? else { break };
        let tenant = waiting.tenant;
        let look = async |tx: &mut Tx| tx.unsealed(None, AT_ONCE).await;
        for entry in store.read::<_, StoreError>(tenant.clone(), look).await? {
            let is_valid = entry.leaf.is_some_and(|leaf| {
                keys.verify(tenant.as_str(), &entry.id, &leaf, entry.mac.as_ref()).is_ok()
            });
            all.unauthenticated += usize::from(!is_valid);
        }
        let look = async move |tx: &mut Tx| tx.entry(&waiting.first).await;
        // `gatehouse audit verify` reports entries that cannot be read.
        let first = store.read::<_, StoreError>(tenant.clone(), look).await.ok().flatten();
        all.oldest = [all.oldest, first.map(|first| first.timestamp)].into_iter().flatten().min();
        after = Some(tenant);
    }
    Ok(all)
}
