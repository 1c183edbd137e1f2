//! Purges expired requests, connection tests and used assertions.

use std::collections::BTreeMap;

use audit::Unaudited;
use chrono::NaiveDateTime;
use data_encoding::HEXLOWER;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use crate::{
    Across, Store, Tx,
    conn::on,
    db::change_unaudited,
    error::corrupt,
    schema::{
        oidc_requests, saml_assertions as assertions, saml_requests as requests,
        saml_trials as connection_tests,
    },
    shards::select_of_shard,
};

/// Milliseconds that expired requests and connection tests are kept, to tell a late response from an unknown one.
const KEPT: i64 = 24 * 3_600_000;
/// Rows of each kind per lookup.
const AT_ONCE: i64 = 500;

/// Expired rows of one tenant: requests, connection tests and used assertions; states of requests of OpenID Connect.
#[derive(Debug, Clone)]
pub struct ExpiredSaml {
    /// The tenant of all rows.
    pub tenant: TenantId,
    requests: Vec<String>,
    trials: Vec<String>,
    assertions: Vec<(String, Vec<u8>)>,
    states: Vec<Vec<u8>>,
}

/// Keyed by the tenant's id.
#[derive(Default)]
struct ExpiredByTenant(BTreeMap<String, ExpiredSaml>);

impl ExpiredByTenant {
    fn of(&mut self, tenant: String) -> StoreResult<&mut ExpiredSaml> {
        let id = tenant.parse().map_err(|error| corrupt("saml_requests.tenant_id", error))?;
        let none = || ExpiredSaml {
            tenant: id,
            requests: Vec::new(),
            trials: Vec::new(),
            assertions: Vec::new(),
            states: Vec::new(),
        };
        Ok(self.0.entry(tenant).or_insert_with(none))
    }
}

impl Store {
    /// Returns the requests and connection tests that expired a day ago, and expired assertions: at most 500 of each,
    /// oldest first. Purge them with [`Tx::purge_saml`], then call this again. On a distributed database these are at
    /// most 500 of each shard whose node answers.
    pub async fn expired_saml(&self, now: Timestamp) -> StoreResult<Vec<ExpiredSaml>> {
        let (now, kept_since) = (now.naive(), now.plus_millis(-KEPT).naive());
        let mut found = ExpiredByTenant::default();
        let requests = async |across: &mut Across| across.expired_requests(kept_since).await;
        for (tenant, id) in self.across(requests).await? {
            found.of(tenant)?.requests.push(id);
        }
        let tests = async |across: &mut Across| across.expired_connection_tests(kept_since).await;
        for (tenant, id) in self.across(tests).await? {
            found.of(tenant)?.trials.push(id);
        }
        let states = async |across: &mut Across| across.expired_states(kept_since).await;
        for (tenant, state) in self.across(states).await? {
            found.of(tenant)?.states.push(state);
        }
        let assertions = async |across: &mut Across| across.expired_assertions(now).await;
        for (tenant, provider, assertion) in self.across(assertions).await? {
            found.of(tenant)?.assertions.push((provider, assertion));
        }
        Ok(found.0.into_values().collect())
    }
}

impl Across {
    async fn expired_requests(&mut self, until: NaiveDateTime) -> StoreResult<Vec<(String, String)>> {
        if self.is_distributed {
            return self.on_shards("saml_requests", &expired_of_shard("tenant_id, id", until)).await;
        }
        let query = requests::table
            .filter(requests::expires_at.le(until))
            .order(requests::expires_at)
            .limit(AT_ONCE)
            .select((requests::tenant_id, requests::id));
        on!(&mut self.conn, c => query.load(c).await)
    }

    async fn expired_states(&mut self, until: NaiveDateTime) -> StoreResult<Vec<(String, Vec<u8>)>> {
        if self.is_distributed {
            let columns = "tenant_id, encode(state, 'hex')";
            let found: Vec<(String, String)> =
                self.on_shards("oidc_requests", &expired_of_shard(columns, until)).await?;
            let read =
                |(tenant, state): (String, String)| Ok((tenant, read_hex("oidc_requests.state", &state)?));
            return found.into_iter().map(read).collect();
        }
        let query = oidc_requests::table
            .filter(oidc_requests::expires_at.le(until))
            .order(oidc_requests::expires_at)
            .limit(AT_ONCE)
            .select((oidc_requests::tenant_id, oidc_requests::state));
        on!(&mut self.conn, c => query.load(c).await)
    }

    async fn expired_connection_tests(&mut self, until: NaiveDateTime) -> StoreResult<Vec<(String, String)>> {
        if self.is_distributed {
            return self.on_shards("saml_trials", &expired_of_shard("tenant_id, id", until)).await;
        }
        let query = connection_tests::table
            .filter(connection_tests::expires_at.le(until))
            .order(connection_tests::expires_at)
            .limit(AT_ONCE)
            .select((connection_tests::tenant_id, connection_tests::id));
        on!(&mut self.conn, c => query.load(c).await)
    }

    async fn expired_assertions(
        &mut self,
        until: NaiveDateTime,
    ) -> StoreResult<Vec<(String, String, Vec<u8>)>> {
        if self.is_distributed {
            let columns = "tenant_id, provider_id, encode(assertion, 'hex')";
            let found: Vec<(String, String, String)> =
                self.on_shards("saml_assertions", &expired_of_shard(columns, until)).await?;
            let read = |(tenant, provider, assertion): (String, String, String)| {
                Ok((tenant, provider, read_hex("saml_assertions.assertion", &assertion)?))
            };
            return found.into_iter().map(read).collect();
        }
        let query = assertions::table
            .filter(assertions::expires_at.le(until))
            .order(assertions::expires_at)
            .limit(AT_ONCE)
            .select((assertions::tenant_id, assertions::provider_id, assertions::assertion));
        on!(&mut self.conn, c => query.load(c).await)
    }
}

fn read_hex(column: &str, text: &str) -> StoreResult<Vec<u8>> {
    HEXLOWER.decode(text.as_bytes()).map_err(|error| corrupt(column, error))
}

fn expired_of_shard(columns: &str, until: NaiveDateTime) -> String {
    select_of_shard(columns, &format!("WHERE expires_at <= '{until}' ORDER BY expires_at LIMIT {AT_ONCE}"))
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
        for state in &over.states {
            let row = oidc_requests::table.find((&tenant, state));
            change_unaudited!(self, Unaudited::LookedAfter, c => diesel::delete(row).execute(c).await)?;
        }
        for (provider, assertion) in &over.assertions {
            let row = assertions::table.find((&tenant, provider, assertion));
            change_unaudited!(self, Unaudited::LookedAfter, c => diesel::delete(row).execute(c).await)?;
        }
        Ok(())
    }
}
