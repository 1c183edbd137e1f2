//! Sessions.

mod at_provider;
mod device_bound;
pub(crate) mod row;

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use credentials::{FactorStore, TicketStore};
use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp, UserId};
use sessions::{Session, SessionId, SessionStore};
use stepup::StepUpStore;

use self::row::SessionRow;
use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    json::{JsonText, json_text},
    prepared::{Kept, Prepared},
    schema::{provider_sessions as ended, sessions as rows, users},
};

/// The columns of a revoked session that change. The ID token is of no more use.
type Revoked = (dsl::Eq<ended::revoked_at, NaiveDateTime>, dsl::Eq<ended::logout_hint, Option<String>>);

fn revoked(at: Timestamp) -> Revoked {
    (ended::revoked_at.eq(at.naive()), ended::logout_hint.eq(None))
}

#[derive(AsChangeset)]
#[diesel(table_name = rows, treat_none_as_null = true)]
struct SessionChanges {
    signed_in_at: NaiveDateTime,
    last_seen_at: NaiveDateTime,
    ip: Option<String>,
    device_label: String,
    location: Option<String>,
    standing: &'static str,
    methods: JsonText,
    grace: Option<JsonText>,
}

impl Tx {
    /// Ends all sessions of a user except `except`, and returns how many.
    pub(crate) async fn end_sessions(
        &mut self,
        user: &UserId,
        at: Timestamp,
        except: Option<&SessionId>,
    ) -> StoreResult<u64> {
        let live = ended::table
            .filter(ended::tenant_id.eq(self.tenant.as_str()))
            .filter(ended::user_id.eq(user.as_str()))
            .filter(ended::revoked_at.is_null())
            .filter(ended::id.ne(except.map_or("", |id| id.as_str())));
        let query = Prepared(diesel::update(live).set(revoked(at)));
        let ended = change!(self, c => query.execute(c).await)?;
        Ok(ended as u64)
    }
}

#[async_trait]
impl SessionStore for Tx {
    async fn insert_session(&mut self, session: &Session) -> StoreResult<bool> {
        let row = SessionRow {
            tenant_id: self.tenant.to_string(),
            id: session.id.to_string(),
            user_id: session.user.to_string(),
            created_at: session.created_at.naive(),
            signed_in_at: session.signed_in_at.naive(),
            last_seen_at: session.last_seen_at.naive(),
            ip: session.ip.map(|ip| ip.to_string()),
            device_label: session.device_label.clone(),
            location: session.location.clone(),
            standing: session.standing.as_str().to_owned(),
            methods: json_text("sessions.methods", &session.methods)?,
            grace: session.grace.as_ref().map(|grace| json_text("sessions.grace", grace)).transpose()?,
            foreign_hash: session.foreign.map(|hash| hash.to_vec()),
            revoked_at: session.revoked_at.map(Timestamp::naive),
            not_after: session.not_after.map(Timestamp::naive),
            device: None,
        };
        let query = diesel::insert_into(rows::table).values(&row).on_conflict_do_nothing();
        let inserted = change!(self, c => query.execute(c).await)? == 1;
        Ok(inserted)
    }

    async fn session(&mut self, id: &SessionId) -> StoreResult<Option<Session>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<SessionRow> = lock!(self, for_update, first, query.select(SessionRow::as_select()))?;
        row.map(Session::try_from).transpose()
    }

    async fn sessions_of(&mut self, user: &UserId) -> StoreResult<Vec<Session>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::user_id.eq(user.as_str()))
            .filter(rows::revoked_at.is_null());
        let rows: Vec<SessionRow> =
            read!(self, c => Kept(query.select(SessionRow::as_select())).load(c).await)?;
        let mut sessions = rows.into_iter().map(Session::try_from).collect::<Result<Vec<_>, _>>()?;
        sessions.sort_by(|a, b| (b.last_seen_at, &b.id).cmp(&(a.last_seen_at, &a.id)));
        Ok(sessions)
    }

    async fn update_session(&mut self, session: &Session) -> StoreResult<()> {
        let changes = SessionChanges {
            signed_in_at: session.signed_in_at.naive(),
            last_seen_at: session.last_seen_at.naive(),
            ip: session.ip.map(|ip| ip.to_string()),
            device_label: session.device_label.clone(),
            location: session.location.clone(),
            standing: session.standing.as_str(),
            methods: json_text("sessions.methods", &session.methods)?,
            grace: session.grace.as_ref().map(|grace| json_text("sessions.grace", grace)).transpose()?,
        };
        let row = rows::table.find((self.tenant.as_str(), session.id.as_str()));
        change_unaudited!(self, Unaudited::StepTaken, c => Prepared(diesel::update(row).set(&changes)).execute(c).await)?;
        Ok(())
    }

    async fn rename_session(&mut self, id: &SessionId, new: &SessionId, at: Timestamp) -> StoreResult<()> {
        self.end_step_ups(id.as_str(), at).await?;
        let row = rows::table.find((self.tenant.as_str(), id.as_str()));
        let query = Prepared(diesel::update(row).set(rows::id.eq(new.as_str())));
        change!(self, c => query.execute(c).await)?;
        if let Some(reread) = &mut self.reread {
            reread.follow(id, new);
        }
        Ok(())
    }

    async fn revoke_session(&mut self, id: &SessionId, at: Timestamp) -> StoreResult<bool> {
        let live = ended::table.find((self.tenant.as_str(), id.as_str())).filter(ended::revoked_at.is_null());
        let query = Prepared(diesel::update(live).set(revoked(at)));
        let revoked = change!(self, c => query.execute(c).await)? == 1;
        if revoked {
            self.end_step_ups(id.as_str(), at).await?;
        }
        Ok(revoked)
    }

    async fn refused_until(&mut self, user: &UserId) -> StoreResult<Option<Timestamp>> {
        let query = users::table.find((self.tenant.as_str(), user.as_str())).select(users::sessions_after);
        let until: Option<Option<NaiveDateTime>> = read!(self, c => query.first(c).await.optional())?;
        Ok(until.flatten().map(Timestamp::from_naive))
    }

    async fn refuse_tokens_until(&mut self, user: &UserId, until: Timestamp) -> StoreResult<()> {
        if self.refused_until(user).await?.is_some_and(|known| known >= until) {
            return Ok(());
        }
        let row = users::table.find((self.tenant.as_str(), user.as_str()));
        let query = Prepared(diesel::update(row).set(users::sessions_after.eq(until.naive())));
        change_unaudited!(self, Unaudited::PartOfChange, c => query.execute(c).await)?;
        Ok(())
    }

    async fn revoke_sessions(
        &mut self,
        user: &UserId,
        at: Timestamp,
        except: Option<&SessionId>,
    ) -> StoreResult<u64> {
        let row = users::table.find((self.tenant.as_str(), user.as_str()));
        let query = Prepared(diesel::update(row).set(users::sessions_after.eq(at.naive())));
        change!(self, c => query.execute(c).await)?;
        self.drop_tickets(user).await?;
        self.drop_pending(user).await?;
        let ended = self.end_sessions(user, at, except).await?;
        // Step-up tokens proved with the previous sign-in data are no longer valid.
        self.revoke_grants(user, at).await?;
        Ok(ended)
    }
}
