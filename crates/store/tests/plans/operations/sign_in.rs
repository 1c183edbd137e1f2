//! People, their credentials, tickets and sessions.

use attestation::{AttestationPolicyStore, Policy};
use credentials::{
    Factor, FactorData, FactorStore, OriginHistory, Salt, SignInPolicy, SignInStore, Ticket, TicketKind,
    TicketStore, attempts,
};
use directory::{
    Link, LinkKind, LinkStore, NewPerson, NewTenant, PeopleQuery, PeopleStore, Role, Tenant, TenantStore,
    Tier,
};
use kernel::{Ctx, Id, StoreResult, UserId};
use serde_json::json;
use sessions::{
    DeviceSessionStore, GraceKind, Lifetime, Method, NewSession, Session, SessionStore, Standing,
    device_bound::DeviceBinding,
};
use store::{CredentialType, LastUse, Tx};
use tokens::{
    PatStore, ScimRefusal, ScimTokenId, Scope,
    pat::{Limits, NewPat},
};

/// Keeps salts and counts wrong codes.
async fn run_salts_and_wrong_codes(ctx: &Ctx, tx: &mut Tx, id: &UserId) -> StoreResult<()> {
    let salt = tx.password_salt("ada@example.com", Salt::random(&*ctx.env)).await?;
    assert_eq!(
        tx.password_salt("ada@example.com", Salt::random(&*ctx.env)).await?,
        salt,
        "the first salt is kept"
    );
    tx.count_wrong_code(id).await?;
    tx.count_wrong_code(id).await?;
    assert_eq!(tx.wrong_codes(id).await?, 2);
    tx.clear_wrong_codes(id).await?;
    assert_eq!(tx.wrong_codes(id).await?, 0);
    Ok(())
}

/// Adds and consumes notices.
async fn notices(tx: &mut Tx, id: &UserId) -> StoreResult<()> {
    tx.add_notice(id, "NOTICE").await?;
    assert_eq!(
        (tx.consume_notice(id).await?.as_deref(), tx.consume_notice(id).await?),
        (Some("NOTICE"), None)
    );
    for notice in ["FIRST", "SECOND", "FIRST"] {
        tx.add_notice(id, notice).await?;
    }
    assert_eq!(tx.notices(id).await?, ["FIRST", "SECOND"], "each notice once");
    assert_eq!(tx.consume_notice(id).await?.as_deref(), Some("FIRST"));
    assert_eq!(tx.consume_notice(id).await?.as_deref(), Some("SECOND"));
    Ok(())
}

