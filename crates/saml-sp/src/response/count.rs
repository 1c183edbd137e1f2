//! Ensures that each response counts only once.

use kernel::{Ctx, Email, StoreResult, Timestamp};

use super::{Claims, SKEW_MILLIS, email};
use crate::{
    domain::EmailDomain,
    provider::Provider,
    refusal::{Reason, Refusal, Step},
    request::{ClaimedRequest, Request, RequestId, sha256},
    signature::Verified,
    store::{DomainStore, RequestStore},
};

/// The minimum time an assertion is remembered: longer than the lifetime of a request.
const REMEMBERED_MILLIS: i64 = 3_600_000;

/// The result of claiming a response.
#[derive(Debug)]
pub struct CountedResponse {
    /// The claimed request; `None` if it could not be claimed.
    pub request: Option<Request>,
    /// The checks that passed.
    pub passed: Vec<Step>,
    /// The email address of the user who signs in, or the reason for rejection.
    pub outcome: Result<Email, Refusal>,
}

/// Claims the request, remembers the assertion and reads the email address. Call it in the transaction that starts
/// the session. Commit even if the result is a refusal, so that the request stays claimed.
pub async fn claim<S: RequestStore + DomainStore + ?Sized>(
    ctx: &Ctx,
    store: &mut S,
    provider: &Provider,
    answers: &RequestId,
    claims: &Verified<Claims>,
    browser: Option<&str>,
) -> StoreResult<CountedResponse> {
    let browser = browser.map(|kept| sha256(kept.as_bytes()));
    let mut counted = CountedResponse { request: None, passed: Vec::new(), outcome: Err(unknown()) };
    let request = match store.claim_request(answers, &provider.id, browser.as_ref(), ctx.now).await? {
        ClaimedRequest::Now(request) => request,
        other => {
            counted.outcome = Err(refused(&other));
            return Ok(counted);
        }
    };
    counted.request = Some(request.clone());
    let claims = claims.get();
    if let Some(refusal) = stale(&request, claims) {
        counted.outcome = Err(refusal);
        return Ok(counted);
    }
    counted.passed.push(Step::Request);
    let assertion = sha256(claims.id.as_bytes());
    if !store.remember_assertion(&provider.id, &assertion, ends(claims, ctx.now)).await? {
        counted.outcome = Err(Refusal::new(Reason::Replayed, "this assertion was already used"));
        return Ok(counted);
    }
    counted.passed.push(Step::Replay);
    counted.outcome = match email::of(claims, provider) {
        Err(refusal) => Err(refusal),
        Ok(email) => {
            if let Some(refusal) = foreign(ctx, store, &email).await? {
                Err(refusal)
            } else {
                counted.passed.push(Step::Email);
                Ok(email)
            }
        }
    };
    Ok(counted)
}

fn unknown() -> Refusal {
    let detail = "no pending request to this identity provider has this ID; the sign-in may have taken longer \
        than 10 minutes";
    Refusal::new(Reason::UnknownRequest, detail)
}

fn refused(claimed: &ClaimedRequest) -> Refusal {
    match claimed {
        ClaimedRequest::Before => Refusal::new(Reason::RequestUsed, "this request was already answered"),
        ClaimedRequest::OtherBrowser => {
            let detail = "the request was started in another browser, or the browser lost its cookie";
            Refusal::new(Reason::OtherBrowser, detail)
        }
        ClaimedRequest::Now(_) | ClaimedRequest::Unknown => unknown(),
    }
}

/// Returns a refusal if ForceAuthn was requested and the authentication is older than the request.
fn stale(request: &Request, claims: &Claims) -> Option<Refusal> {
    let since = request.created_at.plus_millis(-SKEW_MILLIS);
    let old = claims.authn.iter().find(|authn| request.force_authn && authn.instant < since)?;
    let detail = format!(
        "AuthnInstant is {}, but the request of {} required a new sign-in",
        old.instant, request.created_at
    );
    Some(Refusal::new(Reason::AuthnContext, detail))
}

/// Returns until when the assertion must be remembered.
fn ends(claims: &Claims, now: Timestamp) -> Timestamp {
    let confirmed = claims.confirmations.iter().filter_map(|one| one.not_on_or_after);
    let conditions = claims.conditions.iter().filter_map(|one| one.not_on_or_after);
    let last = confirmed.chain(conditions).max().unwrap_or(now).plus_millis(2 * SKEW_MILLIS);
    last.max(now.plus_millis(REMEMBERED_MILLIS))
}

/// Returns a refusal if another tenant has verified the address's domain.
async fn foreign<S: DomainStore + ?Sized>(
    ctx: &Ctx,
    store: &mut S,
    email: &Email,
) -> StoreResult<Option<Refusal>> {
    let Some(domain) = EmailDomain::of(email.as_str()) else {
        return Ok(Some(Refusal::new(Reason::BadEmail, "the domain of the email address is invalid")));
    };
    let owner = store.domain_owner(&domain).await?;
    Ok(owner
        .filter(|owner| *owner != ctx.tenant)
        .map(|_| Refusal::new(Reason::DomainOfAnother, format!("{domain} was verified by another tenant"))))
}

impl Claims {
    /// Returns the earliest end of the session at the identity provider.
    pub fn session_ends(&self) -> Option<Timestamp> {
        self.authn.iter().filter_map(|authn| authn.session_not_on_or_after).min()
    }
}
