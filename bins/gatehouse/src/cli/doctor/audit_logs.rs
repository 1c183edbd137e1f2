//! Finds audit entries that should have been sealed.

use audit::{EntryKeys, log::LONG_UNSEALED};
use kernel::Env;
use store::Store;
use tokio::time::timeout;

use super::findings::{Findings, PATIENCE};
use crate::config::Settings;

const CHECK: &str = "audit log";
/// Tenants that are checked.
const MAX_TENANTS: usize = 1000;

pub(crate) async fn examine(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    let masters = settings.master_keys();
    let keys = EntryKeys::derive(&masters);
    if !settings.database_url.may_exist() || keys.is_empty() {
        return;
    }
    let Ok(store) = Store::open(&settings.database_url, 1, EntryKeys::none()) else { return };
    // The check of the database reports errors.
    let Ok(Ok(waiting)) = timeout(PATIENCE, store.examine_unsealed(&keys, MAX_TENANTS)).await else { return };
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
