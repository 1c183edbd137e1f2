//! Subscriptions and their routes.

use ::webhooks::{DisabledReason, Subscription, SubscriptionId, SubscriptionStore};
use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use crate::{
    Across, Tx,
    conn::on,
    db::{change, change_unaudited, lock, read},
    error::corrupt,
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{tenants, webhook_queues as queues, webhook_routes as routes, webhook_subscriptions as rows},
    shards::{merge_first, select_of_shard},
};

/// Tenants per query of those whose filters must be expanded again.
const AT_ONCE: i64 = 100;

#[derive(Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = rows, primary_key(tenant_id, id))]
#[diesel(treat_none_as_default_value = false, treat_none_as_null = true)]
struct SubscriptionRow {
    tenant_id: String,
    id: String,
    name: String,
    url: String,
    event_filters: JsonText,
    ordered: bool,
    enabled: bool,
    disabled_reason: Option<String>,
    secrets: JsonText,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    is_deleted: bool,
    routed: i64,
}

impl SubscriptionRow {
    fn new(tenant: &TenantId, subscription: &Subscription, routed: usize) -> StoreResult<Self> {
        Ok(Self {
            tenant_id: tenant.to_string(),
            id: subscription.id.to_string(),
            name: subscription.name.clone(),
            url: subscription.url.clone(),
            event_filters: json_text("webhook_subscriptions.event_filters", &subscription.event_filters)?,
            ordered: subscription.ordered,
            enabled: subscription.enabled,
            disabled_reason: subscription.disabled_reason.map(|reason| reason.as_str().to_owned()),
            secrets: json_text("webhook_subscriptions.secrets", &subscription.secrets)?,
            created_at: subscription.created_at.naive(),
            updated_at: subscription.updated_at.naive(),
            is_deleted: false,
            routed: i64::try_from(routed).unwrap_or(i64::MAX),
        })
    }
}

impl TryFrom<SubscriptionRow> for Subscription {
    type Error = StoreError;

    fn try_from(row: SubscriptionRow) -> StoreResult<Self> {
        let reason = |text: String| {
            DisabledReason::read(&text)
                .ok_or_else(|| corrupt("webhook_subscriptions.disabled_reason", "not a known reason"))
        };
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("webhook_subscriptions.id", error))?,
            name: row.name,
            url: row.url,
            event_filters: read_json("webhook_subscriptions.event_filters", &row.event_filters)?,
            ordered: row.ordered,
            enabled: row.enabled,
            disabled_reason: row.disabled_reason.map(reason).transpose()?,
            secrets: read_json("webhook_subscriptions.secrets", &row.secrets)?,
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        })
    }
}

/// Returns all event types, for expanding filters.
fn types() -> Vec<&'static str> {
    audit::events::catalog().codes().collect()
}

/// Returns whether an enabled subscription wants an event type.
fn wants(subscription: &Subscription) -> impl Fn(&str) -> bool {
    |code| subscription.enabled && subscription.wants(code)
}

impl Tx {
    /// Expands the filters to routes: one row for each wanted type.
    async fn route(&mut self, subscription: &Subscription, types: &[&str]) -> StoreResult<()> {
        let (id, wants) = (&subscription.id, wants(subscription));
        let tenant = self.tenant.as_str().to_owned();
        for code in types {
            if wants(code) {
                let row = (
                    routes::tenant_id.eq(&tenant),
                    routes::event_type.eq(*code),
                    routes::subscription_id.eq(id.as_str()),
                    routes::ordered.eq(subscription.ordered),
                );
                let insert = Prepared(
                    diesel::insert_into(routes::table)
                        .values(row)
                        .on_conflict((routes::tenant_id, routes::event_type, routes::subscription_id))
                        .do_update()
                        .set(routes::ordered.eq(subscription.ordered)),
                );
                change_unaudited!(self, Unaudited::PartOfChange, c => insert.execute(c).await)?;
            } else {
                let delete = diesel::delete(routes::table.find((&tenant, *code, id.as_str())));
                change_unaudited!(self, Unaudited::PartOfChange, c => delete.execute(c).await)?;
            }
        }
        Ok(())
    }

    /// Adds routes for new event types to subscriptions whose filters were expanded by an older version.
    pub async fn route_again(&mut self) -> StoreResult<()> {
        let types = types();
        let behind = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::routed.lt(i64::try_from(types.len()).unwrap_or(i64::MAX)))
            .filter(rows::is_deleted.eq(false))
            .order(rows::id)
            .select(rows::id);
        let ids: Vec<String> = read!(self, c => behind.load(c).await)?;
        for id in ids {
            let id = id.parse().map_err(|error| corrupt("webhook_subscriptions.id", error))?;
            // Reads it again with a lock, because it may be changing.
            if let Some(subscription) = SubscriptionStore::subscription(self, &id).await? {
                self.route(&subscription, &types).await?;
                let row = rows::table.find((self.tenant.as_str(), id.as_str()));
                let routed = i64::try_from(types.len()).unwrap_or(i64::MAX);
                let update = Prepared(diesel::update(row).set(rows::routed.eq(routed)));
                change_unaudited!(self, Unaudited::LookedAfter, c => update.execute(c).await)?;
            }
        }
        Ok(())
    }
}

