//! Creates the deliveries of an audit entry, in the transaction of the change.

use ::webhooks::{Key, SubscriptionId, Wakeups};
use audit::Entry;
use chrono::NaiveDateTime;
use diesel::{
    QueryResult,
    prelude::*,
    sql_types::{BigInt, Bool, Nullable, Text, Timestamp},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::join;
use kernel::{StoreResult, TenantId};

use super::delivery_row::event_of;
use crate::{
    error::corrupt,
    prepared::Kept,
    schema::{audit_unsealed, pending_deliveries as rows, webhook_routes as routes},
    sqlite_conn::SqliteConn,
};

/// Queues an entry for sealing.
macro_rules! insert_unsealed {
    ($of:expr) => {
        Kept(
            diesel::insert_into(audit_unsealed::table)
                .values((audit_unsealed::tenant_id.eq(&$of.tenant), audit_unsealed::entry_id.eq(&$of.entry))),
        )
    };
}

/// Creates the deliveries of an entry and returns their subscriptions. The tenant is read from the routes, so that a
/// distributed database runs the whole statement on the node of the tenant.
macro_rules! insert_deliveries {
    ($of:expr, $event:expr, $delivery:expr) => {{
        let subject = Some($of.subject.as_str()).into_sql::<Nullable<Text>>();
        let none = None::<&str>.into_sql::<Nullable<Text>>();
        Kept(
            routes::table
                .filter(routes::tenant_id.eq(&$of.tenant))
                .filter(routes::event_type.eq($of.code))
                .filter(routes::subscription_id.ne(&$of.about))
                .select((
                    routes::tenant_id,
                    routes::subscription_id,
                    $delivery.into_sql::<Text>(),
                    $event.into_sql::<Text>(),
                    routes::event_type,
                    diesel::dsl::case_when(routes::ordered.eq(true), subject).otherwise(none),
                    1_i64.into_sql::<BigInt>(),
                    true.into_sql::<Bool>(),
                    Some($of.at).into_sql::<Nullable<Timestamp>>(),
                ))
                .insert_into(rows::table)
                .into_columns((
                    rows::tenant_id,
                    rows::subscription_id,
                    rows::id,
                    rows::event_id,
                    rows::event_type,
                    rows::subject,
                    rows::attempt,
                    rows::is_fresh,
                    rows::due_at,
                ))
                .returning(rows::subscription_id),
        )
    }};
}

/// An audit entry to seal and deliver.
pub(crate) struct FanOut {
    tenant: String,
    entry: String,
    code: &'static str,
    at: NaiveDateTime,
    /// The entry's resource. A subscription does not receive events about itself.
    about: String,
    /// Ordered subscriptions receive the events of a subject one after the other.
    subject: String,
}

impl From<&Entry> for FanOut {
    fn from(entry: &Entry) -> Self {
        Self {
            tenant: entry.tenant.to_string(),
            entry: entry.id.to_string(),
            code: entry.event.code,
            at: entry.timestamp.naive(),
            about: entry.event.resource_id.clone(),
            subject: entry.event.subject(),
        }
    }
}

impl FanOut {
    /// Returns the ids of the event and of its first delivery, derived from the entry's id.
    fn ids(&self) -> (String, String) {
        let event = event_of(&self.entry);
        let delivery = event.replacen("evt", "dlv", 1);
        (event, delivery)
    }

    /// Pipelines both statements. Returns the subscriptions that received a delivery.
    pub(crate) async fn on_postgres(&self, conn: &AsyncPgConnection) -> QueryResult<Vec<String>> {
        let (event, delivery) = self.ids();
        let (mut one, mut other) = (conn, conn);
        let (unsealed, deliveries) = (insert_unsealed!(self), insert_deliveries!(self, &event, &delivery));
        let (queued, delivered) = join(unsealed.execute(&mut one), deliveries.load(&mut other)).await;
        queued.and(delivered)
    }

    pub(crate) async fn on_sqlite(&self, conn: &mut SqliteConn) -> QueryResult<Vec<String>> {
        let (event, delivery) = self.ids();
        insert_unsealed!(self).execute(conn).await?;
        insert_deliveries!(self, &event, &delivery).load(conn).await
    }
}

/// Subscriptions to notify after the commit, and whether they have changed.
#[derive(Default)]
pub(crate) struct WokenSubscriptions(Vec<(SubscriptionId, bool)>);

impl WokenSubscriptions {
    pub(crate) fn add(&mut self, id: SubscriptionId, has_changed: bool) {
        self.0.push((id, has_changed));
    }

    pub(crate) fn record_delivered(&mut self, subscriptions: &[String]) -> StoreResult<()> {
        for id in subscriptions {
            let id = id.parse();
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
