//! Verified domains whose DNS record is due for a check.

use ::saml_sp::{DomainRecheck, EmailDomain};
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, TenantId, Timestamp};

use super::domains::tenant_id;
use crate::{
    Across, Tx, conn::on, db::change_unaudited, error::corrupt, prepared::Prepared,
    schema::verified_domains as rows,
};

impl Across {
    /// Returns domains that are due, those that have waited longest first, at most `limit`.
    pub async fn domains_due(
        &mut self,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<(TenantId, EmailDomain)>> {
        let query = rows::table
            .filter(rows::due_at.is_not_null())
            .filter(rows::due_at.le(now.naive()))
            .order((rows::due_at, rows::domain))
            .limit(limit)
            .select((rows::tenant_id, rows::domain));
        let found: Vec<(String, String)> = on!(&mut self.conn, c => query.load(c).await)?;
        let read = |(tenant, domain): &(String, String)| {
            let domain = domain.parse().map_err(|error| corrupt("verified_domains.domain", error))?;
            Ok((tenant_id(tenant)?, domain))
        };
        found.iter().map(read).collect()
    }
}

impl Tx {
    /// Leases a due domain by compare-and-set: one instance has it until `until` or until it is rescheduled.
    pub async fn take_due_domain(
        &mut self,
        domain: &EmailDomain,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<Option<DomainRecheck>> {
        let due = rows::table
            .find(domain.as_str())
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::due_at.is_not_null())
            .filter(rows::due_at.le(now.naive()));
        let state = (rows::token, rows::missing_since);
        let take = diesel::update(due).set(rows::due_at.eq(until.naive())).returning(state);
        let taken: Option<(Option<String>, Option<NaiveDateTime>)> = change_unaudited!(self, Unaudited::LookedAfter, c => Prepared(take).get_result(c).await.optional())?;
        Ok(taken.map(|(token, missing)| DomainRecheck {
            token,
            missing_since: missing.map(Timestamp::from_naive),
            next_at: until,
        }))
    }
}
