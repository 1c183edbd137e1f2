//! SSO connections, sign-in requests and domains.

use std::sync::Arc;

use audit::{Audited, Unaudited};
use kernel::{Actor, Ctx, Env, Id, StoreError, StoreResult, TenantId, Timestamp, UserId};
use saml_sp::{
    AttributeMapping, Binding, Certificate, ClaimedRequest, ConnectionTest, ConnectionTestStore, DomainStore,
    IdentityProvider, OurKeys, PinnedSubject, Provider, ProviderId, ProviderStore, Refresh, Request,
    RequestStore, SealedKey, Source, Subject, SubjectStore, TestReport, VerifiedDomain,
};
use store::{Store, Tx};

/// Creates, uses, maintains and removes identity providers.
pub(super) async fn run(ctx: &Ctx, tx: &mut Tx) -> StoreResult<()> {
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
    let domain = VerifiedDomain {
        domain: domains[0].clone(),
        method: saml_sp::Method::Dns,
        verified_at: ctx.now,
        token: None,
    };
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
    let changed = |_, _: &str, _: &[u8]| kernel::Reencrypted::Changed(vec![1]);
    let mut progress = store::ReencryptionProgress::default();
    while !progress.is_done {
        progress = tx.reencrypt(progress, changed).await?;
    }
    assert!(tx.delete_provider(id).await? && tx.provider(id).await?.is_none());
    Ok(())
}

/// Creates a provider whose metadata is due for a refresh.
fn saml_provider(ctx: &Ctx) -> Provider {
    let certificate = Certificate::from_text(include_str!("../../store/saml/until-2098.pem")).unwrap();
    let key = SealedKey { certificate: certificate.clone(), sealed: "sealed".into(), since: ctx.now };
    Provider {
        id: ProviderId::new(&*ctx.env, &ctx.tenant),
        name: "Entra".into(),
        email_domains: vec!["a.example".parse().unwrap()],
        idp: IdentityProvider {
            sso_binding: Binding::Post,
            logout: None,
            entity_id: "https://idp.example/".into(),
            sso_url: "https://idp.example/sso".into(),
            certificates: vec![certificate],
        },
        source: Source::MetadataUrl("https://idp.example/metadata".into()),
        valid_until: None,
        mapping: AttributeMapping::default(),
        sign_requests: true,
        force_authn: false,
        sign_out_at_provider: false,
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

/// Finds and purges expired rows.
pub(super) async fn purge_expired_rows(store: &Store, env: &Arc<dyn Env>) {
    let ctx = Ctx::new(env.clone(), TenantId::new(&**env), Actor::system("test"));
    let keep = async |ctx: &Ctx, tx: &mut Tx| {
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
    let purge = async move |_: &Ctx, tx: &mut Tx| {
        tx.purge_saml(&over).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::StepTaken))
    };
    store.write(ctx.clone(), purge).await.unwrap();
    assert!(store.expired_saml(ctx.now).await.unwrap().is_empty());
}
