//! The test suite for implementations of [`StepUpStore`], generated step-ups with their reference model, and the fuzz target.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a conformance suite fails by panicking"
)]

pub mod fuzz;
mod sequence;

pub use sequence::{ActionCounts, sequence};

use std::net::{IpAddr, Ipv4Addr};

use kernel::{Ctx, Id, UserId};
use serde_json::json;

use crate::{Challenge, Consumption, Factor, Grant, StepUpStore};

fn grant(ctx: &Ctx, user: &UserId, session: &str, purpose: &str) -> Grant {
    Grant {
        id: Id::new(&*ctx.env),
        user: user.clone(),
        session: session.to_owned(),
        purpose: purpose.to_owned(),
        factor: Factor::Totp,
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        issued_at: ctx.now,
        expires_at: ctx.now.plus_millis(60_000),
    }
}

/// Inserts, consumes, revokes and deletes challenges and grants.
pub async fn store(ctx: &Ctx, store: &mut dyn StepUpStore) {
    let (ada, bob) = (UserId::new(&*ctx.env), UserId::new(&*ctx.env));
    challenges(ctx, store, &ada, &bob).await;

    let first = grant(ctx, &ada, "one", "SEAL");
    store.insert_grant(&first).await.unwrap();
    assert_eq!(
        store.freshest_grant(&ada, "SEAL", ctx.now).await.unwrap(),
        Some(first.clone()),
        "the stored grant equals the inserted one"
    );
    for (user, purpose, now) in
        [(&bob, "SEAL", ctx.now), (&ada, "SHIP", ctx.now), (&ada, "SEAL", first.expires_at)]
    {
        assert_eq!(store.freshest_grant(user, purpose, now).await.unwrap(), None);
    }
    let mut later = grant(ctx, &ada, "two", "SEAL");
    later.issued_at = ctx.now.plus_millis(1000);
    store.insert_grant(&later).await.unwrap();
    let freshest = store.freshest_grant(&ada, "SEAL", ctx.now).await.unwrap();
    assert_eq!(freshest.as_ref(), Some(&later));

    assert_eq!(store.consume_grant(&later.id, ctx.now).await.unwrap(), Consumption::Now);
    assert_eq!(store.consume_grant(&later.id, ctx.now).await.unwrap(), Consumption::Already);
    assert_eq!(store.consume_grant(&Id::new(&*ctx.env), ctx.now).await.unwrap(), Consumption::Revoked);
    let freshest = store.freshest_grant(&ada, "SEAL", ctx.now).await.unwrap();
    assert_eq!(freshest.as_ref(), Some(&first));

    let others = grant(ctx, &bob, "three", "SEAL");
    store.insert_grant(&others).await.unwrap();
    assert_eq!(store.revoke_grants(&ada, ctx.now).await.unwrap(), 1);
    assert_eq!(store.revoke_grants(&ada, ctx.now).await.unwrap(), 0);
    assert_eq!(store.consume_grant(&first.id, ctx.now).await.unwrap(), Consumption::Revoked);
    assert_eq!(store.consume_grant(&later.id, ctx.now).await.unwrap(), Consumption::Already);
    assert_eq!(store.consume_grant(&others.id, ctx.now).await.unwrap(), Consumption::Now);
}

async fn challenges(ctx: &Ctx, store: &mut dyn StepUpStore, ada: &UserId, bob: &UserId) {
    let new = |user: &UserId, session: &str| Challenge {
        id: Id::new(&*ctx.env),
        user: user.clone(),
        session: session.to_owned(),
        purpose: "SEAL".to_owned(),
        factors: vec![Factor::Webauthn, Factor::Totp],
        state: json!({ "asked": [1, 2] }),
        created_at: ctx.now,
        wrong_answers: 0,
    };
    let mut challenge = new(ada, "one");
    store.insert_challenge(&challenge, 2).await.unwrap();
    challenge.wrong_answers = 3;
    store.count_wrong_answer(&challenge).await.unwrap();
    assert_eq!(store.challenge(&challenge.id).await.unwrap(), Some(challenge.clone()));
    assert!(store.take_challenge(&challenge.id).await.unwrap());
    assert!(!store.take_challenge(&challenge.id).await.unwrap());
    assert_eq!(store.challenge(&challenge.id).await.unwrap(), None);

    // New challenges delete the oldest of the same session, and of no other.
    let other = new(bob, "two");
    store.insert_challenge(&other, 2).await.unwrap();
    let mut asked = Vec::new();
    for millis in 0..4 {
        let one = Challenge { created_at: ctx.now.plus_millis(millis), ..new(ada, "one") };
        store.insert_challenge(&one, 2).await.unwrap();
        asked.push(one.id);
    }
    let mut there = Vec::new();
    for id in asked.iter().chain([&other.id]) {
        there.push(store.challenge(id).await.unwrap().is_some());
    }
    assert_eq!(there, [false, false, true, true, true]);
    store.revoke_grants(ada, ctx.now).await.unwrap();
    for (id, stays) in asked.iter().zip([false; 4]).chain([(&other.id, true)]) {
        assert_eq!(store.challenge(id).await.unwrap().is_some(), stays);
    }
}
