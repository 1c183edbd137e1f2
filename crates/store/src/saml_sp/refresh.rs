//! Providers that are due for maintenance, and the expiry of their certificates.

use ::saml_sp::{Provider, ProviderId};
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::{
    dsl::sql,
    prelude::*,
    sql_types::{BigInt, Nullable, Timestamp as SqlTimestamp},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, TenantId, Timestamp};
use sign_in::sso::oidc::OidcProvider;

use super::providers;
use crate::{
    Across, Tx,
    conn::on,
    db::change_unaudited,
    error::corrupt,
    json::{JsonText, read_json},
    prepared::Prepared,
    schema::{oidc_providers as oidc, saml_providers as rows},
    shards::{merge_first, select_of_shard},
};

const THIRTY_DAYS: i64 = 30 * 24 * 3_600_000;
/// The beginning of the year 1, before any certificate's expiry.
const BEGINNING: i64 = -62_135_596_800_000;

/// Expiry of identity providers over all tenants. A provider expires with its last certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamlExpiry {
    /// Providers with a certificate, expired or not.
    pub providers: i64,
    /// Providers whose certificates have all expired.
    pub expired: i64,
    /// Providers that expire within the next 30 days.
    pub within_30_days: i64,
    /// The earliest expiry in the future.
    pub soonest: Option<Timestamp>,
}

/// Parses the ids of due SSO connections.
fn parse_ids(found: &[(String, String)]) -> StoreResult<Vec<(TenantId, ProviderId)>> {
    let parse = |(tenant, id): &(String, String)| {
        let tenant = tenant.parse().map_err(|error| corrupt("tenant_id of an SSO connection", error))?;
        Ok((tenant, id.parse().map_err(|error| corrupt("id of an SSO connection", error))?))
    };
    found.iter().map(parse).collect()
}

impl Across {
    /// Returns at most `limit` SAML providers that are due for maintenance, longest due first. On a distributed database
    /// these are providers of the shards whose nodes answer.
    pub async fn saml_due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<(TenantId, ProviderId)>> {
        if self.is_distributed {
            return self.connections_due_on_shards("saml_providers", now, limit).await;
        }
        parse_ids(&self.longest_due(now, limit).await?)
    }

    /// Returns at most `limit` OpenID providers whose metadata is due, as [`Across::saml_due`] does for SAML.
    pub async fn oidc_due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<(TenantId, ProviderId)>> {
        if self.is_distributed {
            return self.connections_due_on_shards("oidc_providers", now, limit).await;
        }
        let query = oidc::table
            .filter(oidc::due_at.is_not_null())
            .filter(oidc::due_at.le(now.naive()))
            .order((oidc::due_at, oidc::tenant_id, oidc::id))
            .limit(limit)
            .select((oidc::tenant_id, oidc::id));
        let found: Vec<(String, String)> = on!(&mut self.conn, c => query.load(c).await)?;
        parse_ids(&found)
    }

    async fn connections_due_on_shards(
        &mut self,
        table: &'static str,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<(TenantId, ProviderId)>> {
        let due = format!("WHERE due_at <= '{}' ORDER BY due_at LIMIT {limit}", now.naive());
        let due: Vec<(NaiveDateTime, String, String)> =
            self.on_shards(table, &select_of_shard("due_at, tenant_id, id", &due)).await?;
        let first: Vec<_> = merge_first(due, limit).into_iter().map(|(_, tenant, id)| (tenant, id)).collect();
        parse_ids(&first)
    }

    async fn longest_due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<(String, String)>> {
        let query = rows::table
            .filter(rows::due_at.is_not_null())
            .filter(rows::due_at.le(now.naive()))
            .order((rows::due_at, rows::tenant_id, rows::id))
            .limit(limit)
            .select((rows::tenant_id, rows::id));
        on!(&mut self.conn, c => query.load(c).await)
    }

    /// Counts providers and their expiry. Reads one index entry per provider.
    pub async fn saml_expiry(&mut self, now: Timestamp) -> StoreResult<SamlExpiry> {
        let (now, soon) = (now.naive(), now.plus_millis(THIRTY_DAYS).naive());
        let expired =
            sql::<BigInt>("count(*) FILTER (WHERE expires_at <= ").bind::<SqlTimestamp, _>(now).sql(")");
        let within_30_days = sql::<BigInt>("count(*) FILTER (WHERE expires_at > ")
            .bind::<SqlTimestamp, _>(now)
            .sql(" AND expires_at <= ")
            .bind::<SqlTimestamp, _>(soon)
            .sql(")");
        let soonest = sql::<Nullable<SqlTimestamp>>("min(expires_at) FILTER (WHERE expires_at > ")
            .bind::<SqlTimestamp, _>(now)
            .sql(")");
        // Matches every provider with an expiry. The condition makes the planner use the index.
        let query = rows::table
            .filter(rows::expires_at.gt(Timestamp::from_unix_millis(BEGINNING).naive()))
            .select((sql::<BigInt>("count(*)"), expired, within_30_days, soonest));
        let found: (i64, i64, i64, Option<NaiveDateTime>) =
            on!(&mut self.conn, c => query.get_result(c).await)?;
        let (providers, expired, within_30_days, soonest) = found;
        let soonest = soonest.map(Timestamp::from_naive);
        Ok(SamlExpiry { providers, expired, within_30_days, soonest })
    }
}

impl Tx {
    /// Leases an OpenID provider whose metadata is due, as [`Tx::take_due_provider`] does for SAML.
    pub async fn take_due_oidc_provider(
        &mut self,
        id: &ProviderId,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<Option<OidcProvider>> {
        let due = oidc::table
            .find((self.tenant.as_str(), id.as_str()))
            .filter(oidc::due_at.is_not_null())
            .filter(oidc::due_at.le(now.naive()));
        let take = diesel::update(due).set(oidc::due_at.eq(until.naive())).returning(oidc::document);
        let document: Option<JsonText> = change_unaudited!(self, Unaudited::LookedAfter, c => Prepared(take).get_result(c).await.optional())?;
        document.as_ref().map(|document| read_json("oidc_providers.document", document)).transpose()
    }

    /// Leases a SAML provider that is due for maintenance by compare-and-set: one instance has it until `until` or until
    /// the provider is updated.
    pub async fn take_due_provider(
        &mut self,
        id: &ProviderId,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<Option<Provider>> {
        let due = rows::table
            .find((self.tenant.as_str(), id.as_str()))
            .filter(rows::due_at.is_not_null())
            .filter(rows::due_at.le(now.naive()));
        let take = diesel::update(due).set(rows::due_at.eq(until.naive())).returning(rows::document);
        let document: Option<JsonText> = change_unaudited!(self, Unaudited::LookedAfter, c => Prepared(take).get_result(c).await.optional())?;
        document.as_ref().map(providers::read).transpose()
    }
}
