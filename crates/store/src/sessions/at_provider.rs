//! Sessions at identity providers.

use std::collections::BTreeSet;

use async_trait::async_trait;
use audit::Unaudited;
use diesel::{
    dsl::{select, sql, sql_query},
    prelude::*,
    sql_types::{BigInt, Bool},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp, UserId};
use ring::digest::{SHA256, digest};
use saml_sp::ProviderId;
use sessions::SessionId;
use sign_in::{EndedAtProvider, ProviderSession, ProviderSessionStore};

use super::revoked;
use crate::{
    Tx,
    db::{change, change_unaudited, read},
    dialect::Dialect,
    error::corrupt,
    prepared::Prepared,
    schema::{provider_sessions as rows, saml_assertions as remembered},
};

/// The columns of a session at a provider.
type Row = (Option<String>, Option<Vec<u8>>, Option<Vec<u8>>, Option<String>);

/// Maximum number of sessions in the search for users.
const MAX_SESSIONS: i64 = 10_000;
/// Precedes the hash of an ended session among the remembered hashes of assertions and logout tokens.
const ENDED: &[u8] = b"ended session\0";

/// Runs an expression with the sessions that are not revoked and that a provider ends.
macro_rules! ended {
    ($tx:expr, $provider:expr, $ended:expr, $sessions:ident => $run:expr) => {{
        let of_provider = rows::table
            .filter(rows::tenant_id.eq($tx.tenant.as_str()))
            .filter(rows::provider_id.eq($provider.as_str()))
            .filter(rows::revoked_at.is_null());
        match $ended {
            EndedAtProvider::Session { session, subject: Some(subject) } => {
                let $sessions = of_provider
                    .filter(rows::provider_session.eq(&session[..]))
                    .filter(rows::provider_subject.eq(&subject[..]));
                $run
            }
            EndedAtProvider::Session { session, subject: None } => {
                let $sessions = of_provider.filter(rows::provider_session.eq(&session[..]));
                $run
            }
            EndedAtProvider::Subject(subject) => {
                let $sessions = of_provider.filter(rows::provider_subject.eq(&subject[..]));
                $run
            }
        }
    }};
}

fn user(id: &str) -> StoreResult<UserId> {
    id.parse().map_err(|error| corrupt("sessions.user_id", error))
}

/// Returns the stored hash of an ended session.
fn ended_hash(session: &[u8; 32]) -> Vec<u8> {
    digest(&SHA256, &[ENDED, session].concat()).as_ref().to_vec()
}

impl Tx {
    /// Returns the key of the advisory lock of a session at a provider.
    fn lock_of(&self, provider: &ProviderId, session: &[u8; 32]) -> i64 {
        let name = [self.tenant.as_str().as_bytes(), provider.as_str().as_bytes(), ENDED, session].concat();
        digest(&SHA256, &name).as_ref().iter().take(8).fold(0, |key, byte| (key << 8) | i64::from(*byte))
    }
}

#[async_trait]
impl ProviderSessionStore for Tx {
    async fn set_provider_session(&mut self, id: &SessionId, at: &ProviderSession) -> StoreResult<()> {
        let row = rows::table.find((self.tenant.as_str(), id.as_str()));
        let set = (
            rows::provider_id.eq(at.provider.as_str()),
            rows::provider_subject.eq(&at.subject[..]),
            rows::provider_session.eq(at.session.as_ref().map(|hash| &hash[..])),
            rows::logout_hint.eq(at.logout_hint.as_deref()),
        );
        let update = Prepared(diesel::update(row).set(set));
        change_unaudited!(self, Unaudited::PartOfChange, c => update.execute(c).await)?;
        Ok(())
    }

