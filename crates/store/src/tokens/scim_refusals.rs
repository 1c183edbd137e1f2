//! Refused SCIM requests.

use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::{dsl, prelude::*, upsert::excluded};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp};
use tokens::ScimRefusal;

use crate::{
    Tx,
    db::{change_unaudited, read},
    error::corrupt,
    prepared::Prepared,
    schema::scim_refusals as rows,
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct ScimRefusalRow {
    tenant_id: String,
    id: Vec<u8>,
    token_id: String,
    method: String,
    target: String,
    subject: Option<String>,
    status: i64,
    scim_type: Option<String>,
    detail: String,
    times: i64,
    last_at: NaiveDateTime,
}

impl TryFrom<ScimRefusalRow> for ScimRefusal {
    type Error = StoreError;

    fn try_from(row: ScimRefusalRow) -> StoreResult<Self> {
        Ok(Self {
            token: row.token_id.parse().map_err(|error| corrupt("scim_refusals.token_id", error))?,
            method: row.method,
            target: row.target,
            subject: row.subject,
            status: row.status.try_into().map_err(|error| corrupt("scim_refusals.status", error))?,
            scim_type: row.scim_type,
            detail: row.detail,
            times: row.times.try_into().map_err(|error| corrupt("scim_refusals.times", error))?,
            last_at: Timestamp::from_naive(row.last_at),
        })
    }
}

impl Tx {
    /// Stores refused SCIM requests of the tenant, and adds to the counts of those already stored. Keeps the newest
    /// [`ScimRefusal::KEPT`].
    pub async fn record_scim_refusals(&mut self, refusals: &[ScimRefusal]) -> StoreResult<()> {
        for refusal in refusals {
            let row = ScimRefusalRow {
                tenant_id: self.tenant.to_string(),
                id: refusal.id().to_vec(),
                token_id: refusal.token.to_string(),
                method: refusal.method.clone(),
                target: refusal.target.clone(),
                subject: refusal.subject.clone(),
                status: refusal.status.into(),
                scim_type: refusal.scim_type.clone(),
                detail: refusal.detail.clone(),
                times: refusal.times.try_into().unwrap_or(i64::MAX),
                last_at: refusal.last_at.naive(),
            };
            let upsert = diesel::insert_into(rows::table).values(&row);
            let upsert = upsert.on_conflict((rows::tenant_id, rows::id)).do_update();
            // Another instance may have stored a later time.
            let latest = dsl::case_when(excluded(rows::last_at).gt(rows::last_at), excluded(rows::last_at))
                .otherwise(rows::last_at);
            let newer = (rows::times.eq(rows::times + excluded(rows::times)), rows::last_at.eq(latest));
            let query = Prepared(upsert.set(newer));
            change_unaudited!(self, Unaudited::LastUse, c => query.execute(c).await)?;
        }
        let tenant = self.tenant.to_string();
        let newest = rows::table.filter(rows::tenant_id.eq(&tenant)).order(rows::last_at.desc());
        let kept = i64::try_from(ScimRefusal::KEPT).unwrap_or(i64::MAX);
        let oldest = newest.select(rows::last_at).offset(kept - 1).limit(1);
        let oldest: Option<NaiveDateTime> = read!(self, c => oldest.first(c).await.optional())?;
        if let Some(oldest) = oldest {
            let older = rows::table.filter(rows::tenant_id.eq(&tenant)).filter(rows::last_at.lt(oldest));
            change_unaudited!(self, Unaudited::LookedAfter, c => dsl::delete(older).execute(c).await)?;
        }
        Ok(())
    }

    /// Returns the tenant's newest refused SCIM requests, at most `count`, newest first.
    pub async fn scim_refusals(&mut self, count: usize) -> StoreResult<Vec<ScimRefusal>> {
        let newest = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).order(rows::last_at.desc());
        let newest = newest.limit(count.try_into().unwrap_or(i64::MAX));
        let found: Vec<ScimRefusalRow> =
            read!(self, c => newest.select(ScimRefusalRow::as_select()).load(c).await)?;
        found.into_iter().map(ScimRefusal::try_from).collect()
    }
}
