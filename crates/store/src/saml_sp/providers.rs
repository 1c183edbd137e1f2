//! Identity providers and their email domains.

use ::saml_sp::{EmailDomain, Provider, ProviderId, ProviderStore};
use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp};

use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    error::corrupt,
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{
        oidc_providers, saml_assertions as assertions, saml_provider_domains as domains,
        saml_providers as rows, saml_requests as requests, saml_subjects as subjects,
        saml_trials as connection_tests, tenants,
    },
};

const DOCUMENT: &str = "saml_providers.document";

/// The columns of a provider: its document, when its last certificate expires, and when it is due for maintenance.
type Changes = (JsonText, Option<NaiveDateTime>, Option<NaiveDateTime>);

fn changes(provider: &Provider) -> StoreResult<Changes> {
    let expires_at = provider.expires_at().map(Timestamp::naive);
    Ok((json_text(DOCUMENT, provider)?, expires_at, provider.due_at().map(Timestamp::naive)))
}

pub(super) fn read(document: &JsonText) -> StoreResult<Provider> {
    read_json(DOCUMENT, document)
}

/// Returns whether more changed than the state of maintenance, such as a metadata refresh or an expiry warning.
fn is_change(was: Provider, now: &Provider) -> bool {
    let maintained = Provider {
        valid_until: now.valid_until,
        refresh: now.refresh.clone(),
        warned: now.warned,
        updated_at: now.updated_at,
        ..was
    };
    maintained != *now
}

impl Tx {
    /// Returns the provider with this ID without a lock.
    pub async fn current_provider(&mut self, id: &ProviderId) -> StoreResult<Option<Provider>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str())).select(rows::document);
        let document: Option<JsonText> = read!(self, c => query.first(c).await.optional())?;
        document.as_ref().map(read).transpose()
    }

    /// Replaces the domains of an SSO connection of any protocol.
    pub(crate) async fn replace_domains(
        &mut self,
        id: &ProviderId,
        was: &[EmailDomain],
        now: &[EmailDomain],
    ) -> StoreResult<()> {
        for domain in was.iter().filter(|domain| !now.contains(domain)) {
            let delete = diesel::delete(domains::table.find((self.tenant.as_str(), domain.as_str())));
            change!(self, c => delete.execute(c).await)?;
        }
        for domain in now.iter().filter(|domain| !was.contains(domain)) {
            self.insert_domain(id, domain).await?;
        }
        Ok(())
    }

    async fn insert_domain(&mut self, id: &ProviderId, domain: &EmailDomain) -> StoreResult<()> {
        let row = (
            domains::tenant_id.eq(self.tenant.as_str()),
            domains::domain.eq(domain.as_str()),
            domains::provider_id.eq(id.as_str()),
        );
        let insert = diesel::insert_into(domains::table).values(row);
        change!(self, c => insert.execute(c).await)?;
        Ok(())
    }

    /// Deletes the domains, connection tests and pinned subjects of an SSO connection of any protocol.
    pub(crate) async fn delete_parts_of_connection(&mut self, id: &ProviderId) -> StoreResult<()> {
        self.drop_connection_accounts(id.as_str()).await?;
        let (tenant, id) = (self.tenant.as_str().to_owned(), id.as_str());
        let of_provider =
            domains::table.filter(domains::tenant_id.eq(&tenant)).filter(domains::provider_id.eq(id));
        change!(self, c => diesel::delete(of_provider).execute(c).await)?;
        let of_provider = connection_tests::table
            .filter(connection_tests::tenant_id.eq(&tenant))
            .filter(connection_tests::provider_id.eq(id));
        change!(self, c => diesel::delete(of_provider).execute(c).await)?;
        let of_provider =
            subjects::table.filter(subjects::tenant_id.eq(&tenant)).filter(subjects::provider_id.eq(id));
        change!(self, c => diesel::delete(of_provider).execute(c).await)?;
        Ok(())
    }
}

