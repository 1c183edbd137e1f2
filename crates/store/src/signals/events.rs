//! Events that wait.

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::{
    prelude::*,
    sql_query,
    sql_types::{BigInt, Text},
};
use diesel_async::RunQueryDsl;
use kernel::{Ctx, StoreResult, Timestamp, UserId};
use signals::{
    ControlEvent, EventContent, EventStore, EventType, MAX_COUNTED, QueuedEvent, STREAM_UPDATED, SourceEvent,
    StreamId,
};
use webhooks::EventId;

use crate::{
    Tx,
    db::{change_unaudited, read},
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{audit_entries as entries, signal_events as rows, signal_removed_subjects as removed, users},
};

/// Columns of the audit entry: actor, resource, time and payload.
type EntryColumns = (String, String, String, String, NaiveDateTime, JsonText);

/// A pending event with what its token is made of.
type PendingRow = (EventRow, Option<EntryColumns>, Option<String>, Option<String>);

/// Counts pending events, up to a limit.
const COUNT: &str = "SELECT count(*) AS events FROM \
    (SELECT 1 FROM signal_events WHERE tenant_id = $1 AND stream_id = $2 LIMIT $3) AS few";

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    events: i64,
}

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct EventRow {
    tenant_id: String,
    stream_id: String,
    jti: String,
    entry_id: Option<String>,
    event_type: String,
    user_id: String,
    former_email: Option<String>,
    new_email: Option<String>,
    control: Option<JsonText>,
    created_at: NaiveDateTime,
}

/// The pending events of a stream with their audit entries, the email addresses of their users, and whether those are removed.
macro_rules! pending {
    ($tenant:expr, $stream:expr) => {
        rows::table
            .left_join(
                entries::table.on(entries::tenant_id
                    .eq($tenant.clone())
                    .and(rows::entry_id.eq(entries::id.nullable()))),
            )
            .left_join(users::table.on(users::tenant_id.eq($tenant.clone()).and(users::id.eq(rows::user_id))))
            .left_join(
                removed::table.on(removed::tenant_id
                    .eq($tenant.clone())
                    .and(removed::stream_id.eq($stream.clone()))
                    .and(removed::user_id.eq(rows::user_id))),
            )
            .filter(rows::tenant_id.eq($tenant.clone()))
            .filter(rows::stream_id.eq($stream.clone()))
            .order(rows::jti)
    };
}

/// The columns of [`PendingRow`].
macro_rules! columns {
    () => {
        (
            EventRow::as_select(),
            (
                entries::actor_type,
                entries::actor_id,
                entries::resource_type,
                entries::resource_id,
                entries::created_at,
                entries::metadata,
            )
                .nullable(),
            users::sign_in_email_key.nullable(),
            removed::user_id.nullable(),
        )
    };
}

#[async_trait]
impl EventStore for Tx {
    async fn queue_control(&mut self, ctx: &Ctx, stream: &StreamId, event: &ControlEvent) -> StoreResult<()> {
        let row = EventRow {
            tenant_id: self.tenant.to_string(),
            stream_id: stream.to_string(),
            jti: EventId::new(&*ctx.env).to_string(),
            entry_id: None,
            event_type: event.event_type.clone(),
            user_id: String::new(),
            former_email: None,
            new_email: None,
            control: Some(json_text("signal_events.control", event)?),
            created_at: ctx.now.naive(),
        };
        change_unaudited!(self, Unaudited::Delivered, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        self.db.announce_stream(stream.clone());
        Ok(())
    }

    async fn pending_events(
        &mut self,
        stream: &StreamId,
        is_enabled: bool,
        limit: i64,
    ) -> StoreResult<Vec<QueuedEvent>> {
        let (tenant, stream) = (self.tenant.to_string(), stream.to_string());
        let query = pending!(tenant, stream).limit(limit);
        let of_stream =
            query.clone().filter(rows::control.is_not_null()).filter(rows::event_type.eq(STREAM_UPDATED));
        let found: Vec<PendingRow> = if is_enabled {
            read!(self, c => query.select(columns!()).load(c).await)?
        } else {
            read!(self, c => of_stream.select(columns!()).load(c).await)?
        };
        found.into_iter().map(queued).collect()
    }

    async fn delete_events(&mut self, stream: &StreamId, jtis: &[String]) -> StoreResult<usize> {
        let tenant = self.tenant.as_str().to_owned();
        let mut deleted = 0;
        for jti in jtis {
            let row = diesel::delete(rows::table.find((&tenant, stream.as_str(), jti)));
            deleted += change_unaudited!(self, Unaudited::Delivered, c => row.execute(c).await)?;
        }
        Ok(deleted)
    }

    async fn count_events(&mut self, stream: &StreamId) -> StoreResult<i64> {
        let query = sql_query(COUNT)
            .bind::<Text, _>(self.tenant.to_string())
            .bind::<Text, _>(stream.to_string())
            .bind::<BigInt, _>(MAX_COUNTED);
        let counted: Counted = read!(self, c => query.get_result(c).await)?;
        Ok(counted.events)
    }
}

impl Tx {
    /// Keeps the email address of a user in events that wait, before the address changes.
    pub(crate) async fn keep_email_of_events(&mut self, user: &UserId, email: &str) -> StoreResult<()> {
        let waiting = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::user_id.eq(user.as_str()))
            .filter(rows::former_email.is_null());
        let update = Prepared(diesel::update(waiting).set(rows::former_email.eq(Some(email))));
        change_unaudited!(self, Unaudited::PartOfChange, c => update.execute(c).await)?;
        Ok(())
    }
}

fn queued((row, entry, email, is_removed): PendingRow) -> StoreResult<QueuedEvent> {
    let content = match (&row.control, entry, EventType::from_uri(&row.event_type)) {
        (Some(control), _, _) => Some(EventContent::Control(read_json("signal_events.control", control)?)),
        (None, Some(entry), Some(event_type)) if is_removed.is_none() => {
            let (actor_type, actor_id, resource_type, resource_id, at, data) = entry;
            Some(EventContent::Source(SourceEvent {
                jti: row.jti.clone(),
                entry: row.entry_id.unwrap_or_default(),
                event_type,
                at: Timestamp::from_naive(at),
                actor: (actor_type, actor_id),
                resource: (resource_type, resource_id),
                data: data.0,
                email,
                former_email: row.former_email,
                new_email: row.new_email,
            }))
        }
        _ => None,
    };
    Ok(QueuedEvent { jti: row.jti, at: Timestamp::from_naive(row.created_at), content })
}
