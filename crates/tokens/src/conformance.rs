//! The test suites for implementations of the storage traits.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a conformance suite fails by panicking")]

use std::collections::BTreeSet;

use kernel::{Ctx, UserId};

use crate::{
    NewScimToken, Pat, PatError, PatId, PatStore, ScimTokenError, ScimTokenId, ScimTokenStore, Scope, mint,
    pat::{self, NewPat},
    removals::{HeldRemoval, RemovalKind, RemovalLimit, RemovalState, RemovalStore},
    revoke,
};

/// Mints, lists and revokes personal access tokens of two users, who exist and have none.
pub async fn pats(ctx: &Ctx, store: &mut dyn PatStore, ada: &UserId, bob: &UserId) {
    let new = |name: &str, days| NewPat {
        name: name.to_owned(),
        scopes: vec![Scope::ReadProfile, Scope::AdminTenant],
        expires_in_days: days,
    };
    let (mut first, mut raw) = pat::mint(ctx, store, ada, new("first", None)).await.unwrap();
    let (mut second, other) = pat::mint(ctx, store, ada, new("second", Some(7))).await.unwrap();
    if second.id < first.id {
        // They are of the same millisecond.
        std::mem::swap(&mut first, &mut second);
        raw = other;
    }
    let (others, _) = pat::mint(ctx, store, bob, new("other", None)).await.unwrap();
    assert!(first.hash == raw.hash() && first.hash != second.hash);
    assert_eq!(
        store.pat(&second.id).await.unwrap(),
        Some(second.clone()),
        "the stored token equals the minted one"
    );
    assert_eq!(store.pat(&PatId::new(&*ctx.env)).await.unwrap(), None);
    assert_eq!(store.pats_of(ada).await.unwrap(), [second.clone(), first.clone()], "newest first");

    let revoked = ctx.now.plus_millis(5);
    assert!(store.revoke_pat(&first.id, revoked).await.unwrap());
    assert!(!store.revoke_pat(&first.id, revoked.plus_millis(5)).await.unwrap(), "once");
    assert!(!store.revoke_pat(&PatId::new(&*ctx.env), revoked).await.unwrap(), "an unknown token");
    let kept = Pat { revoked_at: Some(revoked), ..first.clone() };
    assert_eq!(store.pat(&first.id).await.unwrap(), Some(kept), "with the time of the first revocation");
    assert_eq!(store.pats_of(ada).await.unwrap(), std::slice::from_ref(&second));

    let foreign = pat::revoke(ctx, store, ada, &others.id).await;
    assert!(matches!(foreign, Err(PatError::NotFound)), "another user's token");
    assert_eq!(store.pats_of(bob).await.unwrap(), std::slice::from_ref(&others));
    assert_eq!(pat::revoke_all(ctx, store, ada).await.unwrap(), [second.id]);
    assert!(store.pats_of(ada).await.unwrap().is_empty());
    assert_eq!(store.pats_of(bob).await.unwrap(), [others]);
}

/// Mints, lists and revokes SCIM tokens of a tenant that has none.
pub async fn scim_tokens(ctx: &Ctx, store: &mut dyn ScimTokenStore) {
    let new = |name: &str| NewScimToken { name: name.to_owned(), create_conflict: true, dry_run: false };
    let (mut okta, mut raw) = mint(ctx, store, new("Okta")).await.unwrap();
    let (mut entra, other) = mint(ctx, store, new("Entra")).await.unwrap();
    if entra.id < okta.id {
        // They are of the same millisecond.
        std::mem::swap(&mut okta, &mut entra);
        raw = other;
    }
    assert_eq!(okta.hash, raw.hash());
    assert_eq!(
        store.scim_token(&okta.id).await.unwrap(),
        Some(okta.clone()),
        "the stored token equals the minted one"
    );
    assert_eq!(store.scim_token(&ScimTokenId::new(&*ctx.env)).await.unwrap(), None);
    assert_eq!(store.scim_tokens().await.unwrap(), [entra.clone(), okta.clone()], "newest first");

    revoke(ctx, store, &okta.id).await.unwrap();
    assert!(matches!(revoke(&later(ctx, 5), store, &okta.id).await, Err(ScimTokenError::NotFound)), "once");
    let unknown = revoke(ctx, store, &ScimTokenId::new(&*ctx.env)).await;
    assert!(matches!(unknown, Err(ScimTokenError::NotFound)));
    let kept = store.scim_token(&okta.id).await.unwrap().unwrap();
    assert_eq!(kept.revoked_at, Some(ctx.now), "with the time of the first revocation");
    assert_eq!(store.scim_tokens().await.unwrap(), [entra]);
}