#[async_trait]
impl ProviderStore for Tx {
    async fn providers(&mut self) -> StoreResult<Vec<Provider>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .order(rows::id)
            .select(rows::document);
        let found: Vec<JsonText> = read!(self, c => query.load(c).await)?;
        found.iter().map(read).collect()
    }

    async fn provider(&mut self, id: &ProviderId) -> StoreResult<Option<Provider>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str())).select(rows::document);
        let document: Option<JsonText> = lock!(self, for_update, first, query)?;
        document.as_ref().map(read).transpose()
    }

    async fn count_providers(&mut self) -> StoreResult<usize> {
        if self.db.is_writable() {
            // Locks the tenant, so that concurrent inserts cannot exceed the limit.
            let tenant = tenants::table.find(self.tenant.as_str()).select(tenants::id);
            let _locked: Option<String> = lock!(self, for_update, first, tenant)?;
        }
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).count();
        let saml: i64 = read!(self, c => query.get_result(c).await)?;
        let query = oidc_providers::table.filter(oidc_providers::tenant_id.eq(self.tenant.as_str())).count();
        let oidc: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(usize::try_from(saml + oidc).unwrap_or_default())
    }

    async fn provider_of_domain(&mut self, domain: &EmailDomain) -> StoreResult<Option<ProviderId>> {
        let query = domains::table.find((self.tenant.as_str(), domain.as_str())).select(domains::provider_id);
        let id: Option<String> = read!(self, c => query.first(c).await.optional())?;
        id.map(|id| id.parse().map_err(|error| corrupt("saml_provider_domains.provider_id", error)))
            .transpose()
    }

    async fn domains_of_providers(&mut self) -> StoreResult<Vec<(EmailDomain, ProviderId)>> {
        let query = domains::table
            .filter(domains::tenant_id.eq(self.tenant.as_str()))
            .order(domains::domain)
            .select((domains::domain, domains::provider_id));
        let found: Vec<(String, String)> = read!(self, c => query.load(c).await)?;
        let parse = |(domain, id): (String, String)| {
            let domain = domain.parse().map_err(|error| corrupt("saml_provider_domains.domain", error))?;
            Ok((domain, id.parse().map_err(|error| corrupt("saml_provider_domains.provider_id", error))?))
        };
        found.into_iter().map(parse).collect()
    }

    async fn insert_provider(&mut self, provider: &Provider) -> StoreResult<()> {
        if provider.id.tenant().as_ref() != Some(&self.tenant) {
            return Err(StoreError::Aborted("the SSO connection belongs to another tenant"));
        }
        let (document, expires_at, due_at) = changes(provider)?;
        let row = (
            rows::tenant_id.eq(self.tenant.as_str()),
            rows::id.eq(provider.id.as_str()),
            rows::document.eq(document),
            rows::expires_at.eq(expires_at),
            rows::due_at.eq(due_at),
            rows::created_at.eq(provider.created_at.naive()),
        );
        let insert = diesel::insert_into(rows::table).values(row);
        change!(self, c => insert.execute(c).await)?;
        self.replace_domains(&provider.id, &[], &provider.email_domains).await
    }

    async fn update_provider(&mut self, provider: &Provider) -> StoreResult<()> {
        let Some(was) = ProviderStore::provider(self, &provider.id).await? else {
            return Err(StoreError::Aborted("the SSO connection does not exist"));
        };
        let tenant = self.tenant.as_str().to_owned();
        let (document, expires_at, due_at) = changes(provider)?;
        let set = (rows::document.eq(document), rows::expires_at.eq(expires_at), rows::due_at.eq(due_at));
        let update = Prepared(diesel::update(rows::table.find((&tenant, provider.id.as_str()))).set(set));
        change_unaudited!(self, Unaudited::LookedAfter, c => update.execute(c).await)?;
        self.replace_domains(&provider.id, &was.email_domains, &provider.email_domains).await?;
        // A metadata refresh without changes is not a change of the provider.
        if is_change(was, provider) {
            self.db.require_entry();
        }
        Ok(())
    }

    async fn delete_provider(&mut self, id: &ProviderId) -> StoreResult<bool> {
        let (tenant, provider) = (self.tenant.as_str().to_owned(), id);
        let id = provider.as_str();
        let row = rows::table.find((&tenant, id));
        if change!(self, c => diesel::delete(row).execute(c).await)? == 0 {
            return Ok(false);
        }
        let of_provider =
            requests::table.filter(requests::tenant_id.eq(&tenant)).filter(requests::provider_id.eq(id));
        change!(self, c => diesel::delete(of_provider).execute(c).await)?;
        let of_provider = assertions::table
            .filter(assertions::tenant_id.eq(&tenant))
            .filter(assertions::provider_id.eq(id));
        change!(self, c => diesel::delete(of_provider).execute(c).await)?;
        self.delete_parts_of_connection(provider).await?;
        Ok(true)
    }
}
