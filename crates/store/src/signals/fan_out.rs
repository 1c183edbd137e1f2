//! Queues the events of an audit entry, in the transaction of the change.

use ::signals::EventType;
use audit::Entry;
use chrono::NaiveDateTime;
use diesel::{
    QueryResult,
    prelude::*,
    sql_types::{Json, Nullable, Text, Timestamp},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use crate::{
    json::JsonText,
    prepared::Kept,
    schema::{signal_events as rows, signal_routes as routes},
    sqlite_conn::SqliteConn,
    webhooks::event_of,
};

/// Queues the events of an entry. The tenant is read from the routes, so that a distributed database runs the whole statement on
/// the node of the tenant.
macro_rules! insert_events {
    ($of:expr) => {{
        let entry = Some($of.entry.as_str()).into_sql::<Nullable<Text>>();
        let (former, new) = ($of.email.former.as_deref(), $of.email.new.as_deref());
        Kept(
            routes::table
                .filter(routes::tenant_id.eq(&$of.tenant))
                .filter(routes::audit_code.eq($of.code))
                .filter(routes::event_type.ne($of.excluded))
                .select((
                    routes::tenant_id,
                    routes::stream_id,
                    $of.jti.as_str().into_sql::<Text>().concat(routes::number),
                    entry,
                    routes::event_type,
                    $of.user.as_str().into_sql::<Text>(),
                    former.into_sql::<Nullable<Text>>(),
                    new.into_sql::<Nullable<Text>>(),
                    None::<JsonText>.into_sql::<Nullable<Json>>(),
                    $of.at.into_sql::<Timestamp>(),
                ))
                .insert_into(rows::table)
                .into_columns((
                    rows::tenant_id,
                    rows::stream_id,
                    rows::jti,
                    rows::entry_id,
                    rows::event_type,
                    rows::user_id,
                    rows::former_email,
                    rows::new_email,
                    rows::control,
                    rows::created_at,
                ))
                .returning(rows::stream_id),
        )
    }};
}

/// The email address of a user that a unit of work has changed or deleted.
#[derive(Clone, Default)]
pub(crate) struct ChangedEmail {
    pub(crate) user: String,
    pub(crate) former: Option<String>,
    pub(crate) new: Option<String>,
}

/// An audit entry that events are made of.
pub(crate) struct SignalFanOut {
    tenant: String,
    entry: String,
    /// The beginning of the IDs of tokens.
    jti: String,
    code: &'static str,
    /// A type of event that the entry does not cause.
    excluded: &'static str,
    at: NaiveDateTime,
    /// The user that it is about, empty if it is about none.
    user: String,
    email: ChangedEmail,
}

impl SignalFanOut {
    /// Returns `None` if no event is made of the entry. The addresses are those that the unit of work has changed or
    /// deleted.
    pub(crate) fn of(entry: &Entry, changed: &[ChangedEmail]) -> Option<Self> {
        if !::signals::is_source(entry.event.code) {
            return None;
        }
        let subject = entry.event.subject();
        let user = subject.strip_prefix("user:").unwrap_or_default().to_owned();
        let email = changed.iter().find(|email| email.user == user).cloned().unwrap_or_default();
        // Most changes of a user do not change the address.
        let excluded = if email.former.is_none() { EventType::IdentifierChanged.uri() } else { "" };
        Some(Self {
            tenant: entry.tenant.to_string(),
            entry: entry.id.to_string(),
            jti: [event_of(entry.id.as_str()).as_str(), "."].concat(),
            code: entry.event.code,
            excluded,
            at: entry.timestamp.naive(),
            user,
            email,
        })
    }

    /// Returns the streams.
    pub(crate) async fn on_postgres(&self, mut conn: &AsyncPgConnection) -> QueryResult<Vec<String>> {
        insert_events!(self).load(&mut conn).await
    }

    /// Returns the streams.
    pub(crate) async fn on_sqlite(&self, conn: &mut SqliteConn) -> QueryResult<Vec<String>> {
        insert_events!(self).load(conn).await
    }
}
