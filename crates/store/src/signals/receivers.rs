//! Receivers.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::StoreResult;
use signals::{EventStore as _, Receiver, ReceiverId, ReceiverStore, ReceiverWithStream, StreamStore as _};

use super::receiver_row::ReceiverRow;
use crate::{
    Tx,
    db::{change, lock, read},
    prepared::Prepared,
    schema::{signal_receivers as rows, tenants},
};

#[async_trait]
impl ReceiverStore for Tx {
    /// Returns the receivers with their streams.
    async fn receivers(&mut self) -> StoreResult<Vec<ReceiverWithStream>> {
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).order(rows::id);
        let found: Vec<ReceiverRow> = read!(self, c => query.select(ReceiverRow::as_select()).load(c).await)?;
        let mut receivers = Vec::new();
        for row in found {
            let receiver = Receiver::try_from(row)?;
            let mut stream = self.stream_of(&receiver.id).await?;
            if let Some((stream, state)) = &mut stream {
                state.pending = self.count_events(&stream.id).await?;
            }
            receivers.push((receiver, stream));
        }
        Ok(receivers)
    }

    async fn receiver(&mut self, id: &ReceiverId) -> StoreResult<Option<Receiver>> {
        let row = rows::table.find((self.tenant.as_str().to_owned(), id.as_str()));
        let row: Option<ReceiverRow> = lock!(self, for_update, first, row.select(ReceiverRow::as_select()))?;
        row.map(Receiver::try_from).transpose()
    }

    async fn count_receivers(&mut self) -> StoreResult<usize> {
        let tenant = self.tenant.as_str().to_owned();
        // One at a time counts and adds.
        let _locked: Option<String> =
            lock!(self, for_update, first, tenants::table.find(&tenant).select(tenants::id))?;
        let query = rows::table.filter(rows::tenant_id.eq(&tenant)).select(rows::id);
        let ids: Vec<String> = read!(self, c => query.load(c).await)?;
        Ok(ids.len())
    }

    async fn insert_receiver(&mut self, receiver: &Receiver) -> StoreResult<()> {
        let row = ReceiverRow::new(&self.tenant, receiver)?;
        change!(self, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        Ok(())
    }

    async fn update_receiver(&mut self, receiver: &Receiver) -> StoreResult<()> {
        let row = ReceiverRow::new(&self.tenant, receiver)?;
        let at = rows::table.find((self.tenant.as_str(), receiver.id.as_str()));
        change!(self, c => Prepared(diesel::update(at).set(&row)).execute(c).await)?;
        Ok(())
    }

    async fn delete_receiver(&mut self, id: &ReceiverId) -> StoreResult<()> {
        let row = diesel::delete(rows::table.find((self.tenant.as_str(), id.as_str())));
        change!(self, c => row.execute(c).await)?;
        Ok(())
    }
}
