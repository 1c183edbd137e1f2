//! Binding a session, renewing its cookie, and requiring the cookie.

use kernel::{Ctx, StoreError, TenantId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    key::DeviceKey,
    proof::Proof,
    signed::{BoundCookie, SKEW_MILLIS, SessionIdentifier},
};
use crate::{
    session::{Lifetime, Session, SessionId, Standing},
    store::DeviceSessionStore,
};

/// Milliseconds after binding in which the cookie is not required: requests are on their way that the browser sent without it.
const GRACE_MILLIS: i64 = 30_000;

/// The key that a session is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceBinding {
    /// The public key.
    pub key: DeviceKey,
    /// When the session was bound.
    pub bound_at: Timestamp,
    /// When the challenge of the last accepted proof was issued. Older challenges are refused, so a proof counts once.
    pub challenged_at: Timestamp,
}

/// The reason why a request of a bound session was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The request has no cookie of a bound session.
    NoCookie,
    /// The cookie has expired.
    Expired,
    /// The cookie is not authentic, or it belongs to another session.
    WrongCookie,
    /// A proof is not signed with the key of the session.
    WrongKey,
}

impl Refused {
    /// Returns the name in the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoCookie => "NO_COOKIE",
            Self::Expired => "EXPIRED",
            Self::WrongCookie => "WRONG_COOKIE",
            Self::WrongKey => "WRONG_KEY",
        }
    }
}

/// The reason why a session was not bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// There is no such session, it was revoked, it waits for a factor, or it is bound already.
    #[error("the session cannot be bound")]
    NotPossible,
    /// The proof has no key, or is not signed with it.
    #[error("the proof is not valid")]
    Proof,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why the cookie of a bound session was not renewed.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// No session is bound to this key, or it has ended.
    #[error("there is no such session")]
    NoSession,
    /// The proof is not signed with the session's key.
    #[error("the proof is not signed with the key of the session")]
    WrongKey(Box<Session>),
    /// The challenge was answered before, or a newer one was.
    #[error("the challenge is no longer valid")]
    UsedChallenge,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Binds a session that has just begun to the key in the proof.
///
/// The caller has verified that the challenge of the proof was issued for this session, and when.
///
/// # Errors
/// See [`BindError`].
pub async fn bind(
    ctx: &Ctx,
    store: &mut dyn DeviceSessionStore,
    id: &SessionId,
    proof: &Proof,
    challenged_at: Timestamp,
) -> Result<DeviceBinding, BindError> {
    let key = proof.key.clone().filter(|key| proof.is_signed_with(key)).ok_or(BindError::Proof)?;
    if store.session_of_key(&key.thumbprint()).await?.is_some() {
        return Err(BindError::NotPossible);
    }
    let found = store.session(id).await?.filter(|session| {
        session.revoked_at.is_none() && session.standing == Standing::Full && session.device.is_none()
    });
    found.ok_or(BindError::NotPossible)?;
    let binding = DeviceBinding { key, bound_at: ctx.now, challenged_at };
    store.set_device(id, &binding).await?;
    Ok(binding)
}

/// Returns the session that is bound to the key with this thumbprint, if the proof is signed with it and answers a new
/// challenge.
///
/// The caller has verified that the challenge of the proof was issued for this session, and when.
///
/// # Errors
/// See [`RefreshError`].
pub async fn find(
    ctx: &Ctx,
    store: &mut dyn DeviceSessionStore,
    thumbprint: &[u8; 32],
    answered: &Answered<'_>,
) -> Result<(Session, DeviceBinding), RefreshError> {
    let is_live =
        |session: &Session| session.revoked_at.is_none() && !answered.lifetime.is_over(session, ctx.now);
    let found = store.session_of_key(thumbprint).await?.filter(is_live);
    let session = found.ok_or(RefreshError::NoSession)?;
    let binding = session.device.clone().ok_or(RefreshError::NoSession)?;
    // A time in the future comes from a server whose clock was wrong. It would refuse all challenges.
    let is_wrong = binding.challenged_at > ctx.now.plus_millis(SKEW_MILLIS);
    if answered.challenged_at <= binding.challenged_at && !is_wrong {
        return Err(RefreshError::UsedChallenge);
    }
    if !answered.proof.is_signed_with(&binding.key) {
        return Err(RefreshError::WrongKey(Box::new(session)));
    }
    Ok((session, binding))
}

/// A proof that answers a challenge.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'p> {
    /// The proof.
    pub proof: &'p Proof,
    /// When its challenge was issued.
    pub challenged_at: Timestamp,
    /// The tenant's limits for sessions.
    pub lifetime: Lifetime,
}