/// Pauses, counts and holds removals by `token`. It and `other` are live tokens, and `users` are three users of the
/// tenant, who exist and are active.
pub async fn removals(
    ctx: &Ctx,
    store: &mut dyn RemovalStore,
    [token, other]: [&ScimTokenId; 2],
    users: [&UserId; 3],
) {
    assert_eq!(store.removal_limit().await.unwrap(), RemovalLimit::default());
    let limit = RemovalLimit { enabled: true, percent: 7, users: 70 };
    store.set_removal_limit(&limit).await.unwrap();
    assert_eq!(store.removal_limit().await.unwrap(), limit);

    assert_eq!(store.removal_state(token).await.unwrap(), Some(RemovalState::default()));
    let state = RemovalState { paused_at: Some(ctx.now), counted: Some((3, ctx.now)) };
    store.set_removal_state(token, &state).await.unwrap();
    assert_eq!(store.removal_state(token).await.unwrap(), Some(state));
    assert_eq!(store.removal_state(other).await.unwrap(), Some(RemovalState::default()));

    recorded(ctx, store, [token, other], users).await;
    held(ctx, store, [token, other], users).await;
}

async fn recorded(
    ctx: &Ctx,
    store: &mut dyn RemovalStore,
    [token, other]: [&ScimTokenId; 2],
    [ada, bob, eve]: [&UserId; 3],
) {
    let at = |millis| ctx.now.plus_millis(millis);
    for (user, millis) in [(ada, 0), (bob, 10), (ada, 20)] {
        store.record_removal(token, user, at(millis)).await.unwrap();
    }
    for (of, than, since, expected) in [
        (token, eve, -1, 2),
        (token, ada, -1, 1),
        (token, eve, 10, 1),
        (token, eve, 20, 0),
        (other, eve, -1, 0),
    ] {
        assert_eq!(store.count_removals(of, than, at(since)).await.unwrap(), expected, "after {since}");
    }
    store.forget_removals(other).await.unwrap();
    assert_eq!(store.count_removals(token, eve, at(-1)).await.unwrap(), 2);
    store.forget_removals(token).await.unwrap();
    assert_eq!(store.count_removals(token, eve, at(-1)).await.unwrap(), 0);
}

async fn held(
    ctx: &Ctx,
    store: &mut dyn RemovalStore,
    [token, other]: [&ScimTokenId; 2],
    users: [&UserId; 3],
) {
    let sorted: Vec<_> = users.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    let [first, second, third] = sorted.as_slice() else { return };
    let of = |user: &UserId, kind, millis| HeldRemoval {
        user: user.clone(),
        kind,
        at: ctx.now.plus_millis(millis),
    };
    // Of the removals of a user, the first is held, unless a later one deletes the user.
    let deleted = of(first, RemovalKind::Delete, 2);
    let disabled = of(second, RemovalKind::Deactivate, 3);
    for removal in [
        &of(first, RemovalKind::Deactivate, 1),
        &deleted,
        &of(first, RemovalKind::Deactivate, 4),
        &disabled,
        &of(second, RemovalKind::Deactivate, 5),
    ] {
        store.hold_removal(token, removal).await.unwrap();
    }
    let elsewhere = of(third, RemovalKind::Delete, 0);
    store.hold_removal(other, &elsewhere).await.unwrap();

    let both = [deleted, disabled];
    assert_eq!(store.held_removals(token, None, 10).await.unwrap(), both);
    assert_eq!(store.held_removals(token, None, 1).await.unwrap(), both[..1]);
    assert_eq!(store.held_removals(token, Some(first), 10).await.unwrap(), both[1..]);
    assert_eq!(store.count_held_removals(token).await.unwrap(), 2);
    store.drop_held_removal(token, third).await.unwrap();
    store.drop_held_removal(token, first).await.unwrap();
    assert_eq!(store.held_removals(token, None, 10).await.unwrap(), both[1..]);
    store.drop_held_removals(token).await.unwrap();
    assert_eq!(store.count_held_removals(token).await.unwrap(), 0);
    assert_eq!(store.held_removals(other, None, 10).await.unwrap(), [elsewhere]);
}

/// Returns the context of an operation that begins later, in milliseconds.
fn later(ctx: &Ctx, millis: i64) -> Ctx {
    Ctx { now: ctx.now.plus_millis(millis), ..ctx.clone() }
}
