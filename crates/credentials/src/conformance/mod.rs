//! The test suites for implementations of the storage traits, an authenticator in software, and the manufacturer of
//! authenticators.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a conformance suite fails by panicking"
)]

mod authenticator;
mod maker;

use kernel::{Ctx, UserId};
use serde_json::json;

use crate::{
    AttemptStore, Factor, FactorData, FactorId, FactorStore, OriginHistory, Passkey, Salt, SignInMode,
    SignInPolicy, SignInStore, Ticket, TicketKind, TicketStore, attempts,
};

pub use authenticator::{Attests, Authenticator, NoTrustAnchors};
pub use maker::Maker;

/// Returns an authenticator app that was enrolled some milliseconds after `ctx`.
fn app(ctx: &Ctx, user: &UserId, millis: i64) -> Factor {
    let created_at = ctx.now.plus_millis(millis);
    Factor {
        id: FactorId::new(&*ctx.env),
        user: user.clone(),
        name: format!("App {millis}"),
        created_at,
        verified_at: None,
        last_used_at: None,
        data: FactorData::Totp { sealed: vec![7, 0, 255], last_step: -1 },
    }
}

/// Enrols, uses and removes the factors and recovery codes of two users, who exist and have none. `passkey` is enrolled
/// nowhere.
pub async fn factors(ctx: &Ctx, store: &mut dyn FactorStore, [ada, bob]: [&UserId; 2], passkey: &Passkey) {
    let (mut first, second) = (app(ctx, ada, 1), app(ctx, ada, 2));
    let key = Factor { data: FactorData::Passkey(Box::new(passkey.clone())), ..app(ctx, ada, 3) };
    let others = app(ctx, bob, 0);
    for factor in [&second, &first, &key, &others] {
        assert!(store.insert_factor(factor).await.unwrap());
    }
    assert_eq!(
        store.factors(ada).await.unwrap(),
        [first.clone(), second.clone(), key.clone()],
        "oldest first"
    );
    let again = Factor { id: FactorId::new(&*ctx.env), user: bob.clone(), ..key.clone() };
    assert!(!store.insert_factor(&again).await.unwrap(), "a tenant has each passkey once");
    let found = store.factor_of_credential(passkey.credential_id()).await.unwrap();
    assert_eq!(found, Some(key.clone()));
    assert_eq!(store.factor_of_credential(b"unknown").await.unwrap(), None);

    "Phone".clone_into(&mut first.name);
    first.verified_at = Some(ctx.now.plus_millis(10));
    first.last_used_at = Some(ctx.now.plus_millis(11));
    store.update_factor(&first).await.unwrap();
    assert_eq!(store.factors(ada).await.unwrap(), [first.clone(), second.clone(), key.clone()]);

    let used = |step, at: i64| (step, ctx.now.plus_millis(at));
    for ((step, at), is_new) in
        [(used(5, 20), true), (used(5, 21), false), (used(4, 22), false), (used(6, 23), true)]
    {
        assert_eq!(store.use_step(&first, step, at).await.unwrap(), is_new, "step {step}");
    }
    first.data = FactorData::Totp { sealed: vec![7, 0, 255], last_step: 6 };
    first.last_used_at = Some(ctx.now.plus_millis(23));
    assert_eq!(store.factors(ada).await.unwrap()[0], first);
    assert!(!store.use_step(&app(ctx, ada, 9), 1, ctx.now).await.unwrap(), "an unknown factor");

    let key = Factor { last_used_at: Some(ctx.now.plus_millis(30)), ..key };
    store.record_use(&key).await.unwrap();
    assert_eq!(store.factor_of_credential(passkey.credential_id()).await.unwrap(), Some(key.clone()));

    assert!(store.delete_factor(ada, &key.id).await.unwrap());
    assert!(!store.delete_factor(ada, &key.id).await.unwrap());
    assert!(!store.delete_factor(ada, &others.id).await.unwrap(), "another user's factor");
    store.drop_pending(ada).await.unwrap();
    assert_eq!(store.factors(ada).await.unwrap(), [first]);
    assert_eq!(store.factors(bob).await.unwrap(), [others]);
    codes(ctx, store, ada, bob).await;
}

