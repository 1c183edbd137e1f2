//! OpenID providers.

use ::saml_sp::{ClaimedRequest, ProviderId};
use async_trait::async_trait;
use audit::Unaudited;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp};
use sign_in::sso::oidc::{OidcProvider, OidcRequest, OidcStore};

use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{oidc_providers as rows, oidc_requests as requests, saml_subjects as subjects},
};

const DOCUMENT: &str = "oidc_providers.document";

fn parse(document: &JsonText) -> StoreResult<OidcProvider> {
    read_json(DOCUMENT, document)
}

/// Returns whether more changed than the state of refreshes.
fn is_change(was: OidcProvider, now: &OidcProvider) -> bool {
    let refreshed = OidcProvider {
        refresh: now.refresh.clone(),
        keys_read_early_at: now.keys_read_early_at,
        keys_read_for_logout_at: now.keys_read_for_logout_at,
        updated_at: now.updated_at,
        ..was
    };
    refreshed != *now
}

#[async_trait]
impl OidcStore for Tx {
    async fn oidc_providers(&mut self) -> StoreResult<Vec<OidcProvider>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .order(rows::id)
            .select(rows::document);
        let found: Vec<JsonText> = read!(self, c => query.load(c).await)?;
        found.iter().map(parse).collect()
    }

    async fn oidc_provider(&mut self, id: &ProviderId) -> StoreResult<Option<OidcProvider>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str())).select(rows::document);
        let document: Option<JsonText> = lock!(self, for_update, first, query)?;
        document.as_ref().map(parse).transpose()
    }

    async fn current_oidc_provider(&mut self, id: &ProviderId) -> StoreResult<Option<OidcProvider>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str())).select(rows::document);
        let document: Option<JsonText> = read!(self, c => query.first(c).await.optional())?;
        document.as_ref().map(parse).transpose()
    }

    async fn unpin_subjects_of_provider(&mut self, id: &ProviderId) -> StoreResult<()> {
        let of_provider = subjects::table
            .filter(subjects::tenant_id.eq(self.tenant.as_str()))
            .filter(subjects::provider_id.eq(id.as_str()));
        change!(self, c => diesel::delete(of_provider).execute(c).await)?;
        Ok(())
    }

    async fn insert_oidc_provider(&mut self, provider: &OidcProvider) -> StoreResult<()> {
        if provider.id.tenant().as_ref() != Some(&self.tenant) {
            return Err(StoreError::Aborted("the SSO connection belongs to another tenant"));
        }
        let row = (
            rows::tenant_id.eq(self.tenant.as_str()),
            rows::id.eq(provider.id.as_str()),
            rows::document.eq(json_text(DOCUMENT, provider)?),
            rows::due_at.eq(provider.due_at().map(Timestamp::naive)),
            rows::created_at.eq(provider.created_at.naive()),
        );
        let insert = diesel::insert_into(rows::table).values(row);
        change!(self, c => insert.execute(c).await)?;
        self.replace_domains(&provider.id, &[], &provider.email_domains).await
    }

    async fn update_oidc_provider(&mut self, provider: &OidcProvider) -> StoreResult<()> {
        let Some(was) = self.oidc_provider(&provider.id).await? else {
            return Err(StoreError::Aborted("the SSO connection does not exist"));
        };
        let tenant = self.tenant.as_str().to_owned();
        let (row, document) =
            (rows::table.find((&tenant, provider.id.as_str())), json_text(DOCUMENT, provider)?);
        // Another time ends the lease of a worker that is about to refresh the provider.
        if was.due_at() == provider.due_at() {
            let update = Prepared(diesel::update(row).set(rows::document.eq(document)));
            change_unaudited!(self, Unaudited::LookedAfter, c => update.execute(c).await)?;
        } else {
            let due_at = provider.due_at().map(Timestamp::naive);
            let set = (rows::document.eq(document), rows::due_at.eq(due_at));
            let update = Prepared(diesel::update(row).set(set));
            change_unaudited!(self, Unaudited::LookedAfter, c => update.execute(c).await)?;
        }
        self.replace_domains(&provider.id, &was.email_domains, &provider.email_domains).await?;
        // A refresh that finds nothing new is not a change of the connection.
        if is_change(was, provider) {
            self.db.require_entry();
        }
        Ok(())
    }

    async fn delete_oidc_provider(&mut self, id: &ProviderId) -> StoreResult<bool> {
        let tenant = self.tenant.as_str().to_owned();
        let row = rows::table.find((&tenant, id.as_str()));
        if change!(self, c => diesel::delete(row).execute(c).await)? == 0 {
            return Ok(false);
        }
        let of_provider = requests::table
            .filter(requests::tenant_id.eq(&tenant))
            .filter(requests::provider_id.eq(id.as_str()));
        change!(self, c => diesel::delete(of_provider).execute(c).await)?;
        self.delete_parts_of_connection(id).await?;
        Ok(true)
    }

    async fn insert_oidc_request(&mut self, request: &OidcRequest) -> StoreResult<()> {
        self.insert_request_row(request).await
    }

    async fn claim_oidc_request(
        &mut self,
        state: &[u8; 32],
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> StoreResult<ClaimedRequest<OidcRequest>> {
        self.claim_request_row(state, provider, browser, now).await
    }
}
