//! Connection tests and their reports.

use ::saml_sp::{ConnectionTest, ConnectionTestId, ConnectionTestStore, TestReport};
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
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::saml_trials as rows,
};

const REPORT: &str = "saml_trials.report";

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct ConnectionTestRow {
    tenant_id: String,
    id: String,
    provider_id: String,
    user_id: String,
    created_at: NaiveDateTime,
    expires_at: NaiveDateTime,
    report: Option<JsonText>,
}

impl TryFrom<ConnectionTestRow> for ConnectionTest {
    type Error = StoreError;

    fn try_from(row: ConnectionTestRow) -> StoreResult<Self> {
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
impl ConnectionTestStore for Tx {
    async fn insert_connection_test(&mut self, trial: &ConnectionTest) -> StoreResult<()> {
        let row = ConnectionTestRow {
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

    async fn connection_test(&mut self, id: &ConnectionTestId) -> StoreResult<Option<ConnectionTest>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<ConnectionTestRow> =
            read!(self, c => query.select(ConnectionTestRow::as_select()).first(c).await.optional())?;
        row.map(ConnectionTest::try_from).transpose()
    }

    async fn report_connection_test(
        &mut self,
        id: &ConnectionTestId,
        report: &TestReport,
    ) -> StoreResult<bool> {
        let waiting = rows::table.find((self.tenant.as_str(), id.as_str())).filter(rows::report.is_null());
        let report = Some(json_text(REPORT, report)?);
        let update = Prepared(diesel::update(waiting).set(rows::report.eq(report)));
        Ok(change_unaudited!(self, Unaudited::StepTaken, c => update.execute(c).await)? == 1)
    }
}
