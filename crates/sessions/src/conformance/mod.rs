//! The test suites for implementations of the storage traits, and generated sessions with their reference model.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a conformance suite fails by panicking"
)]

mod sequence;

use kernel::{Ctx, UserId};
use serde_json::json;

use crate::{
    DeviceSessionStore, GraceAct, GraceKind, Method, NewSession, Session, SessionId, SessionStore, Standing,
    device_bound::{DeviceBinding, DeviceKey},
    open,
};

pub use sequence::{ActionCounts, sequence};

/// Starts a session that began some milliseconds after `ctx`.
async fn started(ctx: &Ctx, store: &mut dyn SessionStore, user: &UserId, millis: i64) -> Session {
    let ctx = Ctx { now: ctx.now.plus_millis(millis), ..ctx.clone() };
    open(&ctx, store, new(user, None)).await.unwrap().unwrap()
}

fn new(user: &UserId, foreign: Option<[u8; 32]>) -> NewSession {
    NewSession {
        user: user.clone(),
        device_label: "Firefox on Linux".to_owned(),
        location: Some("Bern, Switzerland".to_owned()),
        standing: Standing::Owing,
        methods: vec![Method::Password],
        signed_in_at: None,
        foreign,
        grace: Some(GraceKind::FirstFactor),
        not_after: None,
    }
}

/// Starts, changes and revokes sessions of two users, who exist and have none.
pub async fn sessions(ctx: &Ctx, store: &mut dyn SessionStore, ada: &UserId, bob: &UserId) {
    let first = started(ctx, store, ada, 0).await;
    let second = started(ctx, store, ada, 1).await;
    let others = started(ctx, store, bob, 2).await;
    assert_eq!(
        store.session(&first.id).await.unwrap(),
        Some(first.clone()),
        "the stored session equals the new one"
    );
    assert_eq!(store.session(&SessionId::new(&*ctx.env)).await.unwrap(), None);
    assert_eq!(store.sessions_of(ada).await.unwrap(), [second.clone(), first.clone()], "last used first");

    let mut changed = first.clone();
    changed.record_use(ctx.now.plus_millis(10), Some([192, 0, 2, 9].into()), "Chrome".to_owned(), None);
    changed.standing = Standing::Full;
    changed.proved(Method::Totp, ctx.now.plus_millis(10));
    changed.consume(GraceAct::Enrol);
    store.update_session(&changed).await.unwrap();
    assert_eq!(store.sessions_of(ada).await.unwrap(), [changed.clone(), second.clone()]);

    let renamed = Session { id: SessionId::new(&*ctx.env), ..changed.clone() };
    store.rename_session(&changed.id, &renamed.id, ctx.now).await.unwrap();
    assert_eq!(store.session(&changed.id).await.unwrap(), None);
    assert_eq!(store.session(&renamed.id).await.unwrap(), Some(renamed.clone()));

    let at = ctx.now.plus_millis(20);
    assert!(store.revoke_session(&second.id, at).await.unwrap());
    assert!(!store.revoke_session(&second.id, at.plus_millis(1)).await.unwrap(), "once");
    assert!(!store.revoke_session(&changed.id, at).await.unwrap(), "an unknown session");
    let kept = store.session(&second.id).await.unwrap().unwrap();
    assert_eq!(kept.revoked_at, Some(at), "with the time of the first revocation");
    assert_eq!(store.sessions_of(ada).await.unwrap(), std::slice::from_ref(&renamed));

    let third = started(ctx, store, ada, 3).await;
    assert_eq!(store.refused_until(ada).await.unwrap(), None);
    assert_eq!(store.revoke_sessions(ada, at, Some(&third.id)).await.unwrap(), 1);
    assert_eq!(store.refused_until(ada).await.unwrap(), Some(at));
    assert_eq!(store.sessions_of(ada).await.unwrap(), std::slice::from_ref(&third));
    assert_eq!(store.revoke_sessions(ada, at, None).await.unwrap(), 1);
    assert_eq!(store.revoke_sessions(ada, at, None).await.unwrap(), 0);
    assert_eq!(store.sessions_of(bob).await.unwrap(), [others]);
    assert_eq!(store.refused_until(bob).await.unwrap(), None);
    foreign(ctx, store, bob).await;
}

/// Tokens of another service on the same site start one session each, unless they are refused.
async fn foreign(ctx: &Ctx, store: &mut dyn SessionStore, bob: &UserId) {
    for (token, is_new) in [([1; 32], true), ([1; 32], false), ([2; 32], true)] {
        let opened = open(ctx, store, new(bob, Some(token))).await.unwrap();
        assert_eq!(opened.is_some(), is_new);
    }
    for (until, expected) in [(10, 10), (5, 10), (11, 11)] {
        store.refuse_tokens_until(bob, ctx.now.plus_millis(until)).await.unwrap();
        let refused = store.refused_until(bob).await.unwrap();
        assert_eq!(refused, Some(ctx.now.plus_millis(expected)), "the latest time stays");
    }
}

/// Binds a session of `user`, who exists, to a key.
pub async fn bound_sessions(ctx: &Ctx, store: &mut impl DeviceSessionStore, user: &UserId) {
    let key = |letter: &str| {
        let coordinate = format!("{}A", letter.repeat(42));
        let key = json!({ "kty": "EC", "crv": "P-256", "x": coordinate, "y": coordinate });
        serde_json::from_value::<DeviceKey>(key).unwrap()
    };
    let session = open(ctx, store, new(user, None)).await.unwrap().unwrap();
    let other = open(ctx, store, new(user, None)).await.unwrap().unwrap();
    assert_eq!(session.device, None);
    let mut binding = DeviceBinding { key: key("B"), bound_at: ctx.now, challenged_at: ctx.now };
    store.set_device(&session.id, &binding).await.unwrap();
    binding.challenged_at = ctx.now.plus_millis(1);
    store.set_device(&session.id, &binding).await.unwrap();

    let thumbprint = binding.key.thumbprint();
    let bound = Session { device: Some(binding), ..session };
    assert_eq!(store.session_of_key(&thumbprint).await.unwrap(), Some(bound.clone()));
    assert_eq!(store.session_of_key(&key("C").thumbprint()).await.unwrap(), None);
    assert_eq!(store.session(&other.id).await.unwrap(), Some(other));
    assert!(store.revoke_session(&bound.id, ctx.now).await.unwrap());
    let found = store.session_of_key(&thumbprint).await.unwrap().unwrap();
    assert_eq!((found.id, found.revoked_at), (bound.id, Some(ctx.now)), "even if it is revoked");
}
