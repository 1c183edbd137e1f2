//! Runs every operation of the storage layer.

use std::{sync::Arc, time::Duration};

use attestation::{AttestationPolicyStore, Policy};
use audit::{
    AuditQueryStore, AuditStore, Audited, Entry, Event, EventData, Filter, Position, Span, Unaudited,
    events::users::UserDeactivated,
    follow,
    log::{
        CheckpointKeys, Lease, Nodes, Removal, Retention, RetentionStore, SealPolicy, Statement, VerifyKeys,
        inclusion, removable, seal, verify,
    },
};
use credentials::{
    Factor, FactorData, FactorStore, OriginHistory, Salt, SignInPolicy, SignInStore, Ticket, TicketKind,
    TicketStore, attempts,
};
use directory::{
    Link, LinkKind, LinkStore, NewPerson, NewTenant, PeopleQuery, PeopleStore, Role, Tenant, TenantStore,
    Tier,
};
use kernel::{Actor, Ctx, Env, Id, StoreError, StoreResult, SystemEnv, TenantId, Timestamp, UserId};
use saml_sp::{
    AttributeMapping, Certificate, ClaimedRequest, ConnectionTest, ConnectionTestStore, DomainStore,
    IdentityProvider, OurKeys, PinnedSubject, Provider, ProviderId, ProviderStore, Refresh, Request,
    RequestStore, SealedKey, Source, Subject, SubjectStore, TestReport, VerifiedDomain,
};
use serde_json::json;
use sessions::{GraceKind, Lifetime, Method, NewSession, Session, SessionStore, Standing};
use store::{CredentialKey, CredentialType, LastUse, Store};
use tokens::{
    NewScimToken, PatStore, ScimRefusal, ScimTokenId, ScimTokenStore, Scope,
    pat::{Limits, NewPat},
};
use webhooks::SubscriptionStore;

