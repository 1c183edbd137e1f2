//! Identity providers and their domains.

use ::saml_sp::{ClaimedRequest, Provider, ProviderStore, Refresh};
use directory::{NewTenant, Tenant, TenantStore, Tier};
use kernel::{StoreError, StoreResult};
use store::Tx;

use super::{Saml, connection_test, domain, everywhere, kept, provider, unaudited, until_2027};
use crate::support::{World, on_both};

/// Sorts providers as storage does: by id, which is random within a millisecond.
fn sorted(mut all: [Provider; 2]) -> [Provider; 2] {
    all.sort_by(|one, other| one.id.cmp(&other.id));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn providers_are_stored_and_found_by_id_and_domain() {
    everywhere(async |place| {
        let all = [place.provider(&["a.example", "b.example"]).await, place.provider(&["c.example"]).await];
        let oldest_first = sorted(all.clone());
        place
            .work(async move |store: &mut dyn Saml| {
                assert_eq!(store.providers().await?, oldest_first);
                assert_eq!(store.provider(&all[0].id).await?.as_ref(), Some(&all[0]));
                assert_eq!(store.count_providers().await?, 2);
                for (name, id) in
                    [("a.example", Some(&all[0].id)), ("c.example", Some(&all[1].id)), ("d.example", None)]
                {
                    assert_eq!(store.provider_of_domain(&domain(name)).await?.as_ref(), id, "{name}");
                }
                Ok(())
            })
            .await;
        let stranger = provider(&*place.env, &place.tenant, &["a.example"]);
        let insert = async move |store: &mut dyn Saml| store.insert_provider(&stranger).await;
        let taken = place.of(&place.tenant, insert).await;
        assert!(matches!(taken, Err(StoreError::Taken(_))), "a domain belongs to one provider of a tenant");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn update_replaces_domains() {
    everywhere(async |place| {
        let first = place.provider(&["a.example", "b.example"]).await;
        let second = place.provider(&["c.example"]).await;
        let renamed = Provider {
            name: "Okta".into(),
            email_domains: vec![domain("b.example"), domain("d.example")],
            ..first.clone()
        };
        let wanted = renamed.clone();
        place.work(async move |store: &mut dyn Saml| store.update_provider(&wanted).await).await;
        // A released domain is free.
        let second = Provider { email_domains: vec![domain("a.example")], ..second };
        let wanted = second.clone();
        place.work(async move |store: &mut dyn Saml| store.update_provider(&wanted).await).await;
        let greedy = Provider { email_domains: vec![domain("d.example")], ..second.clone() };
        let update = async move |store: &mut dyn Saml| store.update_provider(&greedy).await;
        assert!(matches!(place.of(&place.tenant, update).await, Err(StoreError::Taken(_))));
        let unknown = provider(&*place.env, &place.tenant, &["e.example"]);
        let update = async move |store: &mut dyn Saml| store.update_provider(&unknown).await;
        assert!(matches!(place.of(&place.tenant, update).await, Err(StoreError::Aborted(_))));
        place
            .work(async move |store: &mut dyn Saml| {
                let owners = [
                    ("a.example", Some(&second.id)),
                    ("b.example", Some(&renamed.id)),
                    ("c.example", None),
                    ("d.example", Some(&renamed.id)),
                    ("e.example", None),
                ];
                for (name, owner) in owners {
                    assert_eq!(store.provider_of_domain(&domain(name)).await?.as_ref(), owner, "{name}");
                }
                assert_eq!(store.providers().await?, sorted([renamed, second]));
                Ok(())
            })
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_provider_deletes_its_data() {
    everywhere(async |place| {
        let (gone, stays) = (place.provider(&["a.example"]).await, place.provider(&["b.example"]).await);
        let (one, other) = (place.request(&gone, 1).await, place.request(&stays, 2).await);
        let trials = [connection_test(&*place.env, &gone), connection_test(&*place.env, &stays)];
        let (of, beside, until) = (gone.id.clone(), stays.id.clone(), one.expires_at);
        place
            .work(async move |store: &mut dyn Saml| {
                for trial in &trials {
                    store.insert_connection_test(trial).await?;
                }
                for id in [&of, &beside] {
                    assert!(store.remember_assertion(id, &[1; 32], until).await?);
                }
                assert!(store.delete_provider(&of).await?);
                assert!(!store.delete_provider(&of).await?, "once");
                assert_eq!(store.provider(&of).await?, None);
                assert_eq!(store.provider_of_domain(&domain("a.example")).await?, None);
                assert_eq!(store.connection_test(&trials[0].id).await?, None);
                assert!(store.remember_assertion(&of, &[1; 32], until).await?, "the assertion is forgotten");
                // The other provider's data remains.
                assert!(store.provider_of_domain(&domain("b.example")).await?.is_some());
                assert!(store.connection_test(&trials[1].id).await?.is_some());
                assert!(!store.remember_assertion(&beside, &[1; 32], until).await?);
                Ok(())
            })
            .await;
        assert_eq!(place.claim(&one, &gone, Some(one.browser)).await, ClaimedRequest::Unknown);
        assert!(matches!(place.claim(&other, &stays, Some(other.browser)).await, ClaimedRequest::Now(_)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_updates_of_a_provider_are_serialized() {
    on_both(async |world: World| {
        let one = provider(&*world.env, &world.ctx().tenant, &["a.example"]);
        kept(&world, &one).await;
        let all = (0..16).map(async |number| {
            let id = one.id.clone();
            let change = async move |tx: &mut Tx| {
                let mut found = tx.provider(&id).await?.unwrap();
                found.authn_contexts.push(number.to_string());
                tx.update_provider(&found).await
            };
            world.change(&world.ctx().tenant, async move |_, tx| change(tx).await).await.unwrap();
        });
        futures_util::future::join_all(all).await;
        let id = one.id.clone();
        let read = async move |tx: &mut Tx| tx.provider(&id).await;
        let found = world.store.read::<_, StoreError>(world.ctx().tenant, read).await.unwrap().unwrap();
        assert_eq!(found.authn_contexts.len(), 1 + 16, "no change is lost");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_inserts_respect_the_limit() {
    on_both(async |world: World| {
        let new = NewTenant { slug: "acme".into(), name: "Acme".into(), tier: Tier::Standard };
        let acme = Tenant::new(&*world.env, new).unwrap();
        let tenant = acme.id.clone();
        world.change(&tenant, async move |_, tx| tx.insert_tenant(&acme).await).await.unwrap();
        // In the second round all connections are open, so that all units begin at once.
        for most in [2, 4] {
            let all = (0..16).map(async |number| {
                let made = provider(&*world.env, &tenant, &[&format!("d{most}-{number}.example")]);
                let add = async move |tx: &mut Tx| {
                    let is_free = tx.count_providers().await? < most;
                    if is_free {
                        tx.insert_provider(&made).await?;
                    }
                    Ok(is_free)
                };
                world.change(&tenant, async move |_, tx| add(tx).await).await.unwrap()
            });
            let added = futures_util::future::join_all(all).await;
            assert_eq!(added.iter().filter(|added| **added).count(), 2);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_administrators_require_an_entry() {
    on_both(async |world: World| {
        let one = provider(&*world.env, &world.ctx().tenant, &["a.example"]);
        let silent = |result: StoreResult<()>| matches!(result, Err(StoreError::Aborted(_)));
        let made = one.clone();
        assert!(silent(unaudited(&world, async move |tx| tx.insert_provider(&made).await).await));
        kept(&world, &one).await;
        let mut certificates = one.clone();
        certificates.idp.certificates.push(until_2027());
        for change in [
            certificates,
            Provider { name: "Okta".into(), ..one.clone() },
            Provider { email_domains: vec![domain("b.example")], ..one.clone() },
        ] {
            assert!(silent(unaudited(&world, async move |tx| tx.update_provider(&change).await).await));
        }
        let id = one.id.clone();
        assert!(silent(unaudited(&world, async move |tx| tx.delete_provider(&id).await.map(|_| ())).await));
        // Maintenance requires no entry.
        let maintained = Provider {
            refresh: Refresh::default(),
            warned: Some(30),
            valid_until: Some(world.env.now()),
            updated_at: world.env.now(),
            ..one.clone()
        };
        let wanted = maintained.clone();
        unaudited(&world, async move |tx| tx.update_provider(&wanted).await).await.unwrap();
        let read = async move |tx: &mut Tx| tx.provider(&one.id).await;
        let found = world.store.read::<_, StoreError>(world.ctx().tenant, read).await.unwrap();
        assert_eq!(found, Some(maintained));
    })
    .await;
}
