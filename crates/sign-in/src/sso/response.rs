//! Turns a verified SAML response into a sign-in or a refusal, in one unit of work.

use audit::{Audited, Event, Unaudited, events::saml::SamlSignInRefused};
use directory::Person;
use kernel::Ctx;
use saml_sp::{
    AcceptedResponse, Claims, CountedResponse, Provider, Reason, Refusal, Request, Subject, TestReport,
    TestedResponse,
};

use super::{
    SsoStorage,
    account::{
        AccountReason, AccountRefusal, FoundAccount, Identification, create_if_new, find_account, pin,
        tested_user,
    },
    accounts::keep_groups,
    outcome::SsoOutcome,
};
use crate::{
    device::Device, error::Error, factor::Verifiers, federated::with_identity_provider, outcome::Outcome,
    provider_session::ProviderSession,
};

/// A SAML response that passed all checks without storage, as a browser has posted it.
pub struct SamlResponse {
    /// The provider that it was posted to.
    pub provider: Provider,
    /// The examined response.
    pub accepted: AcceptedResponse,
    /// The secret in the browser's cookie of the request.
    pub browser: Option<String>,
    /// The RelayState of the form.
    pub relay_state: Option<String>,
    /// The session at the identity provider, to store; see [`provider_session`](super::provider_session).
    pub provider_session: Option<ProviderSession>,
}

/// Returns the audit event of a refusal.
pub fn refusal_event(provider: &Provider, refusal: &Refusal, person: Option<&Person>) -> Event {
    let data = SamlSignInRefused {
        step: refusal.step().as_str().to_owned(),
        reason: refusal.reason.as_str().to_owned(),
        detail: refusal.detail.clone(),
        user: person.map(|person| person.id.to_string()),
        suppressed: None,
    };
    Event::new(provider.id.as_str(), &data)
}

/// Claims the request that the response answers, and starts the sign-in or reports to the connection test of the
/// request. Commit also a refusal, so that the request stays claimed.
pub async fn with_saml_response<S: SsoStorage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    response: SamlResponse,
    device: &Device,
) -> Result<Audited<SsoOutcome<Refusal>>, Error> {
    let SamlResponse { provider, accepted, browser, relay_state, provider_session } = response;
    let AcceptedResponse { answers, claims, mut passed } = accepted;
    let counted = saml_sp::claim(ctx, store, &provider, &answers, &claims, browser.as_deref()).await?;
    let CountedResponse { request, passed: counted, outcome } = counted;
    passed.extend(counted);
    let Some(request) = request else {
        let refusal = outcome.err().ok_or_else(|| Error::internal("an unclaimed request was accepted"))?;
        let outcome = SsoOutcome::Refused { refusal, is_recorded: false };
        return Ok(Audited::without(outcome, Unaudited::NothingChanged));
    };
    let claims = claims.get();
    let (email, account) = match outcome {
        Ok(email) => {
            let identification = Identification {
                provider: provider.id.clone(),
                email: email.clone(),
                subject: Subject::of(claims),
                display_name: display_name(claims),
            };
            let account = find_account(ctx, store, identification).await?;
            (Some(email), Ok(account))
        }
        Err(refusal) => (None, Err(refusal)),
    };
    if let Some(test) = &request.trial {
        let (refusal, person) = match &account {
            Ok(account) => {
                let (refusal, person) = account.refusal_and_person();
                (refusal.map(Refusal::from), person)
            }
            Err(refusal) => (Some(refusal.clone()), None),
        };
        let user = person.map(tested_user);
        let response = TestedResponse {
            passed: &passed,
            claims: Some(claims),
            email: email.as_ref(),
            user,
            refusal: refusal.as_ref(),
        };
        store.report_connection_test(test, &TestReport::new(response, ctx.now)).await?;
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
    let named = |attribute: &str| values(claims, attribute).map(str::to_owned).collect();
    events.extend(keep_groups(ctx, store, (&provider.id, &account.person.id), named).await?);
    let at_provider = (provider_session, claims.session_ends());
    let continued = with_identity_provider(ctx, store, verifiers, account, at_provider, device).await?;
    Ok(continued.map(|outcome| continue_at(outcome, request, relay_state.as_deref())).after(events))
}

/// Attributes with a name to display, as identity providers send them.
const DISPLAY_NAMES: [&str; 5] = [
    "displayName",
    "http://schemas.microsoft.com/identity/claims/displayname",
    "urn:oid:2.16.840.1.113730.3.1.241",
    "name",
    "cn",
];

/// Returns the values of an attribute.
fn values<'c>(claims: &'c Claims, attribute: &'c str) -> impl Iterator<Item = &'c str> {
    let attributes = claims.attributes.iter().filter(move |one| one.name == attribute);
    attributes.flat_map(|one| &one.values).filter_map(Option::as_deref)
}

/// Returns the name to display for a new user.
fn display_name(claims: &Claims) -> Option<String> {
    DISPLAY_NAMES.iter().find_map(|name| values(claims, name).next()).map(str::to_owned)
}

fn continue_at(outcome: Outcome, request: Request, relay_state: Option<&str>) -> SsoOutcome<Refusal> {
    SsoOutcome::Continued(Box::new(outcome), request.place_after(relay_state))
}

fn refused(provider: &Provider, refusal: Refusal, person: Option<&Person>) -> Audited<SsoOutcome<Refusal>> {
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
