//! Creates the deliveries of an audit entry, in the transaction of the change.

use ::webhooks::{Key, SubscriptionId, Wakeups};
use audit::Entry;
use chrono::NaiveDateTime;
use diesel::{
    QueryResult, QueryableByName,
    sql_types::{Text, Timestamp as SqlTimestamp},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use kernel::{StoreResult, TenantId};

use super::delivery_row::event_of;
use crate::{error::corrupt, prepared::Prepared, sqlite_conn::SqliteConn};

/// Queues an entry for sealing and creates its deliveries. On PostgreSQL this is one statement; without subscribers
/// it costs one extra index lookup.
const POSTGRES: &str = "WITH waiting AS (INSERT INTO audit_unsealed (tenant_id, entry_id) VALUES ($1, $2)) \
    INSERT INTO webhook_deliveries \
    (tenant_id, subscription_id, id, event_id, event_type, attempt, is_fresh, due_at) \
    SELECT $1, subscription_id, $3, $4, $5, 1, TRUE, $6 FROM webhook_routes \
    WHERE tenant_id = $1 AND event_type = $5 AND subscription_id <> $7 RETURNING subscription_id";

const UNSEALED: &str = "INSERT INTO audit_unsealed (tenant_id, entry_id) VALUES (?1, ?2)";

const SQLITE: &str = "INSERT INTO webhook_deliveries \
    (tenant_id, subscription_id, id, event_id, event_type, attempt, is_fresh, due_at) \
    SELECT ?1, subscription_id, ?2, ?3, ?4, 1, TRUE, ?5 FROM webhook_routes \
    WHERE tenant_id = ?1 AND event_type = ?4 AND subscription_id <> ?6 RETURNING subscription_id";

/// An audit entry to seal and deliver.
pub(crate) struct FanOut {
    tenant: String,
    entry: String,
    code: &'static str,
    at: NaiveDateTime,
    /// The entry's resource. A subscription does not receive events about itself.
    about: String,
}

impl From<&Entry> for FanOut {
    fn from(entry: &Entry) -> Self {
        Self {
            tenant: entry.tenant.to_string(),
            entry: entry.id.to_string(),
            code: entry.event.code,
            at: entry.timestamp.naive(),
            about: entry.event.resource_id.clone(),
        }
    }
}

/// A subscription that received a delivery.
#[derive(QueryableByName)]
pub(crate) struct DeliveredRow {
    #[diesel(sql_type = Text)]
    subscription_id: String,
}

impl FanOut {
    /// Returns the ids of the event and of its first delivery, derived from the entry's id.
    fn ids(&self) -> (String, String) {
        let event = event_of(&self.entry);
        let delivery = event.replacen("evt", "dlv", 1);
        (event, delivery)
    }

    pub(crate) async fn on_postgres(&self, mut conn: &AsyncPgConnection) -> QueryResult<Vec<DeliveredRow>> {
        let (event, delivery) = self.ids();
        let query = diesel::sql_query(POSTGRES)
            .bind::<Text, _>(&self.tenant)
            .bind::<Text, _>(&self.entry)
            .bind::<Text, _>(delivery)
            .bind::<Text, _>(event)
            .bind::<Text, _>(self.code)
            .bind::<SqlTimestamp, _>(self.at)
            .bind::<Text, _>(&self.about);
        Prepared(query).load(&mut conn).await
    }

    pub(crate) async fn on_sqlite(&self, conn: &mut SqliteConn) -> QueryResult<Vec<DeliveredRow>> {
        let (event, delivery) = self.ids();
        let unsealed = diesel::sql_query(UNSEALED).bind::<Text, _>(&self.tenant).bind::<Text, _>(&self.entry);
        Prepared(unsealed).execute(conn).await?;
        let query = diesel::sql_query(SQLITE)
            .bind::<Text, _>(&self.tenant)
            .bind::<Text, _>(delivery)
            .bind::<Text, _>(event)
            .bind::<Text, _>(self.code)
            .bind::<SqlTimestamp, _>(self.at)
            .bind::<Text, _>(&self.about);
        Prepared(query).load(conn).await
    }
}

/// Subscriptions to notify after the commit, and whether they have changed.
#[derive(Default)]
pub(crate) struct WokenSubscriptions(Vec<(SubscriptionId, bool)>);

impl WokenSubscriptions {
    pub(crate) fn add(&mut self, id: SubscriptionId, has_changed: bool) {
        self.0.push((id, has_changed));
    }

    pub(crate) fn record_delivered(&mut self, rows: &[DeliveredRow]) -> StoreResult<()> {
        for DeliveredRow { subscription_id } in rows {
            let id = subscription_id.parse();
            self.add(id.map_err(|error| corrupt("webhook_routes.subscription_id", error))?, false);
        }
        Ok(())
    }

    pub(crate) fn notify(self, wakeups: &Wakeups, tenant: &TenantId) {
        for (subscription, has_changed) in self.0 {
            wakeups.notify(Key { tenant: tenant.clone(), subscription }, has_changed);
        }
    }
}