async fn codes(ctx: &Ctx, store: &mut dyn FactorStore, ada: &UserId, bob: &UserId) {
    let (one, two, three) = ([1; 32], [2; 32], [3; 32]);
    assert_eq!(store.unused_codes(ada).await.unwrap(), 0);
    store.replace_codes(ada, &[one, two]).await.unwrap();
    store.replace_codes(bob, &[three]).await.unwrap();
    assert_eq!(store.unused_codes(ada).await.unwrap(), 2);
    for (user, code, is_valid) in
        [(ada, one, true), (ada, one, false), (ada, three, false), (bob, two, false)]
    {
        assert_eq!(store.use_code(user, &code, ctx.now).await.unwrap(), is_valid);
    }
    assert_eq!((store.unused_codes(ada).await.unwrap(), store.unused_codes(bob).await.unwrap()), (1, 1));
    store.replace_codes(ada, &[]).await.unwrap();
    assert!(!store.use_code(ada, &two, ctx.now).await.unwrap(), "replaced");
    assert!(store.use_code(bob, &three, ctx.now).await.unwrap());

    for expected in 0..3 {
        assert_eq!(store.wrong_codes(ada).await.unwrap(), expected);
        store.count_wrong_code(ada).await.unwrap();
    }
    assert_eq!(store.wrong_codes(bob).await.unwrap(), 0);
    store.clear_wrong_codes(ada).await.unwrap();
    assert_eq!(store.wrong_codes(ada).await.unwrap(), 0);
}

/// Inserts, changes and takes tickets of two users, who exist and have none.
pub async fn tickets(ctx: &Ctx, store: &mut dyn TicketStore, ada: &UserId, bob: &UserId) {
    let new = |hash, user: &UserId| {
        Ticket::new(hash, TicketKind::Factor, user.clone(), json!({ "step": [1, "é"] }), ctx.now)
    };
    let (mut first, second, others) = (new([1; 32], ada), new([2; 32], ada), new([3; 32], bob));
    for ticket in [&first, &second, &others] {
        store.insert_ticket(ticket).await.unwrap();
    }
    assert_eq!(store.ticket(&first.hash).await.unwrap(), Some(first.clone()));
    assert_eq!(store.ticket(&[9; 32]).await.unwrap(), None);
    first.state = json!({ "step": 2 });
    first.wrong_answers = 3;
    store.update_ticket(&first).await.unwrap();
    assert_eq!(store.ticket(&first.hash).await.unwrap(), Some(first.clone()));
    assert_eq!(store.ticket(&second.hash).await.unwrap(), Some(second.clone()));
    assert!(store.take_ticket(&first.hash).await.unwrap());
    assert!(!store.take_ticket(&first.hash).await.unwrap(), "once");
    assert_eq!(store.ticket(&first.hash).await.unwrap(), None);
    store.drop_tickets(ada).await.unwrap();
    assert_eq!(store.ticket(&second.hash).await.unwrap(), None);
    assert_eq!(store.ticket(&others.hash).await.unwrap(), Some(others));
}

