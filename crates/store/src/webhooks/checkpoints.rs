//! Publishes audit log checkpoints to webhooks whose receivers keep them.

use ::webhooks::{EventId, Payload, PayloadActor, PayloadResource};
use audit::{EventData, Unaudited, events::audit_log::AuditCheckpointPublished, log::Checkpoint};
use chrono::NaiveDateTime;
use data_encoding::BASE64;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{Ctx, StoreResult, TenantId, Timestamp};
use serde_json::value::RawValue;

use super::delivery_row::PendingRow;
use crate::{
    Across, Tx,
    audit::log::number,
    conn::on,
    db::{change_unaudited, lock, read},
    error::corrupt,
    prepared::Prepared,
    schema::{audit_logs, pending_deliveries as rows, webhook_routes as routes},
    shards::{merge_first, select_of_shard},
};

const CODE: &str = AuditCheckpointPublished::CODE;

impl Across {
    /// Returns up to `limit` tenants after `after`, by ID, that subscribe to checkpoints and whose log has grown since its
    /// last publication at or before `due_since`. Empty at the end.
    pub async fn tenants_to_publish(
        &mut self,
        after: Option<&TenantId>,
        due_since: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<TenantId>> {
        let (after, due_since) = (after.map_or("", TenantId::as_str), due_since.naive());
        let found: Vec<(String,)> = if self.is_distributed {
            let due = format!(
                "JOIN %2$s AS logs USING (tenant_id) WHERE event_type = '{CODE}' AND tenant_id > '{after}' \
                 AND size > published_size AND (published_at IS NULL OR published_at <= '{due_since}') \
                 GROUP BY tenant_id ORDER BY tenant_id LIMIT {limit}"
            );
            self.on_shards_of_both(("webhook_routes", "audit_logs"), &select_of_shard("tenant_id", &due))
                .await?
        } else {
            let is_due = audit_logs::published_at.is_null().or(audit_logs::published_at.le(due_since));
            let query = routes::table
                .inner_join(audit_logs::table.on(audit_logs::tenant_id.eq(routes::tenant_id)))
                .filter(routes::event_type.eq(CODE))
                .filter(routes::tenant_id.gt(after))
                .filter(audit_logs::size.gt(audit_logs::published_size))
                .filter(is_due)
                .order(routes::tenant_id)
                .select((routes::tenant_id,))
                .distinct()
                .limit(limit);
            on!(&mut self.conn, c => query.load(c).await)?
        };
        let id = |(id,): &(String,)| id.parse().map_err(|error| corrupt("webhook_routes.tenant_id", error));
        merge_first(found, limit).iter().map(id).collect()
    }
}

impl Tx {
    /// Publishes the newest checkpoint to subscribers, unless another instance has done so.
    pub async fn publish_checkpoint(&mut self, ctx: &Ctx, due_since: Timestamp) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        let log =
            audit_logs::table.find(&tenant).select((audit_logs::published_size, audit_logs::published_at));
        let published: Option<(i64, Option<NaiveDateTime>)> = lock!(self, for_update, first, log)?;
        let (Some((published_size, at)), Some((note, _))) = (published, self.newest_checkpoint().await?)
        else {
            return Ok(());
        };
        let checkpoint = Checkpoint::read(&note).map_err(|error| corrupt("audit_checkpoints.note", error))?;
        if number(checkpoint.size) <= published_size || at.is_some_and(|at| at > due_since.naive()) {
            return Ok(());
        }
        let data =
            AuditCheckpointPublished { size: checkpoint.size, root: BASE64.encode(&checkpoint.root), note };
        let data = serde_json::to_string(&data).and_then(RawValue::from_string);
        let data = data.map_err(|error| corrupt("audit_checkpoints.note", error))?;
        let event_id = EventId::new(&*ctx.env).to_string();
        let payload = Payload {
            id: &event_id,
            kind: CODE,
            created_at: ctx.now,
            tenant_id: &tenant,
            actor: Some(PayloadActor { id: "sealer", kind: "SYSTEM" }),
            resource: PayloadResource { kind: AuditCheckpointPublished::RESOURCE_TYPE, id: &tenant },
            data: &data,
        };
        let payload = String::from_utf8_lossy(&payload.render()).into_owned();
        let query = routes::table
            .filter(routes::tenant_id.eq(&tenant))
            .filter(routes::event_type.eq(CODE))
            .order(routes::subscription_id)
            .select(routes::subscription_id);
        let subscriptions: Vec<String> = read!(self, c => query.load(c).await)?;
        for id in subscriptions {
            let id = id.parse().map_err(|error| corrupt("webhook_routes.subscription_id", error))?;
            let event = (event_id.clone(), CODE.to_owned());
            let row = PendingRow::fresh(ctx, &id, event, (1, Some(payload.clone())));
            change_unaudited!(self, Unaudited::Delivered, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
            self.db.wake_subscription(id, false);
        }
        let published = (
            audit_logs::published_size.eq(number(checkpoint.size)),
            audit_logs::published_at.eq(Some(ctx.now.naive())),
        );
        let update = Prepared(diesel::update(audit_logs::table.find(&tenant)).set(published));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(())
    }
}
