//! Session rows and their rules.

use std::net::IpAddr;

use async_trait::async_trait;
use kernel::{Ctx, Id, Kind, StoreError, Timestamp, UserId};
use serde::{Deserialize, Serialize};

/// Marks ids of sessions.
#[derive(Debug, Clone, Copy)]
pub enum SessionKind {}
impl Kind for SessionKind {
    const PREFIX: &'static str = "ses";
}
/// `ses_…`
pub type SessionId = Id<SessionKind>;

/// "Last seen" is kept to so many minutes, and a session is idle so much later than it says.
pub const SEEN_GRAIN_MINUTES: i64 = 1;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// How long the first steps after a sign-in go without a further proof.
const GRACE_MILLIS: i64 = 15 * 60 * 1000;

/// How far a sign-in has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is complete.
    Full,
    /// A second factor is owed: only signing in, enrolling a factor and signing out are open to it.
    Owing,
}

impl Standing {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Owing => "OWING",
        }
    }

    /// From what is stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Full, Self::Owing].into_iter().find(|standing| standing.as_str() == text)
    }
}

/// What a sign-in was proved by; serialised as the values of `amr` (RFC 8176) where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// A password.
    #[serde(rename = "pwd")]
    Password,
    /// A passkey (proof of possession of a key).
    #[serde(rename = "pop")]
    Passkey,
    /// The passkey verified the person too.
    #[serde(rename = "user")]
    UserVerified,
    /// A code of an authenticator app.
    #[serde(rename = "otp")]
    Totp,
    /// A recovery code.
    #[serde(rename = "recovery")]
    RecoveryCode,
    /// A neighbouring Auth.js, or an identity provider.
    #[serde(rename = "sso")]
    Sso,
}

/// Why the holder of a session may do something without a further proof for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GraceKind {
    /// It enrolled the person's first factor: one more, and recovery codes.
    FirstFactor,
    /// It was begun with a recovery code: one factor in, the lost one out.
    Recovery,
}

/// What a grace is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GraceAct {
    /// Enrolling one factor.
    Enrol,
    /// Removing one factor that was there before.
    Remove,
    /// Generating recovery codes.
    GenerateCodes,
}

/// Leave to go without a further proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grace {
    /// Why.
    pub kind: GraceKind,
    /// Since when.
    pub since: Timestamp,
    /// What it was used for already.
    pub spent: Vec<GraceAct>,
}

impl Grace {
    /// Begins now.
    pub fn new(kind: GraceKind, now: Timestamp) -> Self {
        Self { kind, since: now, spent: Vec::new() }
    }

    /// Whether it is good for this now.
    pub fn allows(&self, act: GraceAct, now: Timestamp) -> bool {
        let kind = match (self.kind, act) {
            (GraceKind::FirstFactor, GraceAct::Enrol | GraceAct::GenerateCodes)
            | (GraceKind::Recovery, GraceAct::Enrol | GraceAct::Remove) => true,
            (GraceKind::FirstFactor, GraceAct::Remove) | (GraceKind::Recovery, GraceAct::GenerateCodes) => {
                false
            }
        };
        kind && now < self.since.plus_millis(GRACE_MILLIS) && !self.spent.contains(&act)
    }
}

/// One sign-in on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// `ses_…`
    pub id: SessionId,
    /// Whose.
    pub user: UserId,
    /// When the row was made.
    pub created_at: Timestamp,
    /// When the person last proved who they are.
    pub signed_in_at: Timestamp,
    /// When it was last used, to [`SEEN_GRAIN_MINUTES`].
    pub last_seen_at: Timestamp,
    /// The address it was last used from.
    pub ip: Option<IpAddr>,
    /// See [`device_label`](crate::device_label).
    pub device_label: String,
    /// `City, Country` where it is known.
    pub location: Option<String>,
    /// How far the sign-in has come.
    pub standing: Standing,
    /// What it was proved by.
    pub methods: Vec<Method>,
    /// What it may do without a further proof for a while.
    pub grace: Option<Grace>,
    /// SHA-256 of the neighbour's token that it stands for.
    pub foreign: Option<[u8; 32]>,
    /// When it is over at the latest, whatever the tenant has set: the identity provider says so.
    pub not_after: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// How long sessions last in a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Minutes without use.
    pub idle_minutes: i64,
    /// Days since the row was made.
    pub absolute_days: i64,
}

