//! A response counts once: for its request, from the requested provider, in the browser that started it.

use std::sync::Arc;

use kernel::{Actor, Ctx, Env, ManualEnv, TenantId};
use saml_sp::{
    Claims, CountedResponse, DomainStore, Method, Provider, ProviderId, Reason, RequestId, RequestPurpose,
    RequestStore, Step, Verified, VerifiedDomain, begin, claim, memory::MemoryStore,
};

use crate::{
    factory::Build,
    world::{NOW, WORLD, examined},
};

/// A provider with one pending request in a store.
struct Waiting {
    ctx: Ctx,
    store: MemoryStore,
    provider: Provider,
}

impl Waiting {
    async fn new() -> Self {
        Self { ctx: WORLD.ctx(), store: WORLD.store().await, provider: WORLD.provider.clone() }
    }

    async fn claim(&mut self, answer: &Answer, browser: Option<&str>) -> CountedResponse {
        claim(&self.ctx, &mut self.store, &self.provider, &answer.0, &answer.1, browser).await.unwrap()
    }

    fn later(&mut self, millis: i64) {
        self.ctx.now = self.ctx.now.plus_millis(millis);
    }
}

/// A validated response.
struct Answer(RequestId, Verified<Claims>);

fn answer(build: &Build) -> Answer {
    let examined = examined(&build.field(), |_| ());
    Answer(examined.outcome.unwrap(), examined.claims.unwrap())
}

fn usual() -> Answer {
    answer(&Build::assertion_signed())
}

fn ours() -> &'static str {
    &WORLD.browser
}

#[track_caller]
fn refused(counted: &CountedResponse, reason: Reason, passed: &[Step]) {
    assert_eq!(counted.outcome.as_ref().unwrap_err().reason, reason);
    assert_eq!(counted.passed, passed);
}

#[tokio::test]
async fn a_response_counts_once() {
    let mut waiting = Waiting::new().await;
    let counted = waiting.claim(&usual(), Some(ours())).await;
    assert_eq!(counted.outcome.unwrap().as_str(), "ada@corp.example");
    assert_eq!(counted.passed, [Step::Request, Step::Replay, Step::Email]);
    assert_eq!(counted.request.unwrap(), WORLD.request);
    let again = waiting.claim(&usual(), Some(ours())).await;
    refused(&again, Reason::RequestUsed, &[]);
    assert!(again.request.is_none());
}

#[tokio::test]
async fn an_assertion_is_refused_for_a_second_request() {
    let mut waiting = Waiting::new().await;
    waiting.claim(&usual(), Some(ours())).await.outcome.unwrap();
    let env = ManualEnv::at(NOW.plus_millis(1));
    // The environment generates the same bytes in every run, so skip those of the first request.
    env.fill(&mut [0; 1_000]);
    let other = begin(
        &env,
        &WORLD.service,
        &WORLD.provider,
        None,
        RequestPurpose { return_to: "/".into(), trial: None },
    )
    .unwrap();
    assert_ne!(other.request.id, WORLD.request.id);
    waiting.store.insert_request(&other.request).await.unwrap();
    let replayed = Answer(other.request.id.clone(), usual().1);
    let counted = waiting.claim(&replayed, Some(other.browser.expose())).await;
    refused(&counted, Reason::Replayed, &[Step::Request]);
    assert!(counted.request.is_some());
}

#[tokio::test]
async fn another_browser_is_refused_and_does_not_claim_the_request() {
    let mut waiting = Waiting::new().await;
    for other in [None, Some(""), Some("0"), Some(&*WORLD.browser.to_uppercase()), Some(&WORLD.browser[1..])]
    {
        refused(&waiting.claim(&usual(), other).await, Reason::OtherBrowser, &[]);
    }
    waiting.claim(&usual(), Some(ours())).await.outcome.unwrap();
}

#[tokio::test]
async fn only_the_requested_provider_can_answer() {
    let mut waiting = Waiting::new().await;
    waiting.provider.id = ProviderId::new(&ManualEnv::at(NOW.plus_millis(5)), &WORLD.tenant);
    refused(&waiting.claim(&usual(), Some(ours())).await, Reason::UnknownRequest, &[]);
    waiting.provider.id = WORLD.provider.id.clone();
    waiting.claim(&usual(), Some(ours())).await.outcome.unwrap();
}

