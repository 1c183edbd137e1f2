//! The in-memory stores, and the rules over them.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use kernel::{Actor, Ctx, Env, ManualEnv, TenantId, UserId};
use tokens::{
    MemoryTokens, NewScimToken, Pat, PatError, PatStore, RawToken, ScimRefusal, ScimTokenError, ScimTokenId,
    Scope, TokenKind, conformance, mint,
    pat::{self, Limits, MAX_TOKENS, NewPat},
    removals::MemoryRemovals,
    revoke,
};

const DAY: i64 = 24 * 60 * 60_000;

fn ctx() -> Ctx {
    let env: Arc<dyn Env> = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let tenant = TenantId::new(&*env);
    Ctx::new(env, tenant, Actor::system("test"))
}

fn user(ctx: &Ctx) -> UserId {
    UserId::new(&*ctx.env)
}

fn new_pat(days: Option<i64>) -> NewPat {
    NewPat { name: " CI ".into(), scopes: vec![Scope::ReadHcm], expires_in_days: days }
}

#[tokio::test]
async fn stores_pass_the_suites() {
    let ctx = ctx();
    let mut tokens = MemoryTokens::default();
    conformance::pats(&ctx, &mut tokens, &user(&ctx), &user(&ctx)).await;
    conformance::scim_tokens(&ctx, &mut tokens).await;
    let ids = [ScimTokenId::new(&*ctx.env), ScimTokenId::new(&*ctx.env)];
    let users = [user(&ctx), user(&ctx), user(&ctx)];
    let mut removals = MemoryRemovals::default();
    conformance::removals(&ctx, &mut removals, ids.each_ref(), users.each_ref()).await;
}

#[tokio::test]
async fn personal_access_token_has_the_choices_of_its_user() {
    let (ctx, mut store) = (ctx(), MemoryTokens::default());
    let ada = user(&ctx);
    let (token, raw) = pat::mint(&ctx, &mut store, &ada, new_pat(Some(3))).await.unwrap();
    let read = RawToken::parse(raw.expose()).unwrap();
    assert_eq!((read.kind(), read.tenant(), read.hash()), (TokenKind::Pat, &ctx.tenant, token.hash.clone()));
    assert_eq!((&token.user, token.name.as_str(), token.created_at), (&ada, "CI", ctx.now));
    assert_eq!(token.expires_at, Some(ctx.now.plus_millis(3 * DAY)));

    let at = |millis| ctx.now.plus_millis(millis);
    assert!(token.is_live(at(3 * DAY - 1)) && !token.is_live(at(3 * DAY)));
    let unlimited = Pat { expires_at: None, ..token.clone() };
    assert!(unlimited.is_live(at(1000 * DAY)));
    assert!(!Pat { revoked_at: Some(at(5)), ..unlimited }.is_live(at(0)), "a revoked token is never live");

    assert!(matches!(pat::mint(&ctx, &mut store, &ada, new_pat(Some(367))).await, Err(PatError::Days)));
    assert!(pat::mint(&ctx, &mut store, &ada, new_pat(Some(366))).await.is_ok());
}

#[tokio::test]
async fn expired_tokens_do_not_count_as_live() {
    let (ctx, mut store) = (ctx(), MemoryTokens::default());
    let (ada, bob) = (user(&ctx), user(&ctx));
    for _ in 0..MAX_TOKENS {
        pat::mint(&ctx, &mut store, &ada, new_pat(Some(1))).await.unwrap();
    }
    assert!(matches!(pat::mint(&ctx, &mut store, &ada, new_pat(None)).await, Err(PatError::TooMany)));
    assert!(pat::mint(&ctx, &mut store, &bob, new_pat(None)).await.is_ok());
    let tomorrow = Ctx { now: ctx.now.plus_millis(DAY), ..ctx.clone() };
    let (live, _) = pat::mint(&tomorrow, &mut store, &ada, new_pat(None)).await.unwrap();
    assert_eq!(
        pat::revoke_all(&tomorrow, &mut store, &ada).await.unwrap(),
        [live.id],
        "expired ones end by themselves"
    );
    assert_eq!(store.pats_of(&bob).await.unwrap().len(), 1);
}

#[tokio::test]
async fn user_revokes_only_their_own_token_and_only_once() {
    let (ctx, mut store) = (ctx(), MemoryTokens::default());
    let (ada, bob) = (user(&ctx), user(&ctx));
    let (token, _) = pat::mint(&ctx, &mut store, &ada, new_pat(None)).await.unwrap();
    assert!(matches!(pat::revoke(&ctx, &mut store, &bob, &token.id).await, Err(PatError::NotFound)));
    assert!(store.pat(&token.id).await.unwrap().unwrap().is_live(ctx.now));
    pat::revoke(&ctx, &mut store, &ada, &token.id).await.unwrap();
    assert!(!store.pat(&token.id).await.unwrap().unwrap().is_live(ctx.now));
    assert!(matches!(pat::revoke(&ctx, &mut store, &ada, &token.id).await, Err(PatError::NotFound)));
}