impl Across {
    /// Returns the next tenants after this one with subscriptions whose filters were expanded by an older version;
    /// none at the end. Searches all tenants: for server start only.
    pub async fn tenants_to_route(&mut self, after: Option<&TenantId>) -> StoreResult<Vec<TenantId>> {
        let after = after.map_or("", TenantId::as_str);
        let known = i64::try_from(types().len()).unwrap_or(i64::MAX);
        let tenants: Vec<(String,)> = if self.is_distributed {
            let next = format!(
                "WHERE tenant_id > '{after}' AND routed < {known} AND NOT is_deleted \
                 GROUP BY tenant_id ORDER BY tenant_id LIMIT {AT_ONCE}"
            );
            self.on_shards("webhook_subscriptions", &select_of_shard("tenant_id", &next)).await?
        } else {
            let query = rows::table
                .filter(rows::tenant_id.gt(after))
                .filter(rows::routed.lt(known))
                .filter(rows::is_deleted.eq(false))
                .order(rows::tenant_id)
                .limit(AT_ONCE)
                .select((rows::tenant_id,))
                .distinct();
            on!(&mut self.conn, c => query.load(c).await)?
        };
        let read =
            |(id,): &(String,)| id.parse().map_err(|error| corrupt("webhook_subscriptions.tenant_id", error));
        merge_first(tenants, AT_ONCE).iter().map(read).collect()
    }
}

#[async_trait]
impl SubscriptionStore for Tx {
    async fn subscriptions(&mut self) -> StoreResult<Vec<Subscription>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::is_deleted.eq(false))
            .order(rows::id);
        let found: Vec<SubscriptionRow> =
            read!(self, c => query.select(SubscriptionRow::as_select()).load(c).await)?;
        found.into_iter().map(Subscription::try_from).collect()
    }

    async fn subscription(&mut self, id: &SubscriptionId) -> StoreResult<Option<Subscription>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str())).filter(rows::is_deleted.eq(false));
        let row: Option<SubscriptionRow> =
            lock!(self, for_update, first, query.select(SubscriptionRow::as_select()))?;
        row.map(Subscription::try_from).transpose()
    }

    async fn count_subscriptions(&mut self) -> StoreResult<usize> {
        if self.db.is_writable() {
            // Locks the tenant, so that concurrent inserts cannot exceed the limit.
            let tenant = tenants::table.find(self.tenant.as_str()).select(tenants::id);
            let _locked: Option<String> = lock!(self, for_update, first, tenant)?;
        }
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::is_deleted.eq(false))
            .count();
        let count: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    async fn insert_subscription(&mut self, subscription: &Subscription) -> StoreResult<()> {
        let types = types();
        let row = SubscriptionRow::new(&self.tenant, subscription, types.len())?;
        change!(self, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        let queue = (
            queues::tenant_id.eq(&row.tenant_id),
            queues::subscription_id.eq(&row.id),
            queues::lease_owner.eq(""),
            queues::lease_until.eq(row.created_at),
        );
        change!(self, c => diesel::insert_into(queues::table).values(queue).execute(c).await)?;
        self.route(subscription, &types).await?;
        Ok(())
    }

    async fn update_subscription(&mut self, subscription: &Subscription) -> StoreResult<()> {
        let types = types();
        let row = SubscriptionRow::new(&self.tenant, subscription, types.len())?;
        let of_subscription = rows::table.find((&row.tenant_id, &row.id));
        let settings = of_subscription.select((rows::enabled, rows::ordered));
        let was: Option<(bool, bool)> = read!(self, c => settings.first(c).await.optional())?;
        let update = Prepared(diesel::update(of_subscription).set(&row));
        change!(self, c => update.execute(c).await)?;
        self.route(subscription, &types).await?;
        if was.is_some_and(|(_, ordered)| ordered && !subscription.ordered) {
            self.lock_queue(&subscription.id).await?;
            self.release_all(&subscription.id, subscription.updated_at).await?;
        }
        if was.is_none_or(|(enabled, _)| enabled != subscription.enabled) {
            self.reset_failures(&subscription.id).await?;
        }
        self.db.wake_subscription(subscription.id.clone(), true);
        Ok(())
    }

    async fn delete_subscription(&mut self, id: &SubscriptionId) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        // Includes routes of event types that this version does not know.
        let of_subscription = routes::table
            .filter(routes::tenant_id.eq(&tenant))
            .filter(routes::subscription_id.eq(id.as_str()));
        change!(self, c => diesel::delete(of_subscription).execute(c).await)?;
        let queue = queues::table.find((&tenant, id.as_str()));
        change!(self, c => diesel::delete(queue).execute(c).await)?;
        // There may be many deliveries, so a worker purges them in batches.
        let row = rows::table.find((&tenant, id.as_str()));
        let gone = (rows::is_deleted.eq(true), rows::enabled.eq(false));
        let update = Prepared(diesel::update(row).set(gone));
        change!(self, c => update.execute(c).await)?;
        self.db.wake_subscription(id.clone(), true);
        Ok(())
    }
}
