//! Tests of a connection, and what came of them.

use ::saml_sp::{Trial, TrialId, TrialStore};
use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, Timestamp};
use serde_json::Value;

use crate::{
    Tx,
    db::{change_unaudited, read},
    error::corrupt,
    json::{JsonText, json_text, read_json},
    prepared::Kept,
    schema::saml_trials as rows,
};

const REPORT: &str = "saml_trials.report";

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct TrialRow {
    tenant_id: String,
    id: String,
    provider_id: String,
    user_id: String,
    created_at: NaiveDateTime,
    expires_at: NaiveDateTime,
    report: Option<JsonText>,
}

impl TryFrom<TrialRow> for Trial {
    type Error = StoreError;

    fn try_from(row: TrialRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("saml_trials.id", error))?,
            provider: row.provider_id.parse().map_err(|error| corrupt("saml_trials.provider_id", error))?,
            user: row.user_id.parse().map_err(|error| corrupt("saml_trials.user_id", error))?,
            created_at: Timestamp::from_naive(row.created_at),
            expires_at: Timestamp::from_naive(row.expires_at),
            report: row.report.map(|report| read_json(REPORT, &report)).transpose()?,
        })
    }
}

#[async_trait]
impl TrialStore for Tx {
    async fn insert_trial(&mut self, trial: &Trial) -> Result<(), StoreError> {
        let row = TrialRow {
            tenant_id: self.tenant.to_string(),
            id: trial.id.to_string(),
            provider_id: trial.provider.to_string(),
            user_id: trial.user.to_string(),
            created_at: trial.created_at.naive(),
            expires_at: trial.expires_at.naive(),
            report: trial.report.as_ref().map(|report| json_text(REPORT, report)).transpose()?,
        };
        change_unaudited!(self, Unaudited::StepTaken, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        Ok(())
    }

    async fn trial(&mut self, id: &TrialId) -> Result<Option<Trial>, StoreError> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<TrialRow> =
            read!(self, c => query.select(TrialRow::as_select()).first(c).await.optional())?;
        row.map(Trial::try_from).transpose()
    }

    async fn report_trial(&mut self, id: &TrialId, report: &Value) -> Result<bool, StoreError> {
        let waiting = rows::table.find((self.tenant.as_str(), id.as_str())).filter(rows::report.is_null());
        let report = Some(json_text(REPORT, report)?);
        let update = Kept(diesel::update(waiting).set(rows::report.eq(report)));
        Ok(change_unaudited!(self, Unaudited::StepTaken, c => update.execute(c).await)? == 1)
    }
}
