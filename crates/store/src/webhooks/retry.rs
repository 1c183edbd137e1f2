//! Sends an event again on request.

use ::webhooks::{Delivered, SubscriptionId};
use audit::Unaudited;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{Ctx, StoreResult};

use super::{
    delivery_row::{DeliveryRow, PendingRow},
    order::WAITING,
};
use crate::{
    Tx,
    db::change_unaudited,
    prepared::Prepared,
    schema::{pending_deliveries, webhook_deliveries as rows},
};

/// Maximum number of attempts followed to find the newest one.
const MAX_FOLLOWED: usize = 50;

impl Tx {
    /// Sends an event again as soon as possible: a pending attempt is moved forward, or a new one is created. Returns
    /// `None` if the attempt does not exist. The caller must have locked the subscription.
    pub async fn retry_delivery(
        &mut self,
        ctx: &Ctx,
        of: &SubscriptionId,
        id: &str,
    ) -> StoreResult<Option<Delivered>> {
        let Some(mut last) = self.delivery(of, id).await? else { return Ok(None) };
        let mut before = None;
        for _ in 0..MAX_FOLLOWED {
            if last.due_at == Some(WAITING) {
                return Ok(Some(last.into()));
            }
            if last.due_at.is_some() && self.make_due_now(ctx, of, &last.id, before.as_deref()).await? {
                (last.is_fresh, last.due_at) = (true, Some(ctx.now.naive()));
                return Ok(Some(self.outcome_of(of, last)));
            }
            // It may have received its outcome and a successor in the meantime.
            let current = self.delivery(of, &last.id).await?;
            let Some(next) = current.and_then(|row| row.next_id) else { break };
            let Some(row) = self.delivery(of, &next).await? else { break };
            before = Some(std::mem::replace(&mut last, row).id);
        }
        let event = (last.event_id, last.event_type);
        let row = PendingRow::fresh(ctx, of, event, (last.attempt + 1, last.payload));
        change_unaudited!(self, Unaudited::Delivered, c => diesel::insert_into(pending_deliveries::table).values(&row).execute(c).await)?;
        // Links both ends to the new attempt, so that a repeated request does not follow all attempts again.
        for known in [last.id.as_str(), id] {
            let link = rows::table.find((self.tenant.as_str(), of.as_str(), known));
            let link = Prepared(diesel::update(link).set(rows::next_id.eq(Some(row.id.clone()))));
            change_unaudited!(self, Unaudited::Delivered, c => link.execute(c).await)?;
        }
        Ok(Some(self.outcome_of(of, row.into())))
    }

    /// Makes a pending attempt due now, also in its predecessor's row. Returns `false` if it has an outcome already.
    async fn make_due_now(
        &mut self,
        ctx: &Ctx,
        of: &SubscriptionId,
        id: &str,
        before: Option<&str>,
    ) -> StoreResult<bool> {
        let tenant = self.tenant.as_str().to_owned();
        let now = Some(ctx.now.naive());
        let pending = rows::table.find((&tenant, of.as_str(), id)).filter(rows::due_at.is_not_null());
        let update = Prepared(diesel::update(pending).set((rows::is_fresh.eq(true), rows::due_at.eq(now))));
        if change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)? != 1 {
            return Ok(false);
        }
        if let Some(before) = before {
            let row = rows::table.find((&tenant, of.as_str(), before));
            let update = Prepared(diesel::update(row).set(rows::next_at.eq(now)));
            change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        }
        self.set_next_retry(of).await?;
        Ok(true)
    }

    fn outcome_of(&mut self, of: &SubscriptionId, row: DeliveryRow) -> Delivered {
        self.db.wake_subscription(of.clone(), false);
        row.into()
    }
}