/// Creates a person, signs in, changes each credential and deletes the person.
pub(super) async fn run(ctx: &Ctx, tx: &mut Tx) -> StoreResult<()> {
    let new =
        NewPerson { email: "signs.in@example.com".parse().unwrap(), role: Role::Admin, display_name: None };
    let ada = directory::create_person(ctx, tx, new).await.unwrap();
    let id = &ada.id;
    tx.people(&PeopleQuery::default(), None, 10).await?;
    tx.another_admin(id).await?;
    assert_eq!(tx.user_of_email("signs.in@example.com").await?.as_ref(), Some(id));
    let after = directory::Person { break_glass: true, title: Some("Countess".into()), ..ada.clone() };
    tx.update_person(&ada, &after).await?;

    tx.set_password(id, "hash", ctx.now).await?;
    tx.set_password(id, "other", ctx.now).await?;
    assert_eq!(tx.password(id).await?.as_deref(), Some("other"));
    tx.renew_password_hash(id, "renewed").await?;
    assert_eq!(tx.password(id).await?.as_deref(), Some("renewed"));
    run_salts_and_wrong_codes(ctx, tx, id).await?;
    assert_eq!(tx.note_origin(id, "here", ctx.now).await?, OriginHistory::First);
    assert_eq!(tx.note_origin(id, "here", ctx.now).await?, OriginHistory::Known);
    assert_eq!(tx.note_origin(id, "there", ctx.now).await?, OriginHistory::New);
    assert!(tx.knows_origin(id, "here").await? && !tx.knows_origin(id, "nowhere").await?);
    assert!(
        tx.consume_challenge(&[1; 32], ctx.now).await? && !tx.consume_challenge(&[1; 32], ctx.now).await?
    );
    assert_eq!(tx.sign_in_policy().await?, SignInPolicy::default());
    tx.set_sign_in_policy(&SignInPolicy::default()).await?;
    notices(tx, id).await?;
    for _ in 0..2 {
        attempts::take(tx, attempts::password("ada", "here"), ctx.now).await?;
    }

    let mut ticket = Ticket::new([2; 32], TicketKind::Factor, id.clone(), json!({ "a": 1 }), ctx.now);
    tx.insert_ticket(&ticket).await?;
    ticket.wrong_answers = 1;
    tx.update_ticket(&ticket).await?;
    assert_eq!(tx.ticket(&[2; 32]).await?, Some(ticket));
    assert!(tx.take_ticket(&[2; 32]).await? && !tx.take_ticket(&[2; 32]).await?);
    tx.drop_tickets(id).await?;
    assert!(!tx.has_stepped_up("ses_none", ctx.now).await?);
    stepup::conformance::store(ctx, tx).await;
    let new = NewTenant { slug: "acme".into(), name: "Acme".into(), tier: Tier::Standard };
    let acme = Tenant { id: ctx.tenant.clone(), ..Tenant::new(&*ctx.env, new).unwrap() };
    tx.insert_tenant(&acme).await?;
    netpolicy::conformance::store(ctx, tx).await?;

    let factor = Factor {
        id: Id::new(&*ctx.env),
        user: id.clone(),
        name: "app".into(),
        created_at: ctx.now,
        verified_at: Some(ctx.now),
        last_used_at: None,
        data: FactorData::Totp { sealed: vec![1, 2], last_step: -1 },
    };
    assert!(tx.insert_factor(&factor).await?);
    assert_eq!(tx.factors(id).await?, std::slice::from_ref(&factor));
    assert_eq!(tx.factor_of_credential(b"x").await?, None);
    tx.update_factor(&factor).await?;
    tx.record_use(&factor).await?;
    assert!(tx.use_step(&factor, 7, ctx.now).await? && !tx.use_step(&factor, 7, ctx.now).await?);
    tx.drop_pending(id).await?;
    assert!(tx.delete_factor(id, &factor.id).await?);
    tx.replace_codes(id, &[[1; 32], [2; 32]]).await?;
    assert!(tx.use_code(id, &[1; 32], ctx.now).await? && !tx.use_code(id, &[1; 32], ctx.now).await?);
    assert_eq!(tx.unused_codes(id).await?, 1);

    let session = run_sessions(ctx, tx, id).await?;

    let person = tx.person(id).await?.unwrap();
    assert_eq!(tx.person_with_tenant(id).await?.map(|(person, _)| person), Some(person.clone()));
    tx.administrators(Lifetime { idle_minutes: 60, absolute_days: 30 }, ctx.now).await?;
    let link = Link::new([4; 32], LinkKind::Reset, &person, &tx.held_roles(&person).await?, ctx.now);
    tx.replace_links(&link).await?;
    assert_eq!(tx.link(&[4; 32]).await?, Some(link));
    assert!(tx.take_link(&[4; 32]).await?);

    let new =
        NewPat { name: "CI".into(), scopes: vec![Scope::ReadHcm, Scope::AdminTenant], expires_in_days: None };
    let (pat, _) = tokens::pat::mint(ctx, tx, id, new).await.unwrap();
    assert_eq!(tx.pat(&pat.id).await?.as_ref(), Some(&pat));
    assert!(tx.expiring_pats(ctx.now, ctx.now.plus_millis(1), &Limits::default(), 5).await?.is_empty());
    let uses = [
        (CredentialType::Session, session.id.to_string()),
        (CredentialType::Pat, pat.id.to_string()),
        (CredentialType::ScimToken, "sct_none".to_owned()),
    ];
    let uses = uses.map(|(of, id)| LastUse { of, id, at: ctx.now.plus_millis(60_000), ip: None });
    tx.note_uses(&uses).await?;
    record_scim_refusal(ctx, tx).await?;
    tx.recent(ctx.now.plus_millis(-1), ctx.now, Lifetime { idle_minutes: 5, absolute_days: 1 }).await?;
    let policy = Policy { require_verified_attestation: true, ..Policy::default() };
    attestation::set(tx, policy.clone()).await.unwrap();
    assert_eq!(tx.attestation_policy().await?, policy);
    tx.enrolled_passkeys(None, 10).await?;
    assert!(tx.revoke_pat(&pat.id, ctx.now).await?);
    tx.purge_expired(ctx.now).await?;
    tx.delete_person(&after, ctx.now).await?;
    assert_eq!(tx.password(id).await?, None);
    assert_eq!(tx.person(id).await?, None);
    Ok(())
}

/// Opens, renews and ends sessions.
async fn run_sessions(ctx: &Ctx, tx: &mut Tx, id: &UserId) -> StoreResult<Session> {
    let new = NewSession {
        user: id.clone(),
        device_label: "device".into(),
        location: None,
        standing: Standing::Full,
        methods: vec![Method::Password],
        signed_in_at: None,
        foreign: Some([3; 32]),
        grace: Some(GraceKind::FirstFactor),
        not_after: Some(ctx.now.plus_millis(60_000)),
    };
    let session = sessions::open(ctx, tx, new.clone()).await?.unwrap();
    assert!(sessions::open(ctx, tx, new).await?.is_none(), "a foreign token has one session");
    assert_eq!(tx.session(&session.id).await?.as_ref(), Some(&session));
    assert_eq!(tx.sessions_of(id).await?, std::slice::from_ref(&session));
    tx.update_session(&session).await?;
    let coordinate = "A".repeat(43);
    let key = json!({ "kty": "EC", "crv": "P-256", "x": coordinate, "y": coordinate });
    let key = serde_json::from_value(key).unwrap();
    let binding = DeviceBinding { key, bound_at: ctx.now, challenged_at: ctx.now };
    tx.set_device(&session.id, &binding).await?;
    let mut session = tx.session_of_key(&binding.key.thumbprint()).await?.unwrap();
    sessions::renew(ctx, tx, &mut session).await?;
    assert!(tx.revoke_session(&session.id, ctx.now).await?);
    tx.revoke_sessions(id, ctx.now, Some(&session.id)).await?;
    Ok(session)
}

/// Stores and reads a refused SCIM request.
async fn record_scim_refusal(ctx: &Ctx, tx: &mut Tx) -> StoreResult<()> {
    let refusal = ScimRefusal {
        token: ScimTokenId::new(&*ctx.env),
        method: "POST".into(),
        target: "/Users".into(),
        subject: None,
        status: 400,
        scim_type: None,
        detail: "userName: is required".into(),
        times: 1,
        last_at: ctx.now,
    };
    tx.record_scim_refusals(std::slice::from_ref(&refusal)).await?;
    assert_eq!(tx.scim_refusals(10).await?, [refusal]);
    Ok(())
}
