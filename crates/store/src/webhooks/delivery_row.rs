//! The row of a delivery attempt.

use ::webhooks::{DeliveryId, SubscriptionId};
use chrono::NaiveDateTime;
use diesel::prelude::*;
use kernel::Ctx;

use crate::schema::{pending_deliveries, webhook_deliveries as rows};

/// An attempt, with its outcome.
#[derive(Queryable, Selectable)]
#[diesel(table_name = rows)]
pub(crate) struct DeliveryRow {
    pub(crate) id: String,
    pub(crate) event_id: String,
    pub(crate) event_type: String,
    pub(crate) payload: Option<String>,
    pub(crate) attempt: i64,
    pub(crate) is_fresh: bool,
    pub(crate) due_at: Option<NaiveDateTime>,
    pub(crate) http_status: Option<i64>,
    pub(crate) error: Option<String>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) response_body: Option<Vec<u8>>,
    pub(crate) attempted_at: Option<NaiveDateTime>,
    pub(crate) next_id: Option<String>,
    pub(crate) next_at: Option<NaiveDateTime>,
}

/// An attempt without an outcome.
#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = pending_deliveries, treat_none_as_default_value = false)]
pub(crate) struct PendingRow {
    pub(crate) tenant_id: String,
    pub(crate) subscription_id: String,
    pub(crate) id: String,
    pub(crate) event_id: String,
    pub(crate) event_type: String,
    pub(crate) subject: Option<String>,
    pub(crate) payload: Option<String>,
    pub(crate) attempt: i64,
    pub(crate) is_fresh: bool,
    pub(crate) due_at: Option<NaiveDateTime>,
}

/// Inserts an attempt, on a connection to either database.
macro_rules! insert_delivery {
    ($row:expr, $conn:expr) => {
        diesel_async::RunQueryDsl::execute(
            diesel::insert_into($crate::schema::pending_deliveries::table).values($row),
            $conn,
        )
        .await
    };
}
pub(crate) use insert_delivery;

impl PendingRow {
    /// Creates an attempt that is due at once.
    pub(crate) fn fresh(
        ctx: &Ctx,
        subscription: &SubscriptionId,
        (event_id, event_type): (String, String),
        (attempt, payload): (i64, Option<String>),
    ) -> Self {
        Self {
            tenant_id: ctx.tenant.to_string(),
            subscription_id: subscription.to_string(),
            id: DeliveryId::new(&*ctx.env).to_string(),
            event_id,
            event_type,
            subject: None,
            payload,
            attempt,
            is_fresh: true,
            due_at: Some(ctx.now.naive()),
        }
    }
}

impl From<PendingRow> for DeliveryRow {
    fn from(row: PendingRow) -> Self {
        Self {
            id: row.id,
            event_id: row.event_id,
            event_type: row.event_type,
            payload: row.payload,
            attempt: row.attempt,
            is_fresh: row.is_fresh,
            due_at: row.due_at,
            http_status: None,
            error: None,
            duration_ms: None,
            response_body: None,
            attempted_at: None,
            next_id: None,
            next_at: None,
        }
    }
}

/// Returns the event id of an audit entry.
pub(crate) fn event_of(entry_id: &str) -> String {
    format!("evt_{}", entry_id.split_once('_').map_or("", |(_, key)| key))
}

/// Returns the audit entry id of an event.
pub(crate) fn entry_of(event_id: &str) -> String {
    format!("aud_{}", event_id.split_once('_').map_or("", |(_, key)| key))
}