#[tokio::test]
async fn a_request_of_another_tenant_is_unknown() {
    let waiting = Waiting::new().await;
    let other = TenantId::new(&ManualEnv::at(NOW.plus_millis(9)));
    let mut elsewhere = Waiting { store: waiting.store.for_tenant(&other), ..waiting };
    refused(&elsewhere.claim(&usual(), Some(ours())).await, Reason::UnknownRequest, &[]);
}

#[tokio::test]
async fn a_request_expires_after_ten_minutes() {
    let mut waiting = Waiting::new().await;
    waiting.later(600_000);
    refused(&waiting.claim(&usual(), Some(ours())).await, Reason::UnknownRequest, &[]);
    waiting.later(-1);
    waiting.claim(&usual(), Some(ours())).await.outcome.unwrap();
}

#[tokio::test]
async fn force_authn_requires_authentication_after_the_request() {
    for (instant, fresh) in [
        ("2026-03-01T11:59:00Z", true),
        ("2026-03-01T12:00:30Z", true),
        ("2026-03-01T11:58:59.999Z", false),
        ("2026-02-28T12:00:00Z", false),
    ] {
        let build = Build::assertion_signed()
            .within("AuthnInstant=\"2026-03-01T11:59:50Z\"", &format!("AuthnInstant=\"{instant}\""));
        let mut waiting = Waiting { store: MemoryStore::new(&WORLD.tenant), ..Waiting::new().await };
        let mut request = WORLD.request.clone();
        request.force_authn = true;
        waiting.store.insert_request(&request).await.unwrap();
        let counted = waiting.claim(&answer(&build), Some(ours())).await;
        if fresh {
            counted.outcome.unwrap();
        } else {
            refused(&counted, Reason::AuthnContext, &[]);
            // The failed attempt has claimed the request, so there is no second one.
            refused(&waiting.claim(&answer(&build), Some(ours())).await, Reason::RequestUsed, &[]);
        }
    }
}

#[tokio::test]
async fn a_domain_verified_by_another_tenant_is_refused() {
    let mut waiting = Waiting::new().await;
    let other = TenantId::new(&ManualEnv::at(NOW.plus_millis(9)));
    let domain = VerifiedDomain {
        domain: "corp.example".parse().unwrap(),
        method: Method::Dns,
        verified_at: *NOW,
        token: None,
    };
    assert!(waiting.store.for_tenant(&other).insert_verified_domain(&domain).await.unwrap());
    refused(
        &waiting.claim(&usual(), Some(ours())).await,
        Reason::DomainOfAnother,
        &[Step::Request, Step::Replay],
    );

    let mut waiting = Waiting::new().await;
    assert!(waiting.store.insert_verified_domain(&domain).await.unwrap());
    waiting.claim(&usual(), Some(ours())).await.outcome.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_responses_start_one_session() {
    let waiting = Waiting::new().await;
    let answer = Arc::new(usual());
    let tries: Vec<_> = (0..32)
        .map(|_| {
            let (mut store, answer) = (waiting.store.clone(), answer.clone());
            tokio::spawn(async move {
                let ctx =
                    Ctx::new(Arc::new(ManualEnv::at(*NOW)), WORLD.tenant.clone(), Actor::system("test"));
                claim(&ctx, &mut store, &WORLD.provider, &answer.0, &answer.1, Some(ours())).await.unwrap()
            })
        })
        .collect();
    let mut entered = 0;
    for attempt in tries {
        match attempt.await.unwrap().outcome {
            Ok(_) => entered += 1,
            Err(refusal) => assert_eq!(refusal.reason, Reason::RequestUsed),
        }
    }
    assert_eq!(entered, 1);
}

#[tokio::test]
async fn a_used_assertion_is_refused_after_its_request_is_purged() {
    let mut waiting = Waiting::new().await;
    waiting.claim(&usual(), Some(ours())).await.outcome.unwrap();
    // After the request has expired, but before the used assertion is forgotten.
    waiting.store.purge_expired(NOW.plus_millis(3_599_999));
    waiting.store.insert_request(&WORLD.request).await.unwrap();
    refused(&waiting.claim(&usual(), Some(ours())).await, Reason::Replayed, &[Step::Request]);
}
