//! Isolation of tenants, and ownership of domains.

use ::saml_sp::{ClaimedRequest, Method, Provider, TestReport};
use kernel::{StoreError, TenantId};

use super::{Saml, connection_test, domain, everywhere, kept, provider, verified};
use crate::support::{World, on_both};

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_isolated() {
    everywhere(async |place| {
        let theirs = place.provider(&["a.example"]).await;
        let request = place.request(&theirs, 1).await;
        let made = connection_test(&*place.env, &theirs);
        let (proved, now) = (verified(&*place.env, "a.example", Method::Dns), place.env.now());
        let (kept, id, of_them) = (made.clone(), theirs.id.clone(), proved.clone());
        place
            .work(async move |store: &mut dyn Saml| {
                store.insert_connection_test(&kept).await?;
                assert!(store.insert_verified_domain(&of_them).await?);
                assert!(store.remember_assertion(&id, &[1; 32], now.plus_millis(60_000)).await?);
                Ok(())
            })
            .await;
        let (owner, other) = (place.tenant.clone(), TenantId::new(&*place.env));
        let renamed = Provider { name: "Mine".into(), ..theirs.clone() };
        let (of, asked, mine, tried) = (theirs.id.clone(), request.clone(), proved, made.id.clone());
        let seen = place.of(&other, async move |store: &mut dyn Saml| {
            assert_eq!(store.providers().await?, []);
            assert_eq!(store.provider(&of).await?, None);
            assert_eq!(store.count_providers().await?, 0);
            assert_eq!(store.provider_of_domain(&domain("a.example")).await?, None);
            assert!(matches!(store.insert_provider(&renamed).await, Err(StoreError::Aborted(_))));
            assert!(matches!(store.update_provider(&renamed).await, Err(StoreError::Aborted(_))));
            assert!(!store.delete_provider(&of).await?);
            assert_eq!(store.request(&asked.id).await?, None);
            let claimed = store.claim_request(&asked.id, &of, Some(&asked.browser), now).await?;
            assert_eq!(claimed, ClaimedRequest::Unknown);
            assert!(
                store.remember_assertion(&of, &[1; 32], now).await?,
                "each tenant has its own assertions"
            );
            assert_eq!(store.connection_test(&tried).await?, None);
            assert!(!store.report_connection_test(&tried, &TestReport::unanswered(now)).await?);
            assert_eq!(store.verified_domains().await?, []);
            assert!(!store.delete_verified_domain(&mine.domain).await?);
            assert!(!store.insert_verified_domain(&mine).await?);
            assert_eq!(store.domain_owner(&mine.domain).await?, Some(owner));
            Ok(())
        });
        seen.await.unwrap();
        let wanted = theirs.clone();
        place
            .work(async move |store: &mut dyn Saml| {
                assert_eq!(store.providers().await?, [wanted]);
                assert_eq!(store.connection_test(&made.id).await?, Some(made));
                assert_eq!(store.verified_domains().await?.len(), 1);
                Ok(())
            })
            .await;
        assert_eq!(place.claim(&request, &theirs, Some(request.browser)).await, ClaimedRequest::Now(request));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn domain_verified_concurrently_has_one_owner() {
    everywhere(async |place| {
        let tenants: Vec<_> = (0..16).map(|_| TenantId::new(&*place.env)).collect();
        let prove = async |tenant: &TenantId| {
            let proved = verified(&*place.env, "corp.example", Method::Dns);
            let work = async move |store: &mut dyn Saml| store.insert_verified_domain(&proved).await;
            place.of(tenant, work).await.unwrap()
        };
        let all =
            futures_util::future::join_all(tenants.iter().map(async |tenant| prove(tenant).await)).await;
        let won: Vec<_> = tenants.iter().zip(&all).filter(|(_, won)| **won).map(|(of, _)| of).collect();
        let [owner] = won[..] else { panic!("{} have it", won.len()) };
        let corp = domain("corp.example");
        let known = async |of: &TenantId| {
            let corp = corp.clone();
            place.of(of, async move |store: &mut dyn Saml| store.domain_owner(&corp).await).await.unwrap()
        };
        assert_eq!(known(&place.tenant).await.as_ref(), Some(owner));
        assert!(!prove(owner).await, "not even its current owner");
        let give_up = async |of: &TenantId| {
            let corp = corp.clone();
            let work = async move |store: &mut dyn Saml| store.delete_verified_domain(&corp).await;
            place.of(of, work).await.unwrap()
        };
        assert!(!give_up(&place.tenant).await);
        assert!(give_up(owner).await && !give_up(owner).await, "once");
        assert_eq!(known(owner).await, None);
        assert!(prove(&place.tenant).await, "a released domain is free");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verified_domains_are_listed_by_name() {
    everywhere(async |place| {
        let proved = [
            verified(&*place.env, "b.example", Method::Operator),
            verified(&*place.env, "b-c.example", Method::Dns),
            verified(&*place.env, "a.example", Method::Dns),
        ];
        place
            .work(async move |store: &mut dyn Saml| {
                for domain in &proved {
                    assert!(store.insert_verified_domain(domain).await?);
                }
                let [b, b_c, a] = proved;
                assert_eq!(store.verified_domains().await?, [a, b_c, b]);
                Ok(())
            })
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn address_leads_to_the_provider_of_the_domains_owner() {
    on_both(async |world: World| {
        let (acme, other) = (world.ctx().tenant, world.other_tenant());
        let (ours, theirs) = (
            provider(&*world.env, &acme, &["a.example"]),
            provider(&*world.env, &other, &["a.example", "b.example"]),
        );
        kept(&world, &ours).await;
        kept(&world, &theirs).await;
        let found = async |name: &str| {
            let wanted = domain(name);
            let look = async move |across: &mut store::Across| across.provider_for_domain(&wanted).await;
            world.store.across(look).await.unwrap()
        };
        assert_eq!(found("a.example").await, None, "no tenant has verified it");
        for name in ["a.example", "b.example", "c.example"] {
            let proved = verified(&*world.env, name, Method::Operator);
            let work = async move |_: &_, tx: &mut store::Tx| {
                let store: &mut dyn Saml = tx;
                store.insert_verified_domain(&proved).await
            };
            assert!(world.change(&acme, work).await.unwrap());
        }
        assert_eq!(found("a.example").await, Some((acme, ours.id)));
        assert_eq!(found("b.example").await, None, "its provider's tenant has not verified it");
        assert_eq!(found("c.example").await, None);
    })
    .await;
}
