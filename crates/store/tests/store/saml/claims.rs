//! Requests, assertions and reports of connection tests count only once.

use ::saml_sp::{ClaimedRequest, TestReport};
use kernel::{Id, Timestamp};

use super::{Saml, connection_test, everywhere, request, request_id, unaudited};
use crate::support::{World, on_both};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_concurrent_responses_to_a_request_is_accepted() {
    everywhere(async |place| {
        let provider = place.provider(&["a.example"]).await;
        let request = place.request(&provider, 1).await;
        let all = (0..16).map(async |_| place.claim(&request, &provider, Some(request.browser)).await);
        let all = futures_util::future::join_all(all).await;
        let won: Vec<_> = all.iter().filter(|claimed| **claimed != ClaimedRequest::Before).collect();
        assert_eq!(won, [&ClaimedRequest::Now(request)]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_accepts_only_its_provider_and_browser_in_time() {
    everywhere(async |place| {
        let provider = place.provider(&["a.example"]).await;
        let another = place.provider(&["b.example"]).await;
        let kept = place.request(&provider, 1).await;
        let of = connection_test(&*place.env, &provider);
        let other = ::saml_sp::Request { trial: Some(of.id), ..request(&provider, 2, place.env.now()) };
        let (wanted, id) = (other.clone(), request_id(3));
        place
            .work(async move |store: &mut dyn Saml| {
                store.insert_request(&wanted).await?;
                assert_eq!(store.request(&wanted.id).await?.as_ref(), Some(&wanted));
                assert_eq!(store.request(&id).await?, None);
                Ok(())
            })
            .await;
        let (ours, theirs) = (Some(kept.browser), Some([9; 32]));
        let (over, in_time) = (kept.expires_at, kept.expires_at.plus_millis(-1));
        let unknown = ::saml_sp::Request { id: request_id(3), ..kept.clone() };
        assert_eq!(place.claim(&unknown, &provider, ours).await, ClaimedRequest::Unknown);
        assert_eq!(place.claim(&kept, &another, ours).await, ClaimedRequest::Unknown);
        assert_eq!(place.claim(&kept, &another, theirs).await, ClaimedRequest::Unknown);
        assert_eq!(place.claim_at(&kept, &provider, ours, over).await, ClaimedRequest::Unknown);
        assert_eq!(place.claim_at(&kept, &provider, theirs, over).await, ClaimedRequest::Unknown);
        assert_eq!(place.claim(&kept, &provider, theirs).await, ClaimedRequest::OtherBrowser);
        assert_eq!(place.claim(&kept, &provider, None).await, ClaimedRequest::OtherBrowser);
        // The request was not consumed.
        assert_eq!(place.claim_at(&kept, &provider, ours, in_time).await, ClaimedRequest::Now(kept.clone()));
        for (browser, now) in [(ours, in_time), (theirs, in_time), (None, in_time), (ours, over)] {
            assert_eq!(place.claim_at(&kept, &provider, browser, now).await, ClaimedRequest::Before);
        }
        assert_eq!(place.claim(&kept, &another, ours).await, ClaimedRequest::Unknown);
        place
            .work(async move |store: &mut dyn Saml| {
                assert_eq!(store.request(&kept.id).await?, None, "an answered request is gone");
                assert!(store.request(&other.id).await?.is_some());
                Ok(())
            })
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assertion_is_accepted_once() {
    everywhere(async |place| {
        let (provider, another) =
            (place.provider(&["a.example"]).await, place.provider(&["b.example"]).await);
        let until = place.env.now().plus_millis(60_000);
        let remember = async |id: &::saml_sp::ProviderId, assertion: [u8; 32]| {
            let id = id.clone();
            place
                .work(async move |store: &mut dyn Saml| {
                    store.remember_assertion(&id, &assertion, until).await
                })
                .await
        };
        let all = (0..16).map(async |_| remember(&provider.id, [1; 32]).await);
        let all = futures_util::future::join_all(all).await;
        assert_eq!(all.iter().filter(|is_new| **is_new).count(), 1);
        assert!(remember(&provider.id, [2; 32]).await);
        assert!(remember(&another.id, [1; 32]).await, "IDs are each provider's own");
        assert!(!remember(&provider.id, [1; 32]).await);
    })
    .await;
}

/// Returns a report that differs from others by its time.
fn report(number: i64) -> TestReport {
    TestReport::unanswered(Timestamp::from_unix_millis(number))
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_test_has_one_report() {
    everywhere(async |place| {
        let made = connection_test(&*place.env, &place.provider(&["a.example"]).await);
        let (kept, unknown_id) = (made.clone(), Id::new(&*place.env));
        place
            .work(async move |store: &mut dyn Saml| {
                store.insert_connection_test(&kept).await?;
                assert_eq!(store.connection_test(&kept.id).await?, Some(kept));
                assert_eq!(store.connection_test(&unknown_id).await?, None);
                assert!(!store.report_connection_test(&unknown_id, &report(0)).await?);
                Ok(())
            })
            .await;
        let all = (0..16).map(async |number| {
            let id = made.id.clone();
            place
                .work(async move |store: &mut dyn Saml| {
                    store.report_connection_test(&id, &report(number)).await
                })
                .await
        });
        let all = futures_util::future::join_all(all).await;
        let won: Vec<_> =
            (0..16).zip(all).filter(|(_, was_first)| *was_first).map(|(number, _)| number).collect();
        let id = made.id.clone();
        let found =
            place.work(async move |store: &mut dyn Saml| store.connection_test(&id).await).await.unwrap();
        assert_eq!(won.len(), 1);
        assert_eq!(found, ::saml_sp::ConnectionTest { report: Some(report(won[0])), ..made });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_are_rolled_back_with_the_unit_of_work() {
    on_both(async |world: World| {
        let one = super::provider(&*world.env, &world.ctx().tenant, &["a.example"]);
        super::kept(&world, &one).await;
        let made = request(&one, 1, world.env.now());
        let wanted = made.clone();
        unaudited(&world, async move |tx| store_request(tx, &wanted).await).await.unwrap();
        let claim = async |fails: bool| {
            let (of, provider, now) = (made.clone(), one.id.clone(), world.env.now());
            let work = async move |tx: &mut store::Tx| {
                let store: &mut dyn Saml = tx;
                let claimed = store.claim_request(&of.id, &provider, Some(&of.browser), now).await?;
                let is_new = store.remember_assertion(&provider, &[1; 32], of.expires_at).await?;
                if fails { Err(kernel::StoreError::Aborted("no")) } else { Ok((claimed, is_new)) }
            };
            // A step of a sign-in, which needs no audit entry.
            unaudited(&world, work).await
        };
        claim(true).await.unwrap_err();
        assert_eq!(claim(false).await.unwrap(), (ClaimedRequest::Now(made.clone()), true));
        assert_eq!(claim(false).await.unwrap(), (ClaimedRequest::Before, false));
    })
    .await;
}

async fn store_request(store: &mut dyn Saml, request: &::saml_sp::Request) -> kernel::StoreResult<()> {
    store.insert_request(request).await
}
