//! Maintenance of providers, and purging of expired rows.

use ::saml_sp::{
    ClaimedRequest, ConnectionTestStore, DomainRecheck, DomainStore, EmailDomain, Method, Provider,
    ProviderId, ProviderStore, RECHECK_MILLIS, Refresh, RequestStore, VerifiedDomain,
};
use kernel::{StoreError, TenantId, Timestamp};
use store::{Across, ExpiredSaml, SamlExpiry, Tx};

use super::{connection_test, kept, provider, request, request_id, unaudited, until_2027};
use crate::support::{World, on_both};

const DAY: i64 = 24 * 3_600_000;

async fn due(world: &World, now: Timestamp, limit: i64) -> Vec<ProviderId> {
    let look = async move |across: &mut Across| across.saml_due(now, limit).await;
    let found = world.store.across(look).await.unwrap();
    assert!(found.iter().all(|(tenant, id)| id.tenant().as_ref() == Some(tenant)));
    found.into_iter().map(|(_, id)| id).collect()
}

fn next(of: Provider, at: Timestamp) -> Provider {
    Provider { refresh: Refresh { next_at: Some(at), ..of.refresh }, ..of }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_instance_leases_a_due_provider() {
    on_both(async |world: World| {
        let now = world.env.now();
        let make = |tenant: &TenantId, domain: &str, after: i64| {
            next(provider(&*world.env, tenant, &[domain]), now.plus_millis(after))
        };
        let late = make(&world.ctx().tenant, "a.example", -1_000);
        let later = make(&world.other_tenant(), "b.example", -2_000);
        let soon = make(&world.ctx().tenant, "c.example", 1_000);
        for one in [&late, &later, &soon] {
            kept(&world, one).await;
        }
        assert_eq!(due(&world, now, 10).await, [later.id.clone(), late.id.clone()]);
        assert_eq!(due(&world, now, 1).await, [later.id], "the longest due comes first");

        let until = now.plus_millis(60_000);
        let take = async |of: &Provider, now: Timestamp, until: Timestamp| {
            let id = of.id.clone();
            unaudited(&world, async move |tx| tx.take_due_provider(&id, now, until).await).await.unwrap()
        };
        let all = (0..16).map(async |_| take(&late, now, until).await);
        let won: Vec<_> = futures_util::future::join_all(all).await.into_iter().flatten().collect();
        assert_eq!(won, std::slice::from_ref(&late));
        assert_eq!(take(&soon, now, until).await, None, "the provider is not due");
        assert!(!due(&world, now, 10).await.contains(&late.id));
        // The lease ends if its owner disappears.
        assert!(due(&world, until, 10).await.contains(&late.id));
        assert_eq!(take(&late, until, until.plus_millis(60_000)).await, Some(late.clone()));
        // When the maintenance is done, the provider is due at its next scheduled time.
        let done = next(late.clone(), until.plus_millis(5_000));
        unaudited(&world, async move |tx| tx.update_provider(&done).await).await.unwrap();
        assert!(!due(&world, until.plus_millis(4_999), 10).await.contains(&late.id));
        assert!(due(&world, until.plus_millis(5_000), 10).await.contains(&late.id));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_of_a_domain_stays_until_another_is_found() {
    on_both(async |world| {
        let (now, domain) = (world.env.now(), "corp.example");
        let month = now.plus_millis(RECHECK_MILLIS);
        let work = async move |_: &_, tx: &mut Tx| {
            let domain: EmailDomain = domain.parse().unwrap();
            let verified = VerifiedDomain {
                domain: domain.clone(),
                method: Method::Dns,
                verified_at: now,
                token: Some("first".into()),
            };
            assert!(tx.insert_verified_domain(&verified).await?);
            let taken = tx.take_due_domain(&domain, month, month.plus_millis(1)).await?.unwrap();
            let token = |text: &str| Some(text.to_owned());
            let leased =
                DomainRecheck { token: token("first"), missing_since: None, next_at: month.plus_millis(1) };
            assert_eq!(taken, leased);
            let next = DomainRecheck { token: token("second"), ..taken };
            assert!(tx.reschedule_domain(&domain, &next).await?);
            assert_eq!(tx.verified_domains().await?, [VerifiedDomain { token: token("second"), ..verified }]);
            Ok(())
        };
        world.change(&world.ctx().tenant, work).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_expiry_covers_all_tenants() {
    on_both(async |world: World| {
        let expiry = async |now: Timestamp| {
            let look = async move |across: &mut Across| across.saml_expiry(now).await;
            world.store.across(look).await.unwrap()
        };
        let none = SamlExpiry { providers: 0, expired: 0, within_30_days: 0, soonest: None };
        assert_eq!(expiry(world.env.now()).await, none);
        let long = provider(&*world.env, &world.ctx().tenant, &["a.example"]);
        let mut short = provider(&*world.env, &world.other_tenant(), &["b.example"]);
        short.idp.certificates = vec![until_2027()];
        kept(&world, &long).await;
        kept(&world, &short).await;
        let [first, last] = [&short, &long].map(|one| one.expires_at().unwrap());
        for (now, expired, within_30_days, soonest) in [
            (first.plus_millis(-31 * DAY), 0, 0, Some(first)),
            (first.plus_millis(-30 * DAY), 0, 1, Some(first)),
            (first, 1, 0, Some(last)),
            (last.plus_millis(-1), 1, 1, Some(last)),
            (last, 2, 0, None),
        ] {
            let wanted = SamlExpiry { providers: 2, expired, within_30_days, soonest };
            assert_eq!(expiry(now).await, wanted, "{now}");
        }
        // A new certificate extends the expiry.
        short.idp.certificates.push(super::until_2098());
        let tenant = short.id.tenant().unwrap();
        world.change(&tenant, async move |_, tx| tx.update_provider(&short).await).await.unwrap();
        assert_eq!(expiry(first).await.soonest, Some(last));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_expired_rows_are_purged() {
    on_both(async |world: World| {
        let now = world.env.now();
        let tenants = [world.ctx().tenant, world.other_tenant()];
        let providers = tenants.clone().map(|tenant| provider(&*world.env, &tenant, &["a.example"]));
        // Expired a little more than a day ago, less than a day ago, and not yet.
        let ends = [now.plus_millis(-DAY), now.plus_millis(1 - DAY), now.plus_millis(1)];
        let mut tried = Vec::new();
        for one in &providers {
            kept(&world, one).await;
            let trials: Vec<_> = ends.map(|end| (connection_test(&*world.env, one), end)).into();
            tried.push(trials.iter().map(|(trial, _)| trial.id.clone()).collect::<Vec<_>>());
            let one = one.clone();
            let keep = async move |_: &_, tx: &mut Tx| {
                for (number, (trial, end)) in (0_u8..).zip(trials) {
                    let request = ::saml_sp::Request { expires_at: end, ..request(&one, number, now) };
                    tx.insert_request(&request).await?;
                    tx.insert_connection_test(&::saml_sp::ConnectionTest { expires_at: end, ..trial })
                        .await?;
                }
                tx.remember_assertion(&one.id, &[0; 32], now).await?;
                tx.remember_assertion(&one.id, &[1; 32], now.plus_millis(1)).await?;
                Ok(())
            };
            world.change(&providers[tried.len() - 1].id.tenant().unwrap(), keep).await.unwrap();
        }
        let over = async || world.store.expired_saml(now).await.unwrap();
        let found = over().await;
        let mut both = tenants.clone();
        both.sort();
        assert_eq!(found.iter().map(|over| over.tenant.clone()).collect::<Vec<_>>(), both);
        let (stray, other) = (found[0].clone(), world.other_tenant());
        let stray = world.change(&other, async move |_, tx| tx.purge_saml(&stray).await).await;
        assert!(matches!(stray, Err(StoreError::Aborted(_))), "a tenant purges only its own rows");
        for one in found {
            purge(&world, one).await;
        }
        assert!(over().await.is_empty());
        for ((tenant, one), trials) in tenants.iter().zip(providers).zip(tried) {
            let look = async move |_: &_, tx: &mut Tx| {
                for (number, trial) in (0_u8..).zip(&trials) {
                    assert_eq!(tx.request(&request_id(number)).await?.is_some(), number > 0);
                    assert_eq!(tx.connection_test(trial).await?.is_some(), number > 0);
                }
                let late = tx.claim_request(&request_id(1), &one.id, Some(&[1; 32]), now).await?;
                assert_eq!(late, ClaimedRequest::Unknown);
                assert!(tx.remember_assertion(&one.id, &[0; 32], now).await?, "the assertion is forgotten");
                assert!(!tx.remember_assertion(&one.id, &[1; 32], now).await?);
                assert!(tx.provider(&one.id).await?.is_some());
                Ok(())
            };
            world.change(tenant, look).await.unwrap();
        }
    })
    .await;
}

async fn purge(world: &World, over: ExpiredSaml) {
    let tenant = over.tenant.clone();
    world.change(&tenant, async move |_, tx| tx.purge_saml(&over).await).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_expired_rows_are_purged_in_batches() {
    on_both(async |world: World| {
        let now = world.env.now();
        let one = provider(&*world.env, &world.ctx().tenant, &["a.example"]);
        let id = one.id.clone();
        let keep = async move |tx: &mut Tx| {
            for number in 0..1_100_u32 {
                let mut assertion = [0; 32];
                assertion[..4].copy_from_slice(&number.to_be_bytes());
                tx.remember_assertion(&id, &assertion, now.plus_millis(-i64::from(number))).await?;
            }
            Ok::<_, StoreError>(())
        };
        unaudited(&world, keep).await.unwrap();
        let mut looks = 0;
        loop {
            let found = world.store.expired_saml(now).await.unwrap();
            if found.is_empty() {
                break;
            }
            looks += 1;
            for over in found {
                purge(&world, over).await;
            }
        }
        assert_eq!(looks, 3);
    })
    .await;
}
