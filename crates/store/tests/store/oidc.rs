//! Storage of OpenID providers and sign-in requests.

use ::saml_sp::{ClaimedRequest, PinnedSubject, Protocol, ProviderId, ProviderStore, Subject, SubjectStore};
use kernel::{StoreError, Timestamp, UserId};
use sign_in::sso::oidc::{OidcProvider, OidcRequest, OidcStore};
use store::Tx;

use crate::{
    oidc_values::{ISSUER, provider, request},
    support::{World, on_both},
};

async fn keep(world: &World, provider: &OidcProvider, request: &OidcRequest) {
    let (provider, request) = (provider.clone(), request.clone());
    let work = async move |_: &kernel::Ctx, tx: &mut Tx| {
        tx.insert_oidc_provider(&provider).await?;
        tx.insert_oidc_request(&request).await
    };
    world.change(&world.ctx().tenant, work).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_round_trips_and_is_removed_with_its_parts() {
    on_both(async |world| {
        let tenant = world.ctx().tenant;
        let made = provider(&*world.env, &tenant, "a.example");
        let now = world.env.now();
        let pending = request(&made, 1, now.plus_millis(60_000));
        keep(&world, &made, &pending).await;
        let user = UserId::new(&*world.env);
        let work = async move |_: &kernel::Ctx, tx: &mut Tx| {
            assert_eq!(tx.oidc_provider(&made.id).await?.as_ref(), Some(&made));
            assert_eq!((tx.count_providers().await?, tx.providers().await?.len()), (1, 0));
            let domain = "a.example".parse().unwrap();
            assert_eq!(tx.provider_of_domain(&domain).await?.as_ref(), Some(&made.id));
            assert_eq!(tx.domains_of_providers().await?, [(domain, made.id.clone())]);
            let taken = tx.take_due_oidc_provider(&made.id, now, now.plus_millis(1)).await?;
            assert_eq!(taken.as_ref(), Some(&made));
            assert_eq!(tx.take_due_oidc_provider(&made.id, now, now.plus_millis(1)).await?, None);
            let moved = OidcProvider { email_domains: vec!["b.example".parse().unwrap()], ..made.clone() };
            tx.update_oidc_provider(&moved).await?;
            assert_eq!(tx.oidc_providers().await?, [moved]);
            assert_eq!(tx.provider_of_domain(&"a.example".parse().unwrap()).await?, None);
            let subject = Subject::of_oidc(ISSUER, "ada");
            let pinned = PinnedSubject { provider: made.id.clone(), subject, pinned_at: now };
            assert!(tx.pin_subject(&user, &pinned).await?);
            assert!(tx.delete_oidc_provider(&made.id).await? && !tx.delete_oidc_provider(&made.id).await?);
            assert_eq!(tx.pinned_subjects(&user).await?, []);
            assert_eq!(tx.domains_of_providers().await?, []);
            let claimed =
                tx.claim_oidc_request(&pending.state, &made.id, Some(&pending.browser), now).await?;
            assert_eq!(claimed, ClaimedRequest::Unknown);
            Ok(())
        };
        world.change(&tenant, work).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_isolated() {
    on_both(async |world| {
        let made = provider(&*world.env, &world.ctx().tenant, "a.example");
        let now = world.env.now();
        let pending = request(&made, 1, now.plus_millis(60_000));
        keep(&world, &made, &pending).await;
        let work = async move |_: &kernel::Ctx, tx: &mut Tx| {
            assert_eq!(tx.oidc_providers().await?, []);
            assert_eq!(tx.oidc_provider(&made.id).await?, None);
            assert_eq!(tx.count_providers().await?, 0);
            assert!(matches!(tx.insert_oidc_provider(&made).await, Err(StoreError::Aborted(_))));
            assert!(matches!(tx.update_oidc_provider(&made).await, Err(StoreError::Aborted(_))));
            assert!(!tx.delete_oidc_provider(&made.id).await?);
            assert_eq!(tx.take_due_oidc_provider(&made.id, now, now).await?, None);
            let claimed =
                tx.claim_oidc_request(&pending.state, &made.id, Some(&pending.browser), now).await?;
            assert_eq!(claimed, ClaimedRequest::Unknown);
            Ok(())
        };
        world.change(&world.other_tenant(), work).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_is_claimed_once_by_its_provider_and_browser() {
    on_both(async |world| {
        let tenant = world.ctx().tenant;
        let made = provider(&*world.env, &tenant, "a.example");
        let now = world.env.now();
        let pending = request(&made, 1, now.plus_millis(60_000));
        keep(&world, &made, &pending).await;
        let other = ProviderId::of(Protocol::Oidc, &*world.env, &tenant);
        let claim = async |id: &ProviderId, browser: Option<[u8; 32]>, at: Timestamp| {
            let (id, state) = (id.clone(), pending.state);
            let work = async move |_: &kernel::Ctx, tx: &mut Tx| {
                tx.claim_oidc_request(&state, &id, browser.as_ref(), at).await
            };
            world.change(&tenant, work).await.unwrap()
        };
        let browser = Some(pending.browser);
        assert_eq!(claim(&other, browser, now).await, ClaimedRequest::Unknown);
        assert_eq!(claim(&made.id, None, now).await, ClaimedRequest::OtherBrowser);
        assert_eq!(claim(&made.id, Some([9; 32]), now).await, ClaimedRequest::OtherBrowser);
        assert_eq!(claim(&made.id, browser, pending.expires_at).await, ClaimedRequest::Unknown);
        let all = futures_util::future::join_all((0..16).map(|_| claim(&made.id, browser, now))).await;
        let won = all.iter().filter(|claimed| **claimed == ClaimedRequest::Now(pending.clone())).count();
        let lost = all.iter().filter(|claimed| **claimed == ClaimedRequest::Before).count();
        assert_eq!((won, lost), (1, 15));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn due_providers_and_expired_requests_are_found() {
    on_both(async |world| {
        let tenant = world.ctx().tenant;
        let made = provider(&*world.env, &tenant, "a.example");
        let now = world.env.now();
        let old = request(&made, 1, now.plus_millis(-25 * 3_600_000));
        keep(&world, &made, &old).await;
        let due = async move |across: &mut store::Across| across.oidc_due(now, 10).await;
        assert_eq!(world.store.across(due).await.unwrap(), [(tenant.clone(), made.id.clone())]);
        let early = async move |across: &mut store::Across| across.oidc_due(now.plus_millis(-2000), 10).await;
        assert_eq!(world.store.across(early).await.unwrap(), []);
        let [over] = <[_; 1]>::try_from(world.store.expired_saml(now).await.unwrap()).unwrap();
        world.change(&tenant, async move |_, tx: &mut Tx| tx.purge_saml(&over).await).await.unwrap();
        assert!(world.store.expired_saml(now).await.unwrap().is_empty());
        let work = async move |_: &kernel::Ctx, tx: &mut Tx| {
            tx.claim_oidc_request(&old.state, &made.id, Some(&old.browser), old.created_at).await
        };
        assert_eq!(world.change(&tenant, work).await.unwrap(), ClaimedRequest::Unknown);
    })
    .await;
}
