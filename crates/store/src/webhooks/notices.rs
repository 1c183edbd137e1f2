//! Webhooks that fail, whose administrators have to be notified.

use ::webhooks::{Key, Subscription, SubscriptionId, SubscriptionStore as _, is_notice_due};
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::{prelude::*, sql_types::Bool};
use diesel_async::RunQueryDsl;
use directory::{Permission, Person, TenantStore as _};
use kernel::{Ctx, StoreResult, Timestamp};

use super::key;
use crate::{
    Across, Tx,
    conn::on,
    db::{change_unaudited, lock},
    prepared::Prepared,
    schema::webhook_queues as queues,
    shards::{merge_first, select_of_shard},
};

/// Maximum number of administrators who get a message.
const RECIPIENTS: u32 = 50;

/// A webhook, and who is notified of it.
#[derive(Debug, Clone)]
pub struct WebhookNotice {
    /// The webhook.
    pub webhook: Subscription,
    /// The name of its tenant.
    pub tenant: String,
    /// Administrators who may change webhooks.
    pub recipients: Vec<Person>,
}

/// Start of the failures of a webhook, and when administrators were notified last.
type Failures = (Option<NaiveDateTime>, Option<NaiveDateTime>);

fn is_due((since, notified): Failures, now: Timestamp) -> bool {
    since.is_some_and(|since| {
        is_notice_due(Timestamp::from_naive(since), notified.map(Timestamp::from_naive), now)
    })
}

impl Across {
    /// Returns the failing subscriptions after `after`, by tenant and ID, at most `limit`, and whether their
    /// administrators have to be notified. Empty at the end.
    pub async fn failing_webhooks(
        &mut self,
        after: Option<&Key>,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<(Key, bool)>> {
        type Row = (String, String, Option<NaiveDateTime>, Option<NaiveDateTime>);
        let (tenant, subscription) =
            after.map_or(("", ""), |key| (key.tenant.as_str(), key.subscription.as_str()));
        let found: Vec<Row> = if self.is_distributed {
            let columns = "tenant_id, subscription_id, failing_since, notified_at";
            let clauses = format!(
                "WHERE failing_since IS NOT NULL AND (tenant_id, subscription_id) > ('{tenant}', '{subscription}') \
                 ORDER BY tenant_id, subscription_id LIMIT {limit}"
            );
            let rows = self.on_shards("webhook_queues", &select_of_shard(columns, &clauses)).await?;
            merge_first(rows, limit)
        } else {
            let later = diesel::dsl::sql::<Bool>("(tenant_id, subscription_id) > (")
                .bind::<diesel::sql_types::Text, _>(tenant)
                .sql(", ")
                .bind::<diesel::sql_types::Text, _>(subscription)
                .sql(")");
            let query = queues::table
                .filter(queues::failing_since.is_not_null())
                .filter(later)
                .order((queues::tenant_id, queues::subscription_id))
                .limit(limit)
                .select((
                    queues::tenant_id,
                    queues::subscription_id,
                    queues::failing_since,
                    queues::notified_at,
                ));
            on!(&mut self.conn, c => query.load(c).await)?
        };
        let one = |(tenant, subscription, since, notified): &Row| {
            Ok((key("webhook_queues", (tenant, subscription))?, is_due((*since, *notified), now)))
        };
        found.iter().map(one).collect()
    }
}

impl Tx {
    /// Returns the start of a subscription's failures if administrators have to be notified now, and remembers that they are
    /// notified. `None` if another instance has notified them, or a delivery has succeeded.
    pub(super) async fn note_failures(
        &mut self,
        ctx: &Ctx,
        id: &SubscriptionId,
    ) -> StoreResult<Option<Timestamp>> {
        let tenant = self.tenant.as_str().to_owned();
        let queue = queues::table.find((&tenant, id.as_str()));
        let failures = queue.select((queues::failing_since, queues::notified_at));
        let failures: Option<Failures> = lock!(self, for_update, first, failures)?;
        let Some(failures) = failures.filter(|failures| is_due(*failures, ctx.now)) else { return Ok(None) };
        let update = Prepared(diesel::update(queue).set(queues::notified_at.eq(Some(ctx.now.naive()))));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(failures.0.map(Timestamp::from_naive))
    }

    /// Returns a webhook and who is notified of it; `None` if it was removed.
    pub async fn webhook_notice(&mut self, id: &SubscriptionId) -> StoreResult<Option<WebhookNotice>> {
        let Some(webhook) = self.subscription(id).await? else { return Ok(None) };
        let tenant = self.own_tenant().await?.map(|tenant| tenant.name).unwrap_or_default();
        let recipients = self.users_with_permission(Permission::ManageWebhooks, RECIPIENTS).await?;
        Ok(Some(WebhookNotice { webhook, tenant, recipients }))
    }
}