#[test]
fn scopes_and_choices_say_what_they_permit() {
    let writes: Vec<_> = Scope::ALL.into_iter().filter(|scope| scope.writes()).collect();
    assert_eq!(writes, [Scope::WriteProfile, Scope::WriteHcm]);
    for scope in Scope::ALL {
        assert_eq!(scope.as_str().parse(), Ok(scope));
        assert_eq!(scope.to_string(), scope.as_str());
        let new = NewPat { scopes: vec![scope], ..new_pat(None) };
        assert_eq!((new.is_administrative(), new.writes()), (scope == Scope::AdminTenant, scope.writes()));
    }
    let limits = Limits { max_days: Some(30), allowed: vec![Scope::ReadHcm] };
    assert!(new_pat(Some(30)).within(&limits).is_ok() && new_pat(Some(31)).within(&limits).is_err());
    let named = |name: &str| NewPat { name: name.into(), ..new_pat(None) }.check().is_ok();
    assert!(named(&"é".repeat(100)) && !named(&"é".repeat(101)) && !named("a\u{7}b") && !named(" "));
}

#[tokio::test]
async fn scim_tokens_have_a_name_and_dry_runs_are_few() {
    let (ctx, mut store) = (ctx(), MemoryTokens::default());
    let new = |name: &str, dry_run| NewScimToken { name: name.into(), create_conflict: false, dry_run };
    for name in ["", " ", "a\nb", &"é".repeat(101)] {
        assert!(
            matches!(mint(&ctx, &mut store, new(name, false)).await, Err(ScimTokenError::Name)),
            "{name:?}"
        );
    }
    let (token, raw) = mint(&ctx, &mut store, new(&format!(" {} ", "é".repeat(100)), false)).await.unwrap();
    assert_eq!((token.name.as_str(), raw.kind()), ("é".repeat(100).as_str(), TokenKind::Scim));

    let mut dry = Vec::new();
    for _ in 0..tokens::MAX_DRY_RUNS {
        let (token, raw) = mint(&ctx, &mut store, new("trial", true)).await.unwrap();
        assert_eq!(raw.kind(), TokenKind::DryRun);
        dry.push(token.id);
    }
    let sixth = mint(&ctx, &mut store, new("trial", true)).await;
    assert!(matches!(sixth, Err(ScimTokenError::TooManyDryRuns)));
    assert!(mint(&ctx, &mut store, new("Okta", false)).await.is_ok(), "other tokens are not limited");
    revoke(&ctx, &mut store, &dry[0]).await.unwrap();
    assert!(mint(&ctx, &mut store, new("trial", true)).await.is_ok());
}

#[test]
fn tokens_of_every_kind_are_told_apart_by_their_prefix() {
    let ctx = ctx();
    for (kind, prefix) in [
        (TokenKind::Scim, "scim_"),
        (TokenKind::DryRun, "dryrun_"),
        (TokenKind::Pat, "pat_"),
        (TokenKind::Ticket, "tkt_"),
        (TokenKind::Link, "lnk_"),
        (TokenKind::Signals, "ssf_"),
        (TokenKind::SignalPush, "push_"),
    ] {
        let raw = RawToken::mint(&*ctx.env, kind, &ctx.tenant);
        assert!(raw.expose().starts_with(prefix), "{prefix}");
        let read = RawToken::parse(raw.expose()).unwrap();
        assert_eq!(read.kind(), kind);
        let other = if kind == TokenKind::Pat { TokenKind::Scim } else { TokenKind::Pat };
        assert!(read.of_kind(other).is_none());
        assert!(RawToken::parse(raw.expose()).unwrap().of_kind(kind).is_some());
        let hash = raw.hash();
        assert_eq!(tokens::TokenHash::from_bytes(hash.as_bytes()), Some(hash.clone()));
        assert!(tokens::TokenHash::from_bytes(&hash.as_bytes()[1..]).is_none());
        assert_eq!(format!("{hash:?}"), "TokenHash(…)");
    }
}

#[test]
fn refusals_differ_by_everything_but_number_and_time() {
    let ctx = ctx();
    let refusal = ScimRefusal {
        token: ScimTokenId::new(&*ctx.env),
        method: "POST".into(),
        target: "/Users".into(),
        subject: Some("ada".into()),
        status: 409,
        scim_type: Some("uniqueness".into()),
        detail: "taken".into(),
        times: 1,
        last_at: ctx.now,
    };
    let same = ScimRefusal { times: 2, last_at: ctx.now.plus_millis(1), ..refusal.clone() };
    assert_eq!(same.id(), refusal.id());
    for other in [
        ScimRefusal { token: ScimTokenId::new(&*ctx.env), ..refusal.clone() },
        ScimRefusal { method: "PUT".into(), ..refusal.clone() },
        ScimRefusal { target: "/Groups".into(), ..refusal.clone() },
        ScimRefusal { subject: None, ..refusal.clone() },
        ScimRefusal { status: 400, ..refusal.clone() },
        ScimRefusal { scim_type: None, ..refusal.clone() },
        ScimRefusal { detail: "free".into(), ..refusal.clone() },
    ] {
        assert_ne!(other.id(), refusal.id(), "{other:?}");
    }
}