impl Lifetime {
    /// Sessions that were last used after the first moment, and began after the second, are not over.
    pub fn since(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        let idle = (self.idle_minutes + SEEN_GRAIN_MINUTES) * 60_000;
        let absolute = self.absolute_days * DAY_MILLIS;
        (now.plus_millis(-idle), now.plus_millis(-absolute))
    }

    /// Whether the session has been idle too long, is too old, or has come to the end that it was given.
    pub fn is_over(&self, session: &Session, now: Timestamp) -> bool {
        let (used, _) = self.since(now);
        session.last_seen_at <= used || session.ends(self.absolute_days) <= now
    }
}

impl Session {
    /// When it is over, however much it is used, where sessions last so many days.
    pub fn ends(&self, absolute_days: i64) -> Timestamp {
        let oldest = self.created_at.plus_millis(absolute_days * DAY_MILLIS);
        self.not_after.map_or(oldest, |end| end.min(oldest))
    }

    /// Whether a second factor was proved on it, or a recovery code in its place.
    pub fn has_second_factor(&self) -> bool {
        let second = [Method::Totp, Method::Passkey, Method::RecoveryCode];
        self.methods.iter().any(|method| second.contains(method))
    }

    /// Whether this may be done without a further proof.
    pub fn has_grace(&self, act: GraceAct, now: Timestamp) -> bool {
        self.grace.as_ref().is_some_and(|grace| grace.allows(act, now))
    }

    /// Uses the grace up for this.
    pub fn spend(&mut self, act: GraceAct) {
        if let Some(grace) = &mut self.grace {
            grace.spent.push(act);
        }
    }

    /// Notes that the person has proved something more just now.
    pub fn proved(&mut self, method: Method, now: Timestamp) {
        if !self.methods.contains(&method) {
            self.methods.push(method);
        }
        self.signed_in_at = now;
    }
}

/// What a new session begins with.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Whose.
    pub user: UserId,
    /// See [`Session::device_label`].
    pub device_label: String,
    /// See [`Session::location`].
    pub location: Option<String>,
    /// See [`Session::standing`].
    pub standing: Standing,
    /// See [`Session::methods`].
    pub methods: Vec<Method>,
    /// See [`Session::signed_in_at`]; `None`: now.
    pub signed_in_at: Option<Timestamp>,
    /// See [`Session::foreign`].
    pub foreign: Option<[u8; 32]>,
    /// See [`Session::grace`].
    pub grace: Option<GraceKind>,
    /// See [`Session::not_after`].
    pub not_after: Option<Timestamp>,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No session of this id is the person's.
    #[error("no such session")]
    NotFound,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where one tenant's sessions are kept.
#[async_trait]
pub trait SessionStore: Send {
    /// Keeps a new session; `false` when there is one for the same foreign token.
    async fn insert_session(&mut self, session: &Session) -> Result<bool, StoreError>;
    /// The session of this id, revoked or not, held until the end of the unit of work.
    async fn session(&mut self, id: &SessionId) -> Result<Option<Session>, StoreError>;
    /// A person's sessions that are not revoked, newest activity first.
    async fn sessions_of(&mut self, user: &UserId) -> Result<Vec<Session>, StoreError>;
    /// Writes standing, proofs, grace, device, location, and when and from where it was seen.
    async fn update_session(&mut self, session: &Session) -> Result<(), StoreError>;
    /// Gives a session another id, under which alone it is found from now on. Its unused step-up tokens are revoked.
    async fn rename_session(
        &mut self,
        id: &SessionId,
        new: &SessionId,
        at: Timestamp,
    ) -> Result<(), StoreError>;
    /// Marks a session revoked unless it is already; tells whether it changed.
    async fn revoke_session(&mut self, id: &SessionId, at: Timestamp) -> Result<bool, StoreError>;
    /// Until when foreign tokens of the person are refused that have no row.
    async fn refused_until(&mut self, user: &UserId) -> Result<Option<Timestamp>, StoreError>;
    /// Marks all of a person's sessions revoked but one, ends sign-ins that are under way, and refuses foreign
    /// tokens issued until then, also those that have no row; tells how many rows changed.
    async fn revoke_sessions(
        &mut self,
        user: &UserId,
        at: Timestamp,
        except: Option<&SessionId>,
    ) -> Result<u64, StoreError>;
}

