//! Sign-in requests, each answered at most once.

use ::saml_sp::{ClaimedRequest, ProviderId};
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp};
use sign_in::sso::oidc::OidcRequest;

use crate::{
    Tx,
    db::{change_unaudited, read},
    error::corrupt,
    prepared::Prepared,
    schema::oidc_requests as rows,
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct RequestRow {
    tenant_id: String,
    state: Vec<u8>,
    provider_id: String,
    browser: Vec<u8>,
    return_to: String,
    trial_id: Option<String>,
    created_at: NaiveDateTime,
    expires_at: NaiveDateTime,
    is_claimed: bool,
}

fn hash(column: &str, bytes: &[u8]) -> StoreResult<[u8; 32]> {
    bytes.try_into().map_err(|_| corrupt(column, "not 32 bytes"))
}

impl TryFrom<RequestRow> for OidcRequest {
    type Error = StoreError;

    fn try_from(row: RequestRow) -> StoreResult<Self> {
        let trial = row.trial_id.map(|id| id.parse());
        Ok(Self {
            state: hash("oidc_requests.state", &row.state)?,
            provider: row.provider_id.parse().map_err(|error| corrupt("oidc_requests.provider_id", error))?,
            browser: hash("oidc_requests.browser", &row.browser)?,
            return_to: row.return_to,
            trial: trial.transpose().map_err(|error| corrupt("oidc_requests.trial_id", error))?,
            created_at: Timestamp::from_naive(row.created_at),
            expires_at: Timestamp::from_naive(row.expires_at),
        })
    }
}

impl Tx {
    pub(super) async fn insert_request_row(&mut self, request: &OidcRequest) -> StoreResult<()> {
        let row = RequestRow {
            tenant_id: self.tenant.to_string(),
            state: request.state.to_vec(),
            provider_id: request.provider.to_string(),
            browser: request.browser.to_vec(),
            return_to: request.return_to.clone(),
            trial_id: request.trial.as_ref().map(ToString::to_string),
            created_at: request.created_at.naive(),
            expires_at: request.expires_at.naive(),
            is_claimed: false,
        };
        change_unaudited!(self, Unaudited::StepTaken, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        Ok(())
    }

    pub(super) async fn claim_request_row(
        &mut self,
        state: &[u8; 32],
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> StoreResult<ClaimedRequest<OidcRequest>> {
        if let Some(browser) = browser {
            let open = rows::table
                .find((self.tenant.as_str(), &state[..]))
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
        let query = rows::table.find((self.tenant.as_str(), &state[..]));
        let row: Option<RequestRow> =
            read!(self, c => query.select(RequestRow::as_select()).first(c).await.optional())?;
        Ok(match row.filter(|row| row.provider_id == provider.as_str()) {
            Some(row) if row.is_claimed => ClaimedRequest::Before,
            Some(row) if row.expires_at > now.naive() => ClaimedRequest::OtherBrowser,
            _ => ClaimedRequest::Unknown,
        })
    }
}