/// Accepts a proof of the session that is bound to the key with this thumbprint. The browser may get a new cookie.
///
/// # Errors
/// See [`find`].
pub async fn refresh(
    ctx: &Ctx,
    store: &mut dyn DeviceSessionStore,
    thumbprint: &[u8; 32],
    answered: &Answered<'_>,
) -> Result<(), RefreshError> {
    let (session, binding) = find(ctx, store, thumbprint, answered).await?;
    let binding = DeviceBinding { challenged_at: answered.challenged_at, ..binding };
    Ok(store.set_device(&session.id, &binding).await?)
}

/// Requires the cookie of a bound session. `cookie` reads the authentic cookie of the request.
///
/// # Errors
/// The reason to refuse the request. A session that is not bound needs no cookie.
pub fn check(
    session: &Session,
    tenant: &TenantId,
    now: Timestamp,
    cookie: impl FnOnce() -> Result<Option<BoundCookie>, Refused>,
) -> Result<(), Refused> {
    let Some(binding) = &session.device else { return Ok(()) };
    let age = now.unix_millis() - binding.bound_at.unix_millis();
    if (-SKEW_MILLIS..GRACE_MILLIS).contains(&age) {
        return Ok(());
    }
    match cookie()? {
        None => Err(Refused::NoCookie),
        Some(cookie) if cookie.bound != SessionIdentifier::of(tenant, &binding.key) => {
            Err(Refused::WrongCookie)
        }
        Some(cookie) if !cookie.is_valid(now) => Err(Refused::Expired),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kernel::{Actor, Env, ManualEnv, UserId};

    use super::*;
    use crate::{
        device_bound::proof::tests::{REFRESH, REGISTRATION},
        memory::MemorySessions,
        rules::{self, NewSession},
        session::Method,
        store::SessionStore,
    };

    struct World {
        env: Arc<ManualEnv>,
        tenant: TenantId,
        rows: MemorySessions,
    }

    impl World {
        fn new() -> Self {
            let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
            let tenant = TenantId::new(&*env);
            Self { env, tenant, rows: MemorySessions::default() }
        }

        fn ctx(&self) -> Ctx {
            Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("test"))
        }

        async fn open(&mut self, standing: Standing) -> Session {
            let new = NewSession {
                user: UserId::new(&*self.env),
                device_label: "Chrome on Windows".into(),
                location: None,
                standing,
                methods: vec![Method::Password],
                signed_in_at: None,
                foreign: None,
                grace: None,
                not_after: None,
            };
            rules::open(&self.ctx(), &mut self.rows, new).await.unwrap().unwrap()
        }

        async fn bind(&mut self, session: &Session, proof: &str) -> Result<DeviceBinding, BindError> {
            let (ctx, proof) = (self.ctx(), Proof::parse(proof).unwrap());
            bind(&ctx, &mut self.rows, &session.id, &proof, ctx.now).await
        }

        async fn refresh(&mut self, key: &[u8; 32], proof: &str, at: Timestamp) -> Result<(), RefreshError> {
            let (ctx, proof) = (self.ctx(), Proof::parse(proof).unwrap());
            let lifetime = Lifetime { idle_minutes: 60, absolute_days: 1 };
            refresh(&ctx, &mut self.rows, key, &Answered { proof: &proof, challenged_at: at, lifetime }).await
        }
    }

    #[test]
    fn refusals_have_names() {
        let all = [Refused::NoCookie, Refused::Expired, Refused::WrongCookie, Refused::WrongKey];
        assert_eq!(all.map(Refused::as_str), ["NO_COOKIE", "EXPIRED", "WRONG_COOKIE", "WRONG_KEY"]);
    }

    #[tokio::test]
    async fn only_a_new_complete_session_is_bound_and_only_once() {
        let mut world = World::new();
        let waiting = world.open(Standing::Owing).await;
        assert!(matches!(world.bind(&waiting, REGISTRATION).await, Err(BindError::NotPossible)));
        let revoked = world.open(Standing::Full).await;
        world.rows.revoke_session(&revoked.id, world.env.now()).await.unwrap();
        assert!(matches!(world.bind(&revoked, REGISTRATION).await, Err(BindError::NotPossible)));
        let session = world.open(Standing::Full).await;
        assert!(matches!(world.bind(&session, REFRESH).await, Err(BindError::Proof)), "no key");
        let other = REGISTRATION.replace("eyJqdGkiOiJjaGFsMSJ9", "eyJqdGkiOiJjaGFsMiJ9");
        assert!(matches!(world.bind(&session, &other).await, Err(BindError::Proof)), "not signed");
        let bound = world.bind(&session, REGISTRATION).await.unwrap();
        assert_eq!(bound.bound_at, world.env.now());
        assert!(matches!(world.bind(&session, REGISTRATION).await, Err(BindError::NotPossible)), "twice");
        let second = world.open(Standing::Full).await;
        assert!(
            matches!(world.bind(&second, REGISTRATION).await, Err(BindError::NotPossible)),
            "one key each"
        );
    }

    #[tokio::test]
    async fn a_proof_counts_once_and_only_with_the_key_of_the_session() {
        let mut world = World::new();
        let session = world.open(Standing::Full).await;
        let begun = world.env.now();
        let key = world.bind(&session, REGISTRATION).await.unwrap().key.thumbprint();
        let later = begun.plus_millis(1);
        let used = world.refresh(&key, REFRESH, begun).await;
        assert!(matches!(used, Err(RefreshError::UsedChallenge)), "the challenge of the registration");
        let forged = REFRESH.replace("qZ8Z", "qZ8Y");
        assert!(matches!(world.refresh(&key, &forged, later).await, Err(RefreshError::WrongKey(_))));
        assert!(matches!(world.refresh(&[0; 32], REFRESH, later).await, Err(RefreshError::NoSession)));
        assert!(world.refresh(&key, REFRESH, later).await.is_ok());
        assert_eq!(world.rows.session_of_key(&key).await.unwrap().unwrap().id, session.id);
        assert!(
            matches!(world.refresh(&key, REFRESH, later).await, Err(RefreshError::UsedChallenge)),
            "once"
        );
        // Five minutes are the difference that clocks may have.
        let tolerated = world.env.now().plus_millis(SKEW_MILLIS);
        assert!(world.refresh(&key, REFRESH, tolerated).await.is_ok());
        assert!(matches!(world.refresh(&key, REFRESH, tolerated).await, Err(RefreshError::UsedChallenge)));
        // The clock of the server that accepted the last challenge was an hour ahead.
        let ahead = later.plus_millis(3_600_000);
        assert!(world.refresh(&key, REFRESH, ahead).await.is_ok());
        assert!(
            world.refresh(&key, REFRESH, later.plus_millis(2)).await.is_ok(),
            "it does not lock the user out"
        );
        world.env.advance_millis(61 * 60_000);
        let over = world.refresh(&key, REFRESH, ahead.plus_millis(1)).await;
        assert!(matches!(over, Err(RefreshError::NoSession)), "the session is idle");
    }

    #[tokio::test]
    async fn a_bound_session_needs_its_cookie_after_the_grace() {
        let mut world = World::new();
        let session = world.open(Standing::Full).await;
        let (tenant, begun) = (world.tenant.clone(), world.env.now());
        let check = |session: &Session, tenant: &TenantId, cookie: Option<&BoundCookie>, now| {
            check(session, tenant, now, || Ok(cookie.cloned()))
        };
        assert_eq!(check(&session, &tenant, None, begun), Ok(()), "not bound");
        let binding = world.bind(&session, REGISTRATION).await.unwrap();
        let bound = SessionIdentifier::of(&tenant, &binding.key);
        let session = Session { device: Some(binding), ..session };
        let end = begun.plus_millis(GRACE_MILLIS);
        assert_eq!(check(&session, &tenant, None, end.plus_millis(-1)), Ok(()));
        assert_eq!(check(&session, &tenant, None, end), Err(Refused::NoCookie));
        let cookie = BoundCookie::new(&bound, begun);
        assert_eq!(check(&session, &tenant, Some(&cookie), cookie.until.plus_millis(-1)), Ok(()));
        assert_eq!(check(&session, &tenant, Some(&cookie), cookie.until), Err(Refused::Expired));
        let ahead = BoundCookie { until: cookie.until.plus_millis(3_600_000), ..cookie.clone() };
        assert_eq!(check(&session, &tenant, Some(&ahead), end), Err(Refused::Expired), "of a wrong clock");
        assert_eq!(check(&session, &tenant, None, begun.plus_millis(-3_600_000)), Err(Refused::NoCookie));
        let elsewhere = TenantId::new(&*world.env);
        assert_eq!(check(&session, &elsewhere, Some(&cookie), end), Err(Refused::WrongCookie));
        let other = BoundCookie { bound: SessionIdentifier { thumbprint: [0; 32], ..bound }, ..cookie };
        assert_eq!(check(&session, &tenant, Some(&other), begun), Ok(()), "of the previous session");
        assert_eq!(check(&session, &tenant, Some(&other), end), Err(Refused::WrongCookie));
        let forged = |now| super::check(&session, &tenant, now, || Err(Refused::WrongCookie));
        assert_eq!((forged(begun), forged(end)), (Ok(()), Err(Refused::WrongCookie)));
    }
}
