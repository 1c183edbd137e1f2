//! Which tokens of transmitters were received.

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};
use signals::{ReceivedStore, ReceivedToken, TransmitterId};

use crate::{
    Tx,
    db::{change, read},
    prepared::{Kept, Prepared},
    schema::received_signals as rows,
};

#[async_trait]
impl ReceivedStore for Tx {
    async fn remember_token(
        &mut self,
        transmitter: &TransmitterId,
        token: &ReceivedToken,
    ) -> StoreResult<bool> {
        let row = (
            rows::tenant_id.eq(self.tenant.as_str()),
            rows::transmitter_id.eq(transmitter.as_str()),
            rows::token_hash.eq(&token.id[..]),
            rows::state_key.eq(token.restored.as_ref().map(|state| &state[..])),
            rows::occurred_at.eq(token.occurred_at.naive()),
            rows::expires_at.eq(token.until.naive()),
        );
        let insert = Prepared(diesel::insert_into(rows::table).values(row).on_conflict_do_nothing());
        Ok(change!(self, c => insert.execute(c).await)? == 1)
    }

    async fn was_restored(
        &mut self,
        transmitter: &TransmitterId,
        state: &[u8; 32],
        at: Timestamp,
    ) -> StoreResult<bool> {
        let newer = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::transmitter_id.eq(transmitter.as_str()))
            .filter(rows::state_key.eq(&state[..]))
            .filter(rows::occurred_at.gt(at.naive()))
            .select(rows::occurred_at)
            .limit(1);
        let found: Option<NaiveDateTime> = read!(self, c => Kept(newer).get_result(c).await.optional())?;
        Ok(found.is_some())
    }
}