/// Begins a session; `None` when its foreign token has one already.
pub async fn open(
    ctx: &Ctx,
    store: &mut dyn SessionStore,
    new: NewSession,
) -> Result<Option<Session>, StoreError> {
    let session = Session {
        id: SessionId::new(&*ctx.env),
        user: new.user,
        created_at: ctx.now,
        signed_in_at: new.signed_in_at.unwrap_or(ctx.now),
        last_seen_at: ctx.now,
        ip: ctx.ip,
        device_label: new.device_label,
        location: new.location,
        standing: new.standing,
        methods: new.methods,
        grace: new.grace.map(|kind| Grace::new(kind, ctx.now)),
        foreign: new.foreign,
        not_after: new.not_after,
        revoked_at: None,
    };
    Ok(store.insert_session(&session).await?.then_some(session))
}

/// Gives a session another id, because it opens more than before (OWASP ASVS 3.2.1): somebody who knew the old one
/// knows nothing of the new one.
///
/// # Errors
/// Where storage fails.
pub async fn renew(
    ctx: &Ctx,
    store: &mut dyn SessionStore,
    session: &mut Session,
) -> Result<SessionId, StoreError> {
    let old = std::mem::replace(&mut session.id, SessionId::new(&*ctx.env));
    store.rename_session(&old, &session.id, ctx.now).await?;
    Ok(old)
}

/// A person's sessions that are in force.
pub async fn list(
    ctx: &Ctx,
    store: &mut dyn SessionStore,
    user: &UserId,
    lifetime: Lifetime,
) -> Result<Vec<Session>, StoreError> {
    let mut sessions = store.sessions_of(user).await?;
    sessions.retain(|session| !lifetime.is_over(session, ctx.now));
    Ok(sessions)
}

/// Revokes a session of a person: `false` when it was revoked before.
pub async fn revoke(
    ctx: &Ctx,
    store: &mut dyn SessionStore,
    user: &UserId,
    id: &SessionId,
) -> Result<bool, Error> {
    match store.session(id).await? {
        Some(session) if session.user == *user => Ok(store.revoke_session(id, ctx.now).await?),
        _ => Err(Error::NotFound),
    }
}

