//! Turns the examined answer of an OpenID provider into a sign-in or a refusal.
//!
//! The request is claimed in a unit of work of its own before the code is exchanged, so that an answer counts once and no
//! unit of work waits for the provider.

use audit::{Audited, Event, Unaudited, events::oidc::OidcSignInRefused};
use directory::Person;
use kernel::{Ctx, Email, Secret, StoreResult};
use oidc_rp::{Callback, Claims, Reason, Refusal, RequestSecrets, Step};
use saml_sp::{ClaimedRequest, DomainStore, EmailDomain, Subject, TestCheck, TestReport};

use super::{
    examination::{ExaminedResponse, Redirected, checks, shown_claims, unclaimed},
    logout::session_hash,
    provider::OidcProvider,
    request::OidcRequest,
    store::OidcStore,
};
use crate::{
    device::Device,
    error::Error,
    factor::Verifiers,
    federated::with_identity_provider,
    provider_session::ProviderSession,
    sso::{
        SsoOutcome, SsoStorage,
        account::{
            AccountReason, AccountRefusal, FoundAccount, Identification, create_if_new, find_account, pin,
            tested_user,
        },
        accounts::keep_groups,
    },
};

/// An answer that was examined, valid or not.
pub struct OidcResponse {
    /// The provider.
    pub provider: OidcProvider,
    /// The claimed request.
    pub request: OidcRequest,
    /// The result of the checks.
    pub examined: ExaminedResponse,
}

/// Returns the audit event of a refusal.
pub fn refusal_event(provider: &OidcProvider, refusal: &Refusal, person: Option<&Person>) -> Event {
    let data = OidcSignInRefused {
        step: refusal.step().as_str().to_owned(),
        reason: refusal.reason.as_str().to_owned(),
        detail: refusal.detail.clone(),
        user: person.map(|person| person.id.to_string()),
        suppressed: None,
    };
    Event::new(provider.id.as_str(), &data)
}

/// Claims the request that a redirect answers. `browser` is the secret in the browser's cookie of the request.
pub async fn claim(
    ctx: &Ctx,
    store: &mut dyn OidcStore,
    provider: OidcProvider,
    callback: &Callback,
    browser: Option<Secret<String>>,
) -> StoreResult<Audited<Result<Redirected, Refusal>>> {
    let has_cookie = browser.is_some();
    let browser = browser.unwrap_or_else(|| Secret::new(String::new()));
    let secrets = RequestSecrets::from_parts(callback.state.clone(), browser);
    let hash = has_cookie.then(|| secrets.browser_hash());
    let (state, id) = (secrets.state_hash(), provider.id.clone());
    let claimed = match store.claim_oidc_request(&state, &id, hash.as_ref(), ctx.now).await? {
        // The request was for another client, whose provider must not get the code of this one.
        ClaimedRequest::Now(request) if request.created_at < provider.client_since => {
            Err(unclaimed(Reason::UnknownRequest))
        }
        ClaimedRequest::Now(request) => Ok(Redirected { provider, request, secrets }),
        ClaimedRequest::Before => Err(unclaimed(Reason::RequestUsed)),
        ClaimedRequest::OtherBrowser => Err(unclaimed(Reason::OtherBrowser)),
        ClaimedRequest::Unknown => Err(unclaimed(Reason::UnknownRequest)),
    };
    Ok(Audited::without(claimed, Unaudited::StepTaken))
}

/// Starts the sign-in of a valid answer, or reports to the connection test of the request.
pub async fn with_oidc_response<S: SsoStorage + OidcStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    response: OidcResponse,
    device: &Device,
) -> Result<Audited<SsoOutcome<Refusal>>, Error> {
    let OidcResponse { provider, request, examined } = response;
    let ExaminedResponse { mut passed, claims, outcome, user_info, logout_hint } = examined;
    let email = match outcome {
        Ok(email) => check_domain(ctx, store, email).await?,
        Err(refusal) => Err(refusal),
    };
    let (email, mut account) = match (email, &claims) {
        (Ok(email), Some(claims)) => {
            passed.push(Step::Email);
            let names = oidc_rp::claim_values(claims, user_info.as_ref(), "name");
            let identification = Identification {
                provider: provider.id.clone(),
                email: email.clone(),
                subject: Some(subject_of(claims)),
                display_name: names.into_iter().next(),
            };
            let account = find_account(ctx, store, identification).await?;
            (Some(email), Ok(account))
        }
        (Ok(_), None) => return Err(Error::internal("an answer without claims was accepted")),
        (Err(refusal), _) => (None, Err(refusal)),
    };
    // The account's tenant is locked now, so the connection cannot change any more.
    if account.is_ok() && !is_unchanged(&provider, store).await? {
        account = Err(unclaimed(Reason::UnknownRequest));
    }
    if let Some(test) = &request.trial {
        let report = report(ctx, &provider, &passed, claims.as_ref(), email.as_ref(), &account);
        store.report_connection_test(test, &report).await?;
        return Ok(Audited::without(SsoOutcome::Tested(test.clone()), Unaudited::StepTaken));
    }
    let (account, mut events) = create_if_new(ctx, store, account).await?;
    let (account, subject) = match account {
        Ok(FoundAccount::Allowed(account, subject)) => (*account, subject),
        Ok(FoundAccount::New(_)) => return Err(Error::internal("a new user was not created")),
        Ok(FoundAccount::NetworkBlocked(event, _)) => {
            return Ok(Audited::new(SsoOutcome::NetworkBlocked, event));
        }
        Ok(FoundAccount::Refused(refusal, person)) => {
            return Ok(refused(&provider, refusal.into(), person.as_deref()));
        }
        Err(refusal) => return Ok(refused(&provider, refusal, None)),
    };
    match pin(ctx, store, &provider.id, &account.person, subject).await? {
        Ok(event) => events.extend(event),
        Err(refusal) => return Ok(refused(&provider, refusal.into(), Some(&account.person)).after(events)),
    }
    if let Some(claims) = &claims {
        let named = |name: &str| oidc_rp::claim_values(claims, user_info.as_ref(), name);
        events.extend(keep_groups(ctx, store, (&provider.id, &account.person.id), named).await?);
    }
    let session_ends = claims.as_ref().and_then(|claims| claims.session_ends);
    let at_provider = claims.map(|claims| ProviderSession {
        provider: provider.id,
        subject: *subject_of(&claims).as_bytes(),
        session: claims.session.as_deref().map(|session| session_hash(&claims.issuer, session)),
        logout_hint,
    });
    let continued =
        with_identity_provider(ctx, store, verifiers, account, (at_provider, session_ends), device).await?;
    Ok(continued.map(|outcome| SsoOutcome::Continued(Box::new(outcome), request.return_to)).after(events))
}

