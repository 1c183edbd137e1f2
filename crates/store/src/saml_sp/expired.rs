//! Purges expired requests, connection tests and used assertions.

use audit::Unaudited;
use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use crate::{
    Across, Tx,
    conn::on,
    db::change_unaudited,
    error::corrupt,
    schema::{saml_assertions as assertions, saml_requests as requests, saml_trials as connection_tests},
};

/// Milliseconds that expired requests and connection tests are kept, to tell a late response from an unknown one.
const KEPT: i64 = 24 * 3_600_000;
/// Rows of each kind per lookup.
const AT_ONCE: i64 = 500;

/// Expired rows of one tenant: requests, connection tests and used assertions.
#[derive(Debug, Clone)]
pub struct ExpiredSaml {
    /// The tenant of all rows.
    pub tenant: TenantId,
    requests: Vec<String>,
    trials: Vec<String>,
    assertions: Vec<(String, Vec<u8>)>,
}

/// Keyed by the tenant's id.
#[derive(Default)]
struct ExpiredByTenant(BTreeMap<String, ExpiredSaml>);

impl ExpiredByTenant {
    fn of(&mut self, tenant: String) -> StoreResult<&mut ExpiredSaml> {
        let id = tenant.parse().map_err(|error| corrupt("saml_requests.tenant_id", error))?;
        let none =
            || ExpiredSaml { tenant: id, requests: Vec::new(), trials: Vec::new(), assertions: Vec::new() };
        Ok(self.0.entry(tenant).or_insert_with(none))
    }
}

impl Across {
    /// Returns the requests and connection tests that expired a day ago, and expired assertions: at most 500 of each,
    /// oldest first. Purge them with [`Tx::purge_saml`], then call this again.
    pub async fn expired_saml(&mut self, now: Timestamp) -> StoreResult<Vec<ExpiredSaml>> {
        let (now, kept_since): (NaiveDateTime, _) = (now.naive(), now.plus_millis(-KEPT).naive());
        let mut found = ExpiredByTenant::default();
        let query = requests::table
            .filter(requests::expires_at.le(kept_since))
            .order(requests::expires_at)
            .limit(AT_ONCE)
            .select((requests::tenant_id, requests::id));
        let some: Vec<(String, String)> = on!(&mut self.conn, c => query.load(c).await)?;
        for (tenant, id) in some {
            found.of(tenant)?.requests.push(id);
        }
        let query = connection_tests::table
            .filter(connection_tests::expires_at.le(kept_since))
            .order(connection_tests::expires_at)
            .limit(AT_ONCE)
            .select((connection_tests::tenant_id, connection_tests::id));
        let some: Vec<(String, String)> = on!(&mut self.conn, c => query.load(c).await)?;
        for (tenant, id) in some {
            found.of(tenant)?.trials.push(id);
        }
        let query = assertions::table
            .filter(assertions::expires_at.le(now))
            .order(assertions::expires_at)
            .limit(AT_ONCE)
            .select((assertions::tenant_id, assertions::provider_id, assertions::assertion));
        let some: Vec<(String, String, Vec<u8>)> = on!(&mut self.conn, c => query.load(c).await)?;
        for (tenant, provider, assertion) in some {
            found.of(tenant)?.assertions.push((provider, assertion));
        }
        Ok(found.0.into_values().collect())
    }
}

impl Tx {
    /// Deletes the expired rows. Expired rows never change, so they need no second check.
    pub async fn purge_saml(&mut self, over: &ExpiredSaml) -> StoreResult<()> {
        if over.tenant != self.tenant {
            return Err(StoreError::Aborted("the expired rows belong to another tenant"));
        }
        let tenant = self.tenant.as_str().to_owned();
        for id in &over.requests {
            let row = requests::table.find((&tenant, id));
            change_unaudited!(self, Unaudited::LookedAfter, c => diesel::delete(row).execute(c).await)?;
        }
        for id in &over.trials {
            let row = connection_tests::table.find((&tenant, id));
            change_unaudited!(self, Unaudited::LookedAfter, c => diesel::delete(row).execute(c).await)?;
        }
        for (provider, assertion) in &over.assertions {
            let row = assertions::table.find((&tenant, provider, assertion));
            change_unaudited!(self, Unaudited::LookedAfter, c => diesel::delete(row).execute(c).await)?;
        }
        Ok(())
    }
}
