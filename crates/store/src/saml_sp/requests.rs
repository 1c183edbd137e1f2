//! Authentication requests, each answered at most once, and used assertions.

use ::saml_sp::{ClaimedRequest, ProviderId, Request, RequestId, RequestStore};
use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp};

use crate::{
    Tx,
    db::{change_unaudited, read},
    error::corrupt,
    prepared::Prepared,
    schema::{saml_assertions as assertions, saml_requests as rows},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct RequestRow {
    tenant_id: String,
    id: String,
    provider_id: String,
    browser: Vec<u8>,
    relay_key: Vec<u8>,
    return_to: String,
    force_authn: bool,
    trial_id: Option<String>,
    created_at: NaiveDateTime,
    expires_at: NaiveDateTime,
    is_claimed: bool,
}

fn hash(column: &str, bytes: &[u8]) -> StoreResult<[u8; 32]> {
    bytes.try_into().map_err(|_| corrupt(column, "not 32 bytes"))
}

impl TryFrom<RequestRow> for Request {
    type Error = StoreError;

    fn try_from(row: RequestRow) -> StoreResult<Self> {
        let trial = row.trial_id.map(|id| id.parse());
        Ok(Self {
            id: row.id.parse().map_err(|()| corrupt("saml_requests.id", "not a request ID"))?,
            provider: row.provider_id.parse().map_err(|error| corrupt("saml_requests.provider_id", error))?,
            browser: hash("saml_requests.browser", &row.browser)?,
            relay_key: hash("saml_requests.relay_key", &row.relay_key)?,
            return_to: row.return_to,
            force_authn: row.force_authn,
            trial: trial.transpose().map_err(|error| corrupt("saml_requests.trial_id", error))?,
            created_at: Timestamp::from_naive(row.created_at),
            expires_at: Timestamp::from_naive(row.expires_at),
        })
    }
}

impl Tx {
    async fn request_row(&mut self, id: &RequestId) -> StoreResult<Option<RequestRow>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str()));
        read!(self, c => query.select(RequestRow::as_select()).first(c).await.optional())
    }
}

#[async_trait]
impl RequestStore for Tx {
    async fn insert_request(&mut self, request: &Request) -> StoreResult<()> {
        let row = RequestRow {
            tenant_id: self.tenant.to_string(),
            id: request.id.to_string(),
            provider_id: request.provider.to_string(),
            browser: request.browser.to_vec(),
            relay_key: request.relay_key.to_vec(),
            return_to: request.return_to.clone(),
            force_authn: request.force_authn,
            trial_id: request.trial.as_ref().map(ToString::to_string),
            created_at: request.created_at.naive(),
            expires_at: request.expires_at.naive(),
            is_claimed: false,
        };
        change_unaudited!(self, Unaudited::StepTaken, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        Ok(())
    }

    async fn request(&mut self, id: &RequestId) -> StoreResult<Option<Request>> {
        self.request_row(id).await?.filter(|row| !row.is_claimed).map(Request::try_from).transpose()
    }

    async fn claim_request(
        &mut self,
        id: &RequestId,
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> StoreResult<ClaimedRequest> {
        if let Some(browser) = browser {
            let open = rows::table
                .find((self.tenant.as_str(), id.as_str()))
                .filter(rows::provider_id.eq(provider.as_str()))
                .filter(rows::browser.eq(&browser[..]))
                .filter(rows::expires_at.gt(now.naive()))
                .filter(rows::is_claimed.eq(false));
            let claim = diesel::update(open).set(rows::is_claimed.eq(true));
            let row: Option<RequestRow> = change_unaudited!(self, Unaudited::StepTaken, c => Prepared(claim
                .returning(RequestRow::as_returning()))
                .get_result(c).await.optional())?;
            if let Some(row) = row {
                return Ok(ClaimedRequest::Now(row.try_into()?));
            }
        }
        // The claim failed; find out why.
        let row = self.request_row(id).await?.filter(|row| row.provider_id == provider.as_str());
        Ok(match row {
            Some(row) if row.is_claimed => ClaimedRequest::Before,
            Some(row) if row.expires_at > now.naive() => ClaimedRequest::OtherBrowser,
            _ => ClaimedRequest::Unknown,
        })
    }

    async fn remember_assertion(
        &mut self,
        provider: &ProviderId,
        assertion: &[u8; 32],
        until: Timestamp,
    ) -> StoreResult<bool> {
        let row = (
            assertions::tenant_id.eq(self.tenant.as_str()),
            assertions::provider_id.eq(provider.as_str()),
            assertions::assertion.eq(&assertion[..]),
            assertions::expires_at.eq(until.naive()),
        );
        let insert = Prepared(diesel::insert_into(assertions::table).values(row).on_conflict_do_nothing());
        Ok(change_unaudited!(self, Unaudited::StepTaken, c => insert.execute(c).await)? == 1)
    }
}