/// Stores passwords, origins, notices and the policy. The two users exist and have no password.
pub async fn sign_in(ctx: &Ctx, store: &mut dyn SignInStore, ada: &UserId, bob: &UserId) {
    assert_eq!(store.password(ada).await.unwrap(), None);
    store.set_password(ada, "first", ctx.now).await.unwrap();
    store.set_password(bob, "other", ctx.now).await.unwrap();
    store.set_password(ada, "second", ctx.now).await.unwrap();
    store.renew_password_hash(ada, "third").await.unwrap();
    assert_eq!(store.password(ada).await.unwrap().as_deref(), Some("third"));
    assert!(store.delete_password(ada).await.unwrap());
    assert!(!store.delete_password(ada).await.unwrap());
    assert_eq!(store.password(ada).await.unwrap(), None);
    assert_eq!(store.password(bob).await.unwrap().as_deref(), Some("other"));

    let (salt, other) = (Salt::random(&*ctx.env), Salt::random(&*ctx.env));
    for (address, new, expected) in
        [("ada@example.com", salt, salt), ("ada@example.com", other, salt), ("bob@example.com", other, other)]
    {
        let stored = store.password_salt(address, new).await.unwrap();
        assert_eq!(stored.as_bytes(), expected.as_bytes(), "{address}");
    }
    let history = [
        (ada, "192.0.2.1", OriginHistory::First),
        (ada, "192.0.2.1", OriginHistory::Known),
        (ada, "192.0.2.2", OriginHistory::New),
        (bob, "192.0.2.2", OriginHistory::First),
    ];
    for (user, origin, expected) in history {
        let was_known = store.knows_origin(user, origin).await.unwrap();
        let noted = store.note_origin(user, origin, ctx.now).await.unwrap();
        assert_eq!((noted, was_known), (expected, expected == OriginHistory::Known), "{origin}");
        assert!(store.knows_origin(user, origin).await.unwrap());
    }
    for (hash, is_new) in [([1; 32], true), ([1; 32], false), ([2; 32], true)] {
        assert_eq!(store.consume_challenge(&hash, ctx.now.plus_millis(60_000)).await.unwrap(), is_new);
    }
    notices(store, ada, bob).await;
    policy(store).await;
}

async fn notices(store: &mut dyn SignInStore, ada: &UserId, bob: &UserId) {
    for text in ["one", "two", "one"] {
        store.add_notice(ada, text).await.unwrap();
    }
    store.add_notice(bob, "other").await.unwrap();
    let mut shown = store.notices(ada).await.unwrap();
    shown.sort_unstable();
    assert_eq!(shown, ["one", "two"], "each once");
    let newest = store.notices(ada).await.unwrap().into_iter().next();
    assert_eq!(store.consume_notice(ada).await.unwrap(), newest);
    assert_eq!(store.notices(ada).await.unwrap().len(), 1);
    assert!(store.consume_notice(ada).await.unwrap().is_some());
    assert_eq!(store.consume_notice(ada).await.unwrap(), None);
    assert_eq!(store.notices(bob).await.unwrap(), ["other"]);
}

async fn policy(store: &mut dyn SignInStore) {
    assert_eq!(store.sign_in_policy().await.unwrap(), SignInPolicy::default());
    let mut strict = SignInPolicy { sign_in_mode: SignInMode::SsoRequired, ..SignInPolicy::default() };
    strict.mfa.required = true;
    store.set_sign_in_policy(&strict).await.unwrap();
    assert_eq!(store.sign_in_policy().await.unwrap(), strict);
    assert_eq!(store.sign_in_policy_to_change().await.unwrap(), strict);
}

/// Counts attempts of three keys that have none.
pub async fn attempts(ctx: &Ctx, store: &mut dyn AttemptStore) {
    let key = |session: &str| attempts::step_up(session)[0].key;
    let mut keys = [key("conformance 1"), key("conformance 2"), key("conformance 3")];
    keys.sort_unstable();
    assert_eq!(store.attempts(&keys).await.unwrap(), [const { Vec::<i64>::new() }; 3]);
    let until = ctx.now.plus_millis(60_000);
    let now = ctx.now.unix_millis();
    let kept = [(keys[0], vec![now], until), (keys[2], vec![now - 1, now], until)];
    store.record_attempts(&kept).await.unwrap();
    assert_eq!(store.attempts(&keys).await.unwrap(), [vec![now], vec![], vec![now - 1, now]]);
    store.record_attempts(&[(keys[0], vec![now, now + 1], until)]).await.unwrap();
    assert_eq!(store.attempts(&keys[..1]).await.unwrap(), [vec![now, now + 1]], "replaced");
}