/// Returns whether the connection is as it was when the answer arrived, apart from keys. It may have been changed or removed
/// while the provider answered.
async fn is_unchanged(provider: &OidcProvider, store: &mut dyn OidcStore) -> StoreResult<bool> {
    let current = store.current_oidc_provider(&provider.id).await?;
    Ok(current.is_some_and(|current| {
        current.metadata.issuer == provider.metadata.issuer
            && current.settings == provider.settings
            && current.email_domains == provider.email_domains
    }))
}

/// Checks that no other tenant has verified the domain of the address.
async fn check_domain<S: DomainStore>(
    ctx: &Ctx,
    store: &mut S,
    email: Email,
) -> StoreResult<Result<Email, Refusal>> {
    let Some(domain) = EmailDomain::of(email.as_str()) else {
        return Ok(Err(Refusal::new(Reason::BadEmail, "the domain of the email address is invalid")));
    };
    if store.domain_owner(&domain).await?.is_some_and(|owner| owner != ctx.tenant) {
        let detail = format!("{domain} was verified by another tenant");
        return Ok(Err(Refusal::new(Reason::DomainOfAnother, detail)));
    }
    Ok(Ok(email))
}

/// Returns the digest of issuer and subject, which identifies a user forever (OpenID Connect Core, section 5.7).
fn subject_of(claims: &Claims) -> Subject {
    Subject::of_oidc(&claims.issuer, &claims.subject)
}

fn report(
    ctx: &Ctx,
    provider: &OidcProvider,
    passed: &[Step],
    claims: Option<&Claims>,
    email: Option<&Email>,
    account: &Result<FoundAccount, Refusal>,
) -> TestReport {
    let (refusal, person) = match account {
        Ok(account) => {
            let (refusal, person) = account.refusal_and_person();
            (refusal.map(Refusal::from), person)
        }
        Err(refusal) => (Some(refusal.clone()), None),
    };
    let passed: Vec<_> = passed.iter().map(|step| step.as_str()).collect();
    let failed = refusal.as_ref().map(|refusal| saml_sp::FailedCheck {
        check: refusal.step().as_str(),
        reason: refusal.reason.as_str(),
        detail: &refusal.detail,
    });
    TestReport {
        passed: refusal.is_none(),
        checks: TestCheck::list(checks(provider), &passed, failed),
        attributes: claims.map(shown_claims).unwrap_or_default(),
        name_id: None,
        email: email.map(|email| email.as_str().to_owned()),
        authn_context: claims.and_then(|claims| claims.acr.clone()),
        user: person.map(tested_user),
        finished_at: ctx.now,
    }
}

fn refused(
    provider: &OidcProvider,
    refusal: Refusal,
    person: Option<&Person>,
) -> Audited<SsoOutcome<Refusal>> {
    let event = refusal_event(provider, &refusal, person);
    Audited::new(SsoOutcome::Refused { refusal, is_recorded: true }, event)
}

impl From<AccountRefusal> for Refusal {
    fn from(refusal: AccountRefusal) -> Self {
        let reason = match refusal.reason {
            AccountReason::NotProvisioned => Reason::NotProvisioned,
            AccountReason::SsoNotAllowed => Reason::SsoNotAllowed,
            AccountReason::Disabled => Reason::Disabled,
            AccountReason::SubjectChanged => Reason::SubjectChanged,
            AccountReason::SubjectOfAnother => Reason::SubjectOfAnother,
            AccountReason::Network => Reason::Network,
        };
        Self::new(reason, refusal.detail)
    }
}
