//! Transmitters.

use async_trait::async_trait;
use audit::Unaudited;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::StoreResult;
use signals::{KeysRead, TransmitterId, TransmitterStore, TrustedTransmitter};

use super::transmitter_row::TransmitterRow;
use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    json::json_text,
    prepared::Prepared,
    schema::{received_signals as received, signal_transmitters as rows, tenants},
};

#[async_trait]
impl TransmitterStore for Tx {
    async fn transmitters(&mut self) -> StoreResult<Vec<TrustedTransmitter>> {
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).order(rows::id);
        let found: Vec<TransmitterRow> =
            read!(self, c => query.select(TransmitterRow::as_select()).load(c).await)?;
        found.into_iter().map(TrustedTransmitter::try_from).collect()
    }

    async fn transmitter(&mut self, id: &TransmitterId) -> StoreResult<Option<TrustedTransmitter>> {
        let row = rows::table.find((self.tenant.as_str().to_owned(), id.as_str()));
        let row: Option<TransmitterRow> =
            lock!(self, for_update, first, row.select(TransmitterRow::as_select()))?;
        row.map(TrustedTransmitter::try_from).transpose()
    }

    async fn count_transmitters(&mut self) -> StoreResult<usize> {
        let tenant = self.tenant.as_str().to_owned();
        // One at a time counts and adds.
        let _locked: Option<String> =
            lock!(self, for_update, first, tenants::table.find(&tenant).select(tenants::id))?;
        let query = rows::table.filter(rows::tenant_id.eq(&tenant)).select(rows::id);
        let ids: Vec<String> = read!(self, c => query.load(c).await)?;
        Ok(ids.len())
    }

    async fn insert_transmitter(&mut self, transmitter: &TrustedTransmitter) -> StoreResult<()> {
        let row = TransmitterRow::new(&self.tenant, transmitter)?;
        change!(self, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        Ok(())
    }

    async fn update_transmitter(&mut self, transmitter: &TrustedTransmitter) -> StoreResult<()> {
        let row = TransmitterRow::new(&self.tenant, transmitter)?;
        let at = rows::table.find((self.tenant.as_str(), transmitter.id.as_str()));
        change!(self, c => Prepared(diesel::update(at).set(&row)).execute(c).await)?;
        Ok(())
    }

    async fn note_keys_read(&mut self, id: &TransmitterId, keys: &KeysRead) -> StoreResult<()> {
        let row = rows::table.find((self.tenant.as_str(), id.as_str()));
        let keys = json_text("signal_transmitters.keys", keys)?;
        let update = Prepared(diesel::update(row).set(rows::keys.eq(keys)));
        change_unaudited!(self, Unaudited::LookedAfter, c => update.execute(c).await)?;
        Ok(())
    }

    async fn delete_transmitter(&mut self, id: &TransmitterId) -> StoreResult<()> {
        let tokens = received::table
            .filter(received::tenant_id.eq(self.tenant.as_str()))
            .filter(received::transmitter_id.eq(id.as_str()));
        change!(self, c => Prepared(diesel::delete(tokens)).execute(c).await)?;
        let row = diesel::delete(rows::table.find((self.tenant.as_str(), id.as_str())));
        change!(self, c => row.execute(c).await)?;
        Ok(())
    }
}
