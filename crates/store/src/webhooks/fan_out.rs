//! Creates the deliveries of an audit entry, in the transaction of the change.

use ::signals::{News, StreamId};
use ::webhooks::{Key, SubscriptionId, Wakeups};
use audit::Entry;
use chrono::NaiveDateTime;
use diesel::{
    QueryResult,
    prelude::*,
    sql_types::{BigInt, Bool, Nullable, Text, Timestamp},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::join3;
use kernel::{StoreResult, TenantId};

use super::delivery_row::event_of;
use crate::{
    error::corrupt,
    prepared::Kept,
    schema::{audit_unsealed, pending_deliveries as rows, webhook_routes as routes},
    signals::{ChangedEmail, SignalFanOut},
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
    signals: Option<SignalFanOut>,
}

impl FanOut {
    /// Creates the fan-out of an entry. The addresses are those that the unit of work has changed or deleted.
    pub(crate) fn new(entry: &Entry, changed_emails: &[ChangedEmail]) -> Self {
        Self {
            tenant: entry.tenant.to_string(),
            entry: entry.id.to_string(),
            code: entry.event.code,
            at: entry.timestamp.naive(),
            about: entry.event.resource_id.clone(),
            subject: entry.event.subject(),
            signals: SignalFanOut::of(entry, changed_emails),
        }
    }

    /// Returns the ids of the event and of its first delivery, derived from the entry's id.
    fn ids(&self) -> (String, String) {
        let event = event_of(&self.entry);
        let delivery = event.replacen("evt", "dlv", 1);
        (event, delivery)
    }

    /// Pipelines the statements.
    pub(crate) async fn on_postgres(&self, conn: &AsyncPgConnection) -> QueryResult<FannedOut> {
        let (event, delivery) = self.ids();
        let (mut one, mut other) = (conn, conn);
        let (unsealed, deliveries) = (insert_unsealed!(self), insert_deliveries!(self, &event, &delivery));
        let signals = async {
            match &self.signals {
                Some(signals) => signals.on_postgres(conn).await,
                None => Ok(Vec::new()),
            }
        };
        let (queued, subscriptions, signals) =
            join3(unsealed.execute(&mut one), deliveries.load(&mut other), signals).await;
        queued?;
        Ok(FannedOut { subscriptions: subscriptions?, streams: signals? })
    }

    pub(crate) async fn on_sqlite(&self, conn: &mut SqliteConn) -> QueryResult<FannedOut> {
        let (event, delivery) = self.ids();
        insert_unsealed!(self).execute(conn).await?;
        let subscriptions = insert_deliveries!(self, &event, &delivery).load(conn).await?;
        let streams = match &self.signals {
            Some(signals) => signals.on_sqlite(conn).await?,
            None => Vec::new(),
        };
        Ok(FannedOut { subscriptions, streams })
    }
}

/// What an entry was fanned out to.
#[derive(Default)]
pub(crate) struct FannedOut {
    /// Subscriptions that received a delivery.
    pub(crate) subscriptions: Vec<String>,
    /// Streams of shared signals with new events.
    pub(crate) streams: Vec<String>,
}

/// What waits for commits.
#[derive(Clone, Default)]
pub(crate) struct Listeners {
    pub(crate) wakeups: Wakeups,
    pub(crate) signals: News,
}

/// What to notify after the commit.
#[derive(Default)]
pub(crate) struct Woken {
    /// Subscriptions, and whether they have changed.
    subscriptions: Vec<(SubscriptionId, bool)>,
    streams: Vec<StreamId>,
}

impl Woken {
    pub(crate) fn add(&mut self, id: SubscriptionId, has_changed: bool) {
        self.subscriptions.push((id, has_changed));
    }

    pub(crate) fn add_stream(&mut self, id: StreamId) {
        self.streams.push(id);
    }

    pub(crate) fn record(&mut self, fanned_out: &[FannedOut]) -> StoreResult<()> {
        for one in fanned_out {
            for id in &one.streams {
                self.add_stream(id.parse().map_err(|error| corrupt("signal_routes.stream_id", error))?);
            }
            for id in &one.subscriptions {
                let id = id.parse();
                self.add(id.map_err(|error| corrupt("webhook_routes.subscription_id", error))?, false);
            }
        }
        Ok(())
    }

    pub(crate) fn notify(self, listeners: &Listeners, tenant: &TenantId) {
        for (subscription, has_changed) in self.subscriptions {
            listeners.wakeups.notify(Key { tenant: tenant.clone(), subscription }, has_changed);
        }
        for stream in self.streams {
            listeners.signals.announce(::signals::Key { tenant: tenant.clone(), stream });
        }
    }
}
