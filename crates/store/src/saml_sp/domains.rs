//! Verified domains. Each has one owner.

use ::saml_sp::{
    DomainRecheck, DomainStore, EmailDomain, Method, ProviderId, RECHECK_MILLIS, VerifiedDomain,
};
use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use crate::{
    Across, Tx,
    conn::on,
    db::{change, change_unaudited, read},
    error::corrupt,
    prepared::Prepared,
    schema::{saml_provider_domains as of_providers, verified_domains as rows},
};

#[derive(Queryable, Selectable)]
#[diesel(table_name = rows)]
struct DomainRow {
    domain: String,
    method: String,
    verified_at: NaiveDateTime,
    token: Option<String>,
}

impl TryFrom<DomainRow> for VerifiedDomain {
    type Error = StoreError;

    fn try_from(row: DomainRow) -> StoreResult<Self> {
        Ok(Self {
            domain: row.domain.parse().map_err(|error| corrupt("verified_domains.domain", error))?,
            method: Method::read(&row.method)
                .ok_or_else(|| corrupt("verified_domains.method", &row.method))?,
            verified_at: Timestamp::from_naive(row.verified_at),
            token: row.token,
        })
    }
}

pub(super) fn tenant_id(text: &str) -> StoreResult<TenantId> {
    text.parse().map_err(|error| corrupt("verified_domains.tenant_id", error))
}

impl Across {
    /// Returns the tenant that has verified the domain, and the identity provider that it uses for the domain, for
    /// routing sign-ins.
    pub async fn provider_for_domain(
        &mut self,
        domain: &EmailDomain,
    ) -> StoreResult<Option<(TenantId, ProviderId)>> {
        let owner = rows::table.find(domain.as_str()).select(rows::tenant_id);
        let owner: Option<String> = on!(&mut self.conn, c => owner.first(c).await.optional())?;
        let Some(owner) = owner else { return Ok(None) };
        let query = of_providers::table.find((&owner, domain.as_str())).select(of_providers::provider_id);
        let id: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        let Some(id) = id else { return Ok(None) };
        let id = id.parse().map_err(|error| corrupt("saml_provider_domains.provider_id", error))?;
        Ok(Some((tenant_id(&owner)?, id)))
    }
}

#[async_trait]
impl DomainStore for Tx {
    async fn verified_domains(&mut self) -> StoreResult<Vec<VerifiedDomain>> {
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).order(rows::domain);
        let found: Vec<DomainRow> = read!(self, c => query.select(DomainRow::as_select()).load(c).await)?;
        found.into_iter().map(VerifiedDomain::try_from).collect()
    }

    async fn domain_owner(&mut self, domain: &EmailDomain) -> StoreResult<Option<TenantId>> {
        let query = rows::table.find(domain.as_str()).select(rows::tenant_id);
        let tenant: Option<String> = read!(self, c => query.first(c).await.optional())?;
        tenant.as_deref().map(tenant_id).transpose()
    }

    async fn insert_verified_domain(&mut self, domain: &VerifiedDomain) -> StoreResult<bool> {
        let is_rechecked = domain.method == Method::Dns;
        let due_at = is_rechecked.then(|| domain.verified_at.plus_millis(RECHECK_MILLIS).naive());
        let row = (
            rows::domain.eq(domain.domain.as_str()),
            rows::tenant_id.eq(self.tenant.as_str()),
            rows::method.eq(domain.method.as_str()),
            rows::verified_at.eq(domain.verified_at.naive()),
            rows::due_at.eq(due_at),
            rows::token.eq(domain.token.as_deref()),
        );
        let insert = Prepared(diesel::insert_into(rows::table).values(row).on_conflict_do_nothing());
        let inserted = change!(self, c => insert.execute(c).await)? == 1;
        Ok(inserted)
    }

    async fn delete_verified_domain(&mut self, domain: &EmailDomain) -> StoreResult<bool> {
        let ours = rows::table.find(domain.as_str()).filter(rows::tenant_id.eq(self.tenant.as_str()));
        let deleted = change!(self, c => diesel::delete(ours).execute(c).await)? == 1;
        Ok(deleted)
    }

    async fn reschedule_domain(&mut self, domain: &EmailDomain, next: &DomainRecheck) -> StoreResult<bool> {
        let ours = rows::table.find(domain.as_str()).filter(rows::tenant_id.eq(self.tenant.as_str()));
        let set = (
            rows::due_at.eq(next.next_at.naive()),
            rows::missing_since.eq(next.missing_since.map(Timestamp::naive)),
            rows::token.eq(next.token.as_deref()),
        );
        let update = Prepared(diesel::update(ours).set(set));
        Ok(change_unaudited!(self, Unaudited::LookedAfter, c => update.execute(c).await)? == 1)
    }
}
