//! Providers that somebody has to look after, and how long their certificates last.

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

use super::providers;
use crate::{
    Across, Tx, conn::on, db::change_unaudited, error::corrupt, json::JsonText, prepared::Prepared,
    schema::saml_providers as rows,
};

const THIRTY_DAYS: i64 = 30 * 24 * 3_600_000;
/// The beginning of the year 1: no certificate ends before.
const BEGINNING: i64 = -62_135_596_800_000;

/// How long the identity providers of all tenants can go on: each until its last certificate ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamlExpiry {
    /// Those with a certificate, good or not.
    pub providers: i64,
    /// Those through which nobody signs in any more.
    pub expired: i64,
    /// Those that have an end within 30 days to come.
    pub within_30_days: i64,
    /// The first end that is to come.
    pub soonest: Option<Timestamp>,
}

impl Across {
    /// Providers that somebody has to look after, those that have waited the longest first, so many at most.
    pub async fn saml_due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<(TenantId, ProviderId)>> {
        let query = rows::table
            .filter(rows::due_at.is_not_null())
            .filter(rows::due_at.le(now.naive()))
            .order((rows::due_at, rows::tenant_id, rows::id))
            .limit(limit)
            .select((rows::tenant_id, rows::id));
        let found: Vec<(String, String)> = on!(&mut self.conn, c => query.load(c).await)?;
        let read = |(tenant, id): &(String, String)| {
            let tenant = tenant.parse().map_err(|error| corrupt("saml_providers.tenant_id", error))?;
            Ok((tenant, id.parse().map_err(|error| corrupt("saml_providers.id", error))?))
        };
        found.iter().map(read).collect()
    }

    /// How many providers there are, and how long they can go on. Counts an entry of an index for each.
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
        // All that have an end: said so that an index begins with it.
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
    /// Takes a provider that somebody has to look after, by compare-and-set: of all that try at once one has it until
    /// then, or until it is kept changed.
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