/// Runs every operation.
pub(crate) async fn run_all(store: &Store) {
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    let ip = Some("192.0.2.7".parse().unwrap());
    let ctx = Ctx { ip, ..Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test")) };
    let everything = async |ctx: &Ctx, tx: &mut store::Tx| {
        scim_core::conformance::users(ctx, tx).await;
        scim_core::conformance::groups(ctx, tx).await;
        let new = NewScimToken { name: "Okta".into(), create_conflict: false };
        let (token, raw) = tokens::mint(ctx, tx, new).await.unwrap();
        tx.scim_token(&token.id).await?;
        tx.revoke_scim_token(&token.id, ctx.now).await?;
        tx.latest(10).await?;
        run_sign_ins(ctx, tx).await?;
        run_saml(ctx, tx).await?;
        Ok::<_, StoreError>(Audited::new((token, raw), Event::new("test", &UserDeactivated {})))
    };
    let (token, raw) = Box::pin(store.write(ctx, everything)).await.unwrap();
    let text = || Some("user".to_owned());
    for filter in [
        Filter::default(),
        Filter { actor: text(), ..Filter::default() },
        Filter { actions: Some(vec!["A".into(), "B".into()]), ..Filter::default() },
        Filter { resource_id: text(), text: text(), ..Filter::default() },
        Filter { text: text(), ..Filter::default() },
    ] {
        let mut export = store
            .export(raw.tenant().clone(), filter, 10, true, Duration::from_mins(1), |_, _| {})
            .await
            .unwrap();
        while let Some(some) = export.next().await {
            some.unwrap();
        }
    }
    let across = async |across: &mut store::Across| {
        across.credential(raw.tenant(), &CredentialKey::ScimToken(raw.hash())).await?;
        across.tenant(raw.tenant()).await?;
        across.next_unsealed(Some(raw.tenant())).await?;
        let lease = delivering(&*env);
        let key = webhooks::Key { tenant: raw.tenant().clone(), subscription: Id::new(&*env) };
        across.next_with_fresh(Some(&key), &lease).await?;
        across.with_retries(&lease, Some(&(lease.now, key.clone())), 10).await?;
        across.webhooks_after(Some(&key), 10).await?;
        across.tenants_to_publish(Some(raw.tenant()), lease.now, 10).await?;
        across.tenant_of_slug("acme").await?;
        let session = Id::from_key(token.id.key()).unwrap();
        across.credential(raw.tenant(), &CredentialKey::Session(session)).await?;
        across.credential(raw.tenant(), &CredentialKey::Pat(raw.hash())).await?;
        across.has_administrator().await?;
        across.users_of_address("ada@example.com", None).await?;
        across.users_of_address("ada@example.com", Some(raw.tenant())).await?;
        across.accounts("ada@example.com", None, "here").await?;
        across.accounts("ada@example.com", Some(raw.tenant()), "here").await?;
        across.foreign_session(&[0; 32], None, Some("ada@example.com")).await?;
        across.foreign_session(&[0; 32], Some(raw.tenant()), None).await?;
        across.foreign_holder("ada@example.com", None).await?;
        across.provider_for_domain(&"a.example".parse().unwrap()).await?;
        across.saml_due(lease.now, 10).await?;
        across.saml_expiry(lease.now).await?;
        across.domains_due(lease.now, 10).await?;
        across.tenant_of_pat(&Id::from_key(token.id.key()).unwrap()).await?;
        across.tenant_of_scim_token(&token.id).await
    };
    store.across(across).await.unwrap();
    purge_expired_rows(store, &env).await;
}

/// Signs users in and runs the maintenance of sign-in data.
async fn run_salts_and_wrong_codes(ctx: &Ctx, tx: &mut store::Tx, id: &UserId) -> StoreResult<()> {
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

async fn notices(tx: &mut store::Tx, id: &UserId) -> StoreResult<()> {
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

async fn run_sign_ins(ctx: &Ctx, tx: &mut store::Tx) -> StoreResult<()> {
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
    tx.administrators(sessions::Lifetime { idle_minutes: 60, absolute_days: 30 }, ctx.now).await?;
    let link = Link::new([4; 32], LinkKind::Reset, &person, ctx.now);
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
    search_entries(ctx, tx).await?;
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

async fn run_sessions(ctx: &Ctx, tx: &mut store::Tx, id: &UserId) -> StoreResult<Session> {
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
    let mut session = session;
    sessions::renew(ctx, tx, &mut session).await?;
    assert!(tx.revoke_session(&session.id, ctx.now).await?);
    tx.revoke_sessions(id, ctx.now, Some(&session.id)).await?;
    Ok(session)
}

/// Creates, uses, maintains and removes identity providers.
async fn run_saml(ctx: &Ctx, tx: &mut store::Tx) -> StoreResult<()> {
    let one = saml_provider(ctx);
    let id = &one.id;
    assert_eq!(tx.count_providers().await?, 0);
    tx.insert_provider(&one).await?;
    let domains = vec!["b.example".parse().unwrap()];
    tx.update_provider(&Provider { email_domains: domains.clone(), ..one.clone() }).await?;
    assert_eq!(tx.provider_of_domain(&domains[0]).await?.as_ref(), Some(id));
    assert!(tx.take_due_provider(id, ctx.now, ctx.now.plus_millis(60_000)).await?.is_some());
    let later = ctx.now.plus_millis(600_000);
    let trial = saml_trial(ctx, &one, later);
    tx.insert_connection_test(&trial).await?;
    assert!(
        tx.report_connection_test(&trial.id, &TestReport::unanswered(ctx.now)).await?
            && tx.connection_test(&trial.id).await?.is_some()
    );
    let request = Request { trial: Some(trial.id), ..saml_request(&one, later) };
    tx.insert_request(&request).await?;
    assert_eq!(tx.request(&request.id).await?.as_ref(), Some(&request));
    for claimed in [ClaimedRequest::Now(request.clone()), ClaimedRequest::Before] {
        assert_eq!(tx.claim_request(&request.id, id, Some(&[1; 32]), ctx.now).await?, claimed);
        let is_new = tx.remember_assertion(id, &[3; 32], later).await?;
        assert_eq!(is_new, claimed != ClaimedRequest::Before);
    }
    let domain =
        VerifiedDomain { domain: domains[0].clone(), method: saml_sp::Method::Dns, verified_at: ctx.now };
    assert!(tx.insert_verified_domain(&domain).await?);
    assert_eq!(tx.verified_domains().await?, std::slice::from_ref(&domain));
    assert_eq!(tx.domain_owner(&domain.domain).await?.as_ref(), Some(&ctx.tenant));
    let month = ctx.now.plus_millis(saml_sp::RECHECK_MILLIS);
    let taken = tx.take_due_domain(&domain.domain, month, month.plus_millis(1)).await?.unwrap();
    assert!(tx.reschedule_domain(&domain.domain, &taken).await?);
    assert!(tx.delete_verified_domain(&domain.domain).await?);
    let (user, subject) = (UserId::new(&*ctx.env), Subject::from_bytes([4; 32]));
    let pinned = PinnedSubject { provider: id.clone(), subject, pinned_at: ctx.now };
    assert!(tx.pin_subject(&user, &pinned).await? && !tx.pin_subject(&user, &pinned).await?);
    assert_eq!(tx.subject_owner(id, &subject).await?.as_ref(), Some(&user));
    assert_eq!(tx.pinned_subjects(&user).await?, std::slice::from_ref(&pinned));
    assert!(tx.unpin_subject(id, &user).await?);
    assert_eq!(tx.providers().await?.len(), 1);
    assert!(tx.delete_provider(id).await? && tx.provider(id).await?.is_none());
    Ok(())
}

/// Creates a provider whose metadata is due for a refresh.
fn saml_provider(ctx: &Ctx) -> Provider {
    let certificate = Certificate::from_text(include_str!("../store/saml/until-2098.pem")).unwrap();
    let key = SealedKey { certificate: certificate.clone(), sealed: "sealed".into(), since: ctx.now };
    Provider {
        id: ProviderId::new(&*ctx.env, &ctx.tenant),
        name: "Entra".into(),
        email_domains: vec!["a.example".parse().unwrap()],
        idp: IdentityProvider {
            entity_id: "https://idp.example/".into(),
            sso_url: "https://idp.example/sso".into(),
            certificates: vec![certificate],
        },
        source: Source::MetadataUrl("https://idp.example/metadata".into()),
        valid_until: None,
        mapping: AttributeMapping::default(),
        sign_requests: true,
        force_authn: false,
        authn_contexts: Vec::new(),
        keys: OurKeys { active: key, next: None },
        refresh: Refresh { next_at: Some(ctx.now), ..Refresh::default() },
        warned: None,
        created_at: ctx.now,
        updated_at: ctx.now,
    }
}

fn saml_trial(ctx: &Ctx, of: &Provider, expires_at: Timestamp) -> ConnectionTest {
    let (provider, user) = (of.id.clone(), Id::new(&*ctx.env));
    ConnectionTest { id: Id::new(&*ctx.env), provider, user, created_at: ctx.now, expires_at, report: None }
}

fn saml_request(of: &Provider, expires_at: Timestamp) -> Request {
    Request {
        id: format!("_{:040x}", 1).parse().unwrap(),
        provider: of.id.clone(),
        browser: [1; 32],
        relay_key: [2; 32],
        return_to: "/".into(),
        force_authn: false,
        trial: None,
        created_at: of.created_at,
        expires_at,
    }
}

/// Stores and reads a refused SCIM request.
async fn record_scim_refusal(ctx: &Ctx, tx: &mut store::Tx) -> StoreResult<()> {
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

/// Finds and purges expired rows.
async fn purge_expired_rows(store: &Store, env: &Arc<dyn Env>) {
    let ctx = Ctx::new(env.clone(), TenantId::new(&**env), Actor::system("test"));
    let keep = async |ctx: &Ctx, tx: &mut store::Tx| {
        let one = saml_provider(ctx);
        let long_ago = ctx.now.plus_millis(-100 * 3_600_000);
        tx.remember_assertion(&one.id, &[1; 32], long_ago).await?;
        tx.insert_connection_test(&saml_trial(ctx, &one, long_ago)).await?;
        tx.insert_request(&saml_request(&one, long_ago)).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::StepTaken))
    };
    store.write(ctx.clone(), keep).await.unwrap();
    let found = store.expired_saml(ctx.now).await.unwrap();
    let [over] = <[_; 1]>::try_from(found).unwrap();
    let purge = async move |_: &Ctx, tx: &mut store::Tx| {
        tx.purge_saml(&over).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::StepTaken))
    };
    store.write(ctx.clone(), purge).await.unwrap();
    assert!(store.expired_saml(ctx.now).await.unwrap().is_empty());
}

/// Searches the audit log by each of its indexes.
async fn search_entries(ctx: &Ctx, tx: &mut store::Tx) -> StoreResult<()> {
    let position = Position { timestamp: ctx.now, id: "aud_1".into() };
    let text = || Some("x".to_owned());
    let filters = [
        Filter::default(),
        Filter { actor: text(), ..Filter::default() },
        Filter { actions: Some(vec!["A".into()]), ..Filter::default() },
        Filter { actions: Some(vec!["A".into(), "B".into()]), resource_type: text(), ..Filter::default() },
        Filter { resource_id: text(), text: text(), ..Filter::default() },
        Filter { actor: text(), actions: Some(vec!["A".into(), "B".into()]), ..Filter::default() },
        Filter { from: Some(ctx.now), to: Some(ctx.now), text: text(), ..Filter::default() },
    ];
    for filter in &filters {
        for after in [None, Some(&position)] {
            tx.entries(filter, Span { after, until: None }, 10).await?;
            tx.entries(filter, Span { after, until: Some(&position) }, 10).await?;
            let range = Filter { text: None, resource_type: None, ..filter.clone() };
            if range.actions.as_ref().is_none_or(|actions| actions.len() == 1) {
                tx.further(&range, after, 10).await?;
            }
        }
    }
    run_audit_log(ctx, tx).await
}

/// Seals, proves, verifies, removes and erases audit entries.
async fn run_audit_log(ctx: &Ctx, tx: &mut store::Tx) -> StoreResult<()> {
    let keys = CheckpointKeys::derive(
        &kernel::MasterKeys::new(vec![("test".to_owned(), kernel::Secret::new(vec![7; 32]))]).unwrap(),
    );
    let lease = Lease { owner: "test".into(), now: ctx.now, until: ctx.now };
    // Enough entries for a subtree.
    let entries: Vec<_> =
        (0..300).map(|_| Entry::new(ctx, Event::new("test", &UserDeactivated {}))).collect();
    tx.append(&entries).await?;
    tx.latest(1).await?;
    let entry_keys = store::testing::entry_keys();
    let policy = SealPolicy { checkpoints: &keys, entries: &entry_keys, accepts_missing_macs: false };
    assert_eq!(seal(tx, policy, &ctx.tenant, &lease, None).await?.count, 300);
    let filter =
        Filter { actor: Some("x".into()), text: Some("x".into()), from: Some(ctx.now), ..Filter::default() };
    for filter in [filter, Filter { actions: Some(vec!["A".into()]), ..Filter::default() }, Filter::default()]
    {
        follow(tx, &filter, 0, 10).await?;
    }
    for action in [None, Some(UserDeactivated::CODE)] {
        assert_eq!(tx.count(action, ctx.now, ctx.now.plus_millis(1), 100).await?, 100);
    }
    run_webhooks(ctx, tx).await?;
    tx.position_of(entries[0].id.as_str()).await?;
    tx.entry(entries[0].id.as_str()).await?;
    tx.newest_checkpoint().await?;
    inclusion(tx, &mut Nodes::default(), 10, 300).await?;
    let verifying = keys.of(ctx.tenant.as_str());
    let verifying = VerifyKeys { checkpoints: &verifying, entries: Some(&entry_keys), retired: &[] };
    assert_eq!(verify(tx, ctx.tenant.as_str(), verifying, Vec::new()).await?.count, 0);
    tx.set_retention(&Retention { days: Some(7), at: ctx.now }, "a note").await?;
    tx.retention_days().await?;
    tx.newest_of_action("A").await?;
    let later = ctx.now.plus_millis(1);
    let old = removable(tx, ctx.tenant.as_str(), verifying.checkpoints, 0, later).await?.unwrap();
    let removal = Removal {
        from: 0,
        before: old.before,
        root: data_encoding::BASE64.encode(&old.root),
        newest: old.newest,
        days: 7,
        at: ctx.now,
    };
    let note = removal.sign(ctx.tenant.as_str(), &keys).unwrap();
    tx.declare_removal(&removal, &note).await?;
    assert_eq!(tx.remove_declared(verifying.checkpoints).await?, 256);
    tx.erase_addresses(&ctx.actor.id).await?;
    Ok(())
}

fn delivering(env: &dyn Env) -> webhooks::Lease {
    let now = env.now();
    webhooks::Lease::new("test", now)
}

/// Runs subscriptions and deliveries with their outcomes.
async fn run_webhooks(ctx: &Ctx, tx: &mut store::Tx) -> StoreResult<()> {
    let keys = webhooks::SecretKeys::new(
        &kernel::MasterKeys::new(vec![("test".to_owned(), kernel::Secret::new(vec![7; 32]))]).unwrap(),
    );
    let guard = webhooks::client::AddressGuard::new(Vec::new(), false);
    let new = |name: &str| webhooks::New {
        name: name.into(),
        url: "https://hooks.example.com/".into(),
        event_filters: Vec::new(),
    };
    let (made, _) = webhooks::create(ctx, tx, (&guard, &keys), new("one")).await.unwrap();
    let id = &made.id;
    assert_eq!(tx.subscriptions().await?, std::slice::from_ref(&made));
    tx.append(&[Entry::new(ctx, Event::new("test", &UserDeactivated {}))]).await?;
    tx.latest(1).await?;
    let lease = delivering(&*ctx.env);
    tx.see_dispatcher("test", ctx.now).await?;
    assert!(tx.lease_webhook(id, &lease).await?);
    let webhooks::LeaseOutcome::Ours { fresh, .. } = tx.take_webhook(id, &lease, 10).await? else {
        panic!("the lease was refused")
    };
    let outcome = webhooks::Outcome::failed(webhooks::AttemptError::Timeout, 15_000);
    let next = Some(webhooks::NextAttempt { id: Id::new(&*ctx.env), at: ctx.now });
    let report = webhooks::Report { attempt: fresh[0].clone(), outcome, attempted_at: ctx.now, next };
    let batch = webhooks::Batch {
        tenant: ctx.tenant.clone(),
        reports: vec![(id.clone(), report)],
        failing_since: vec![(id.clone(), Some(ctx.now))],
        disabled: Vec::new(),
    };
    tx.record_webhooks(&batch).await?;
    let first = fresh[0].id.as_str();
    assert_eq!(tx.deliveries(id, 100).await?.len(), 2);
    assert!(tx.delivery_body(id, first).await?.is_some());
    // A pending attempt is moved forward; for a finished one, a new attempt is created.
    let brought = tx.retry_delivery(ctx, id, first).await?.unwrap();
    assert_eq!(brought.attempt, 2);
    let past = tx.past_events(&made, (ctx.now, ctx.now.plus_millis(1))).await?;
    tx.replay_webhook(ctx, id, past)?;
    tx.hours_of_deliveries(id, ctx.now).await?;
    tx.delivery_counts(ctx.now).await?;
    tx.publish_checkpoint(ctx, ctx.now).await?;
    tx.route_again().await?;
    for enabled in [false, true] {
        tx.update_subscription(&webhooks::Subscription { enabled, ..made.clone() }).await?;
    }
    tx.release_webhooks(std::slice::from_ref(id), "test", ctx.now).await?;
    tx.purge_deliveries(id, ctx.now).await?;
    webhooks::remove(tx, id).await.unwrap();
    while tx.purge_deliveries(id, ctx.now).await? {}
    assert_eq!(tx.deliveries(id, 100).await?, []);
    Ok(())
}
