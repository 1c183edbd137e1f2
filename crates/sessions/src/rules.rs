//! Starting, renewing and ending sessions.

use kernel::{Ctx, StoreResult, Timestamp, UserId};

use crate::{
    error::Error,
    session::{Grace, GraceKind, Lifetime, Method, Session, SessionId, Standing},
    store::SessionStore,
};

/// The properties of a new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// User who signs in.
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

/// Starts a session. Returns `None` if its neighbour's token already has one.
pub async fn open(ctx: &Ctx, store: &mut dyn SessionStore, new: NewSession) -> StoreResult<Option<Session>> {
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
        device: None,
    };
    Ok(store.insert_session(&session).await?.then_some(session))
}

/// Replaces the id of a session that grants more than before, or whose user proved a factor again (OWASP ASVS 5.0, 7.2.4).
/// Knowing the old id is then useless.
///
/// # Errors
/// If storage fails.
pub async fn renew(ctx: &Ctx, store: &mut dyn SessionStore, session: &mut Session) -> StoreResult<SessionId> {
    let old = std::mem::replace(&mut session.id, SessionId::new(&*ctx.env));
    store.rename_session(&old, &session.id, ctx.now).await?;
    Ok(old)
}

/// Returns a user's live sessions.
pub async fn list(
    ctx: &Ctx,
    store: &mut dyn SessionStore,
    user: &UserId,
    lifetime: Lifetime,
) -> StoreResult<Vec<Session>> {
    let mut sessions = store.sessions_of(user).await?;
    sessions.retain(|session| !lifetime.is_over(session, ctx.now));
    Ok(sessions)
}

/// Revokes a user's session. Returns `false` if it was revoked before.
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

/// Revokes all of a user's sessions except one. Returns how many were live.
pub async fn revoke_all(
    ctx: &Ctx,
    store: &mut dyn SessionStore,
    user: &UserId,
    except: Option<&SessionId>,
) -> StoreResult<u64> {
    store.revoke_sessions(user, ctx.now, except).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kernel::{Actor, Env, ManualEnv, TenantId};

    use super::*;
    use crate::memory::MemorySessions;

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
    async fn sessions_end_when_idle_too_old_or_revoked() {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let (tenant, user) = (TenantId::new(&*env), UserId::new(&*env));
        let ctx = |env: &Arc<ManualEnv>| Ctx::new(env.clone(), tenant.clone(), Actor::user(&user));
        let lifetime = Lifetime { idle_minutes: 60, absolute_days: 1 };
        let mut rows = MemorySessions::default();
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
        assert!(
            !lifetime.is_over(&second, env.now()),
            "the recording interval of last_seen_at extends the idle time"
        );
        env.advance_millis(1);
        assert!(lifetime.is_over(&second, env.now()));
        env.advance_millis(22 * 60 * 60_000 + 59 * 60_000);
        second.last_seen_at = env.now();
        assert!(lifetime.is_over(&second, env.now()), "the absolute lifetime ends a session that is in use");
    }

    #[tokio::test]
    async fn not_after_shortens_but_never_extends_a_session() {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let (tenant, user) = (TenantId::new(&*env), UserId::new(&*env));
        let ctx = Ctx::new(env.clone(), tenant, Actor::user(&user));
        let lifetime = Lifetime { idle_minutes: 60, absolute_days: 1 };
        let mut rows = MemorySessions::default();
        for (minutes, ends) in [(30, 30), (3 * 24 * 60, 24 * 60)] {
            let end = ctx.now.plus_millis(minutes * 60_000);
            let new = NewSession { not_after: Some(end), ..new(&user, None) };
            let mut session = open(&ctx, &mut rows, new).await.unwrap().unwrap();
            let ends = ctx.now.plus_millis(ends * 60_000);
            assert_eq!(session.ends(lifetime.absolute_days), ends);
            session.last_seen_at = ends;
            assert!(!lifetime.is_over(&session, ends.plus_millis(-1)));
            assert!(lifetime.is_over(&session, ends), "the session ends at this time, not after it");
        }
    }
}
