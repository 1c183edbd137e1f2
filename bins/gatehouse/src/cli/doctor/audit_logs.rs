//! Looks for audit entries that wait to be sealed and should not.

use audit::{
    EntryKeys,
    log::{AT_ONCE, SealStore},
};
use kernel::{Env, StoreError, TenantId, Timestamp};
use store::{Across, DatabaseUrl, Store, Tx};
use tokio::time::timeout;

use super::findings::{Findings, PATIENCE};
use crate::config::Settings;

const CHECK: &str = "audit log";
/// Tenants whose waiting audit entries are looked at.
const MAX_TENANTS: usize = 1000;
/// How long an entry may wait, in milliseconds: a server seals it after a second.
const LONG: i64 = 60_000;

/// Entries that are not sealed yet.
#[derive(Default)]
struct UnsealedEntries {
    /// Entries whose MAC does not prove who wrote them: they are never sealed.
    unauthenticated: usize,
    /// When the oldest was written, of those that wait first in their logs.
    oldest: Option<Timestamp>,
}

pub(crate) async fn examine(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    let masters = settings.master_keys();
    let keys = EntryKeys::derive(&masters);
    let there = match &settings.database_url {
        DatabaseUrl::Sqlite(path) => path.exists(),
        DatabaseUrl::Postgres(_) => true,
    };
    if !there || keys.is_empty() {
        return;
    }
    let Ok(store) = Store::open(&settings.database_url, 1, EntryKeys::none()) else { return };
    // An error was said by the check of the database already.
    let Ok(Ok(waiting)) = timeout(PATIENCE, waiting(&store, &keys)).await else { return };
    match waiting.unauthenticated {
        0 => findings.ok(CHECK, "all entries that wait to be sealed are authentic"),
        count => findings.fail(
            CHECK,
            format!(
                "{count} entries that wait to be sealed have no valid MAC: a server of a version before wrote them, or \
                 somebody forged them; gatehouse audit verify names them"
            ),
        ),
    }
    let age = waiting.oldest.map_or(0, |oldest| env.now().unix_millis() - oldest.unix_millis());
    if age > LONG {
        findings.warn(
            CHECK,
            format!(
                "entries have waited for {} s to be sealed: no server runs, or somebody stops it from sealing",
                age / 1000
            ),
        );
    }
}

async fn waiting(store: &Store, keys: &EntryKeys) -> Result<UnsealedEntries, StoreError> {
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
        // One that cannot be read is for `gatehouse audit verify` to tell.
        let first = store.read::<_, StoreError>(tenant.clone(), look).await.ok().flatten();
        all.oldest = [all.oldest, first.map(|first| first.timestamp)].into_iter().flatten().min();
        after = Some(tenant);
    }
    Ok(all)
}