/// Revokes all of a person's sessions but one: how many were in force.
pub async fn revoke_all(
    ctx: &Ctx,
    store: &mut dyn SessionStore,
    user: &UserId,
    except: Option<&SessionId>,
) -> Result<u64, StoreError> {
    store.revoke_sessions(user, ctx.now, except).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kernel::{Actor, Env, ManualEnv, TenantId};

    use super::*;

    #[derive(Default)]
    struct Rows(Vec<Session>);

    #[async_trait]
    impl SessionStore for Rows {
        async fn insert_session(&mut self, session: &Session) -> Result<bool, StoreError> {
            let taken = session.foreign.is_some() && self.0.iter().any(|row| row.foreign == session.foreign);
            if !taken {
                self.0.push(session.clone());
            }
            Ok(!taken)
        }
        async fn session(&mut self, id: &SessionId) -> Result<Option<Session>, StoreError> {
            Ok(self.0.iter().find(|row| row.id == *id).cloned())
        }
        async fn sessions_of(&mut self, user: &UserId) -> Result<Vec<Session>, StoreError> {
            Ok(self.0.iter().filter(|row| row.user == *user && row.revoked_at.is_none()).cloned().collect())
        }
        async fn update_session(&mut self, _: &Session) -> Result<(), StoreError> {
            Ok(())
        }
        async fn rename_session(
            &mut self,
            id: &SessionId,
            new: &SessionId,
            _: Timestamp,
        ) -> Result<(), StoreError> {
            for row in self.0.iter_mut().filter(|row| row.id == *id) {
                row.id = new.clone();
            }
            Ok(())
        }
        async fn revoke_session(&mut self, id: &SessionId, at: Timestamp) -> Result<bool, StoreError> {
            let row = self.0.iter_mut().find(|row| row.id == *id && row.revoked_at.is_none());
            Ok(row.map(|row| row.revoked_at = Some(at)).is_some())
        }
        async fn refused_until(&mut self, _: &UserId) -> Result<Option<Timestamp>, StoreError> {
            Ok(None)
        }
        async fn revoke_sessions(
            &mut self,
            user: &UserId,
            at: Timestamp,
            except: Option<&SessionId>,
        ) -> Result<u64, StoreError> {
            let mut count = 0;
            for row in &mut self.0 {
                if row.user == *user && Some(&row.id) != except && row.revoked_at.is_none() {
                    row.revoked_at = Some(at);
                    count += 1;
                }
            }
            Ok(count)
        }
    }

    fn new(user: &UserId, foreign: Option<[u8; 32]>) -> NewSession {
        NewSession {
            user: user.clone(),
            device_label: "Chrome on macOS".into(),
            location: None,
            standing: Standing::Full,
            methods: vec![Method::Password],
            signed_in_at: None,
            foreign,
            grace: Some(GraceKind::FirstFactor),
            not_after: None,
        }
    }

    #[tokio::test]
    async fn sessions_end_by_idleness_by_age_and_by_being_revoked() {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let (tenant, user) = (TenantId::new(&*env), UserId::new(&*env));
        let ctx = |env: &Arc<ManualEnv>| Ctx::new(env.clone(), tenant.clone(), Actor::user(&user));
        let lifetime = Lifetime { idle_minutes: 60, absolute_days: 1 };
        let mut rows = Rows::default();
        let first = open(&ctx(&env), &mut rows, new(&user, None)).await.unwrap().unwrap();
        let now = ctx(&env);
        assert_eq!(list(&now, &mut rows, &user, lifetime).await.unwrap(), std::slice::from_ref(&first));
        let stranger = UserId::new(&*env);
        assert!(matches!(revoke(&now, &mut rows, &stranger, &first.id).await, Err(Error::NotFound)));
        assert!(revoke(&now, &mut rows, &user, &first.id).await.unwrap());
        assert!(!revoke(&now, &mut rows, &user, &first.id).await.unwrap(), "once");

        let mut renewed = open(&ctx(&env), &mut rows, new(&user, None)).await.unwrap().unwrap();
        let old = renew(&now, &mut rows, &mut renewed).await.unwrap();
        assert_ne!(old, renewed.id);
        assert!(matches!(revoke(&now, &mut rows, &user, &old).await, Err(Error::NotFound)));
        assert!(revoke(&now, &mut rows, &user, &renewed.id).await.unwrap());

        let mut second = open(&ctx(&env), &mut rows, new(&user, Some([1; 32]))).await.unwrap().unwrap();
        assert!(open(&ctx(&env), &mut rows, new(&user, Some([1; 32]))).await.unwrap().is_none());
        env.advance_millis(61 * 60_000 - 1);
        assert!(!lifetime.is_over(&second, env.now()), "the grain is allowed for");
        env.advance_millis(1);
        assert!(lifetime.is_over(&second, env.now()));
        env.advance_millis(22 * 60 * 60_000 + 59 * 60_000);
        second.last_seen_at = env.now();
        assert!(lifetime.is_over(&second, env.now()), "used or not");
    }

    #[tokio::test]
    async fn an_end_that_was_given_ends_a_session_and_makes_none_longer() {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let (tenant, user) = (TenantId::new(&*env), UserId::new(&*env));
        let ctx = Ctx::new(env.clone(), tenant, Actor::user(&user));
        let lifetime = Lifetime { idle_minutes: 60, absolute_days: 1 };
        let mut rows = Rows::default();
        for (minutes, ends) in [(30, 30), (3 * 24 * 60, 24 * 60)] {
            let end = ctx.now.plus_millis(minutes * 60_000);
            let new = NewSession { not_after: Some(end), ..new(&user, None) };
            let mut session = open(&ctx, &mut rows, new).await.unwrap().unwrap();
            let ends = ctx.now.plus_millis(ends * 60_000);
            assert_eq!(session.ends(lifetime.absolute_days), ends);
            session.last_seen_at = ends;
            assert!(!lifetime.is_over(&session, ends.plus_millis(-1)));
            assert!(lifetime.is_over(&session, ends), "not on or after");
        }
    }

    #[test]
    fn a_grace_is_short_and_for_its_own_acts() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let mut grace = Grace::new(GraceKind::Recovery, now);
        assert!(grace.allows(GraceAct::Enrol, now) && grace.allows(GraceAct::Remove, now));
        assert!(!grace.allows(GraceAct::GenerateCodes, now));
        grace.spent.push(GraceAct::Remove);
        assert!(!grace.allows(GraceAct::Remove, now), "once");
        assert!(!grace.allows(GraceAct::Enrol, now.plus_millis(GRACE_MILLIS)));
        let first = Grace::new(GraceKind::FirstFactor, now);
        assert!(first.allows(GraceAct::GenerateCodes, now) && !first.allows(GraceAct::Remove, now));
    }
}
