//! Keys that sessions are bound to.

use async_trait::async_trait;
use audit::Unaudited;
use diesel::{
    dsl::sql,
    prelude::*,
    sql_types::{Binary, Bool},
};
use diesel_async::RunQueryDsl;
use kernel::StoreResult;
use sessions::{DeviceSessionStore, Session, SessionId, device_bound::DeviceBinding};

use super::row::SessionRow;
use crate::{
    Tx,
    db::{change_unaudited, lock},
    json::json_text,
    prepared::Prepared,
    schema::{provider_sessions as keys, sessions as rows},
};

#[async_trait]
impl DeviceSessionStore for Tx {
    async fn session_of_key(&mut self, thumbprint: &[u8; 32]) -> StoreResult<Option<Session>> {
        // The column is not part of this table in the schema, which has the maximum number of columns.
        let has_key = sql::<Bool>("device_thumbprint = ").bind::<Binary, _>(&thumbprint[..]);
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).filter(has_key);
        let row: Option<SessionRow> = lock!(self, for_update, first, query.select(SessionRow::as_select()))?;
        row.map(Session::try_from).transpose()
    }

    async fn set_device(&mut self, id: &SessionId, binding: &DeviceBinding) -> StoreResult<()> {
        let row = keys::table.find((self.tenant.as_str(), id.as_str()));
        let device = (
            keys::device.eq(json_text("sessions.device", binding)?),
            keys::device_thumbprint.eq(binding.key.thumbprint().to_vec()),
        );
        let query = Prepared(diesel::update(row).set(device));
        change_unaudited!(self, Unaudited::StepTaken, c => query.execute(c).await)?;
        Ok(())
    }
}
