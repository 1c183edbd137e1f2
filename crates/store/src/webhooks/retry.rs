//! Sending an event again because somebody asks for it.

use ::webhooks::SubscriptionId;
use audit::Unaudited;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{Ctx, StoreResult};

use super::{deliveries::Delivered, delivery_row::DeliveryRow};
use crate::{Tx, db::change_unaudited, prepared::Prepared, schema::webhook_deliveries as rows};

/// Attempts that are walked past to the newest one.
const HOPS: usize = 50;

impl Tx {
    /// Has an event sent again as soon as can be: the attempt that is to come is brought forward, or there is a new one.
    /// `None` where there is no such attempt. Who asks holds the subscription.
    pub async fn retry_delivery(
        &mut self,
        ctx: &Ctx,
        of: &SubscriptionId,
        id: &str,
    ) -> StoreResult<Option<Delivered>> {
        let Some(mut last) = self.delivery(of, id).await? else { return Ok(None) };
        let mut before = None;
        for _ in 0..HOPS {
            if last.due_at.is_some() && self.bring_forward(ctx, of, &last.id, before.as_deref()).await? {
                (last.is_fresh, last.due_at) = (true, Some(ctx.now.naive()));
                return Ok(Some(self.outcome_of(of, last)));
            }
            // It may have got its outcome just now, and one that follows.
            let current = self.delivery(of, &last.id).await?;
            let Some(next) = current.and_then(|row| row.next_id) else { break };
            let Some(row) = self.delivery(of, &next).await? else { break };
            before = Some(std::mem::replace(&mut last, row).id);
        }
        let event = (last.event_id, last.event_type);
        let row = DeliveryRow::fresh(ctx, of, event, (last.attempt + 1, last.payload));
        change_unaudited!(self, Unaudited::Delivered, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        // Whoever asks by the same attempt once more does not have to walk past all of them.
        for known in [last.id.as_str(), id] {
            let link = rows::table.find((self.tenant.as_str(), of.as_str(), known));
            let link = Prepared(diesel::update(link).set(rows::next_id.eq(Some(row.id.clone()))));
            change_unaudited!(self, Unaudited::Delivered, c => link.execute(c).await)?;
        }
        Ok(Some(self.outcome_of(of, row)))
    }

    /// Whether it still has no outcome, and is to be sent now. The one before it says so too.
    async fn bring_forward(
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