    async fn provider_session(&mut self, id: &SessionId) -> StoreResult<Option<ProviderSession>> {
        let row = rows::table.find((self.tenant.as_str(), id.as_str()));
        let columns = (rows::provider_id, rows::provider_subject, rows::provider_session, rows::logout_hint);
        let query = row.select(columns);
        let found: Option<Row> = read!(self, c => query.first(c).await.optional())?;
        let Some((Some(provider), Some(subject), session, logout_hint)) = found else { return Ok(None) };
        let hash = |bytes: Vec<u8>| {
            <[u8; 32]>::try_from(bytes).map_err(|_| corrupt("sessions.provider_subject", "not 32 bytes"))
        };
        Ok(Some(ProviderSession {
            provider: provider.parse().map_err(|error| corrupt("sessions.provider_id", error))?,
            subject: hash(subject)?,
            session: session.map(hash).transpose()?,
            logout_hint,
        }))
    }

    async fn users_at_provider(
        &mut self,
        provider: &ProviderId,
        ended: &EndedAtProvider,
    ) -> StoreResult<Vec<UserId>> {
        let users: Vec<String> = ended!(self, provider, ended, sessions => {
            let query = sessions.select(rows::user_id).limit(MAX_SESSIONS);
            read!(self, c => query.load(c).await)?
        });
        let users: BTreeSet<_> = users.iter().map(|id| user(id)).collect::<Result<_, _>>()?;
        Ok(users.into_iter().collect())
    }

    async fn revoke_at_provider(
        &mut self,
        provider: &ProviderId,
        ended: &EndedAtProvider,
        since: Timestamp,
        at: Timestamp,
    ) -> StoreResult<Vec<(SessionId, UserId)>> {
        let revoked: Vec<(String, String)> = ended!(self, provider, ended, sessions => {
            let live = sessions.filter(rows::created_at.gt(since.naive()));
            let query = Prepared(diesel::update(live).set(revoked(at)).returning((rows::id, rows::user_id)));
            change!(self, c => query.load(c).await)?
        });
        self.end_step_ups_of(revoked.iter().map(|(id, _)| id.as_str()).collect(), at).await?;
        let parse = |(id, of): (String, String)| {
            let id = id.parse().map_err(|error| corrupt("sessions.id", error))?;
            Ok::<_, StoreError>((id, user(&of)?))
        };
        revoked.into_iter().map(parse).collect()
    }

    async fn remember_ended(
        &mut self,
        provider: &ProviderId,
        session: &[u8; 32],
        until: Timestamp,
    ) -> StoreResult<()> {
        if self.db.dialect() == Dialect::Postgres {
            // Waits for sign-ins through the session, so that a search for its sessions finds them. SQLite runs one unit of
            // work that writes at a time.
            let lock = sql_query("SELECT pg_advisory_xact_lock($1)");
            let lock = lock.bind::<BigInt, _>(self.lock_of(provider, session));
            read!(self, c => lock.execute(c).await)?;
        }
        let row = (
            remembered::tenant_id.eq(self.tenant.as_str()),
            remembered::provider_id.eq(provider.as_str()),
            remembered::assertion.eq(ended_hash(session)),
            remembered::expires_at.eq(until.naive()),
        );
        let insert = Prepared(diesel::insert_into(remembered::table).values(row).on_conflict_do_nothing());
        change_unaudited!(self, Unaudited::StepTaken, c => insert.execute(c).await)?;
        Ok(())
    }

    async fn has_ended(&mut self, provider: &ProviderId, session: &[u8; 32]) -> StoreResult<bool> {
        if self.db.dialect() == Dialect::Postgres {
            // Does not wait: this unit of work has locked its user, and the one that ends the session may lock the same user next.
            let lock = sql::<Bool>("pg_try_advisory_xact_lock_shared(");
            let lock = select(lock.bind::<BigInt, _>(self.lock_of(provider, session)).sql(")"));
            let is_locked: bool = read!(self, c => lock.get_result(c).await)?;
            if !is_locked {
                return Ok(true);
            }
        }
        let key = (self.tenant.as_str(), provider.as_str(), ended_hash(session));
        let query = remembered::table.find(key).select(remembered::provider_id);
        let found: Option<String> = read!(self, c => query.first(c).await.optional())?;
        Ok(found.is_some())
    }
}
