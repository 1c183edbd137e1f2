//! Turns a verified SAML response into a sign-in or a refusal, in one unit of work.

use audit::{
    Audited, Event, Unaudited,
    events::saml::{SamlSignInRefused, SamlSubjectPinned},
};
use credentials::SignInMode;
use directory::Person;
use kernel::{Ctx, Email};
use saml_sp::{
    AcceptedResponse, Claims, ConnectionTestId, CountedResponse, PinnedSubject, Provider, Reason, Refusal,
    Request, SubjectMatch, SubjectStore, TestReport, TestUser, TestedResponse,
};

use super::SsoStorage;
use crate::{
    account::Account, device::Device, error::Error, factor::Verifiers, federated::with_identity_provider,
    network, outcome::Outcome,
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
}

/// The outcome of a SAML response.
pub enum SamlOutcome {
    /// The user is signed in or needs a second factor, and continues at this path.
    Continued(Box<Outcome>, String),
    /// The response was refused.
    Refused {
        /// The failed check.
        refusal: Refusal,
        /// Whether the unit of work records the refusal in the audit log.
        is_recorded: bool,
    },
    /// The network policy blocks the address. The unit of work records it.
    NetworkBlocked,
    /// The response belonged to this connection test.
    Tested(ConnectionTestId),
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

/// The account for the address in a response, or the reason for refusing it.
enum FoundAccount {
    Allowed(Box<Account>, SubjectMatch),
    Refused(Refusal, Option<Box<Person>>),
    NetworkBlocked(Event, Box<Person>),
}

/// Claims the request that the response answers, and starts the sign-in or reports to the connection test of the
/// request. Commit also a refusal, so that the request stays claimed.
pub async fn with_saml_response<S: SsoStorage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    response: SamlResponse,
    device: &Device,
) -> Result<Audited<SamlOutcome>, Error> {
    let SamlResponse { provider, accepted, browser, relay_state } = response;
    let AcceptedResponse { answers, claims, mut passed } = accepted;
    let counted = saml_sp::claim(ctx, store, &provider, &answers, &claims, browser.as_deref()).await?;
    let CountedResponse { request, passed: counted, outcome } = counted;
    passed.extend(counted);
    let Some(request) = request else {
        let refusal = outcome.err().ok_or_else(|| Error::internal("an unclaimed request was accepted"))?;
        let outcome = SamlOutcome::Refused { refusal, is_recorded: false };
        return Ok(Audited::without(outcome, Unaudited::NothingChanged));
    };
    let claims = claims.get();
    let (email, account) = match outcome {
        Ok(email) => {
            let account = find_account(ctx, store, &email, &provider, claims).await?;
            (Some(email), account)
        }
        Err(refusal) => (None, FoundAccount::Refused(refusal, None)),
    };
    if let Some(test) = &request.trial {
        let (refusal, person) = account.refusal_and_person();
        let user = person.map(tested_user);
        let response = TestedResponse {
            passed: &passed,
            claims: Some(claims),
            email: email.as_ref(),
            user,
            refusal: refusal.as_ref(),
        };
        store.report_connection_test(test, &TestReport::new(response, ctx.now)).await?;
        return Ok(Audited::without(SamlOutcome::Tested(test.clone()), Unaudited::StepTaken));
    }
    let (account, subject) = match account {
        FoundAccount::Allowed(account, subject) => (*account, subject),
        FoundAccount::NetworkBlocked(event, _) => {
            return Ok(Audited::new(SamlOutcome::NetworkBlocked, event));
        }
        FoundAccount::Refused(refusal, person) => return Ok(refused(&provider, refusal, person.as_deref())),
    };
    let pinned = match pin(ctx, store, &provider, &account.person, subject).await? {
        Ok(event) => event,
        Err(refusal) => return Ok(refused(&provider, refusal, Some(&account.person))),
    };
    let not_after = claims.session_ends();
    let continued = with_identity_provider(ctx, store, verifiers, account, not_after, device).await?;
    Ok(continued.map(|outcome| continue_at(outcome, request, relay_state.as_deref())).with(pinned))
}

fn continue_at(outcome: Outcome, request: Request, relay_state: Option<&str>) -> SamlOutcome {
    SamlOutcome::Continued(Box::new(outcome), request.place_after(relay_state))
}

fn refused(provider: &Provider, refusal: Refusal, person: Option<&Person>) -> Audited<SamlOutcome> {
    let event = refusal_event(provider, &refusal, person);
    Audited::new(SamlOutcome::Refused { refusal, is_recorded: true }, event)
}

/// Pins the NameID of a user's first sign-in. Returns the event, or a refusal if another sign-in was faster.
async fn pin(
    ctx: &Ctx,
    store: &mut dyn SubjectStore,
    provider: &Provider,
    person: &Person,
    subject: SubjectMatch,
) -> Result<Result<Option<Event>, Refusal>, Error> {
    let SubjectMatch::New(subject) = subject else { return Ok(Ok(None)) };
    let pinned = PinnedSubject { provider: provider.id.clone(), subject, pinned_at: ctx.now };
    if !store.pin_subject(&person.id, &pinned).await? {
        let detail = "a concurrent sign-in pinned this NameID, or another NameID of this user";
        return Ok(Err(Refusal::new(Reason::SubjectChanged, detail)));
    }
    let data = SamlSubjectPinned { provider: provider.id.to_string(), subject: subject.to_string() };
    Ok(Ok(Some(Event::new(person.id.as_str(), &data))))
}

impl FoundAccount {
    fn refused(reason: Reason, detail: &str, person: Option<Person>) -> Self {
        Self::Refused(Refusal::new(reason, detail), person.map(Box::new))
    }

    /// Returns what the report of a connection test says about the account.
    fn refusal_and_person(&self) -> (Option<Refusal>, Option<&Person>) {
        match self {
            Self::Allowed(account, _) => (None, Some(&account.person)),
            Self::Refused(refusal, person) => (Some(refusal.clone()), person.as_deref()),
            Self::NetworkBlocked(_, person) => {
                (Some(Refusal::new(Reason::Network, netpolicy::BLOCKED)), Some(person))
            }
        }
    }
}

fn tested_user(person: &Person) -> TestUser {
    TestUser {
        id: person.id.clone(),
        display_name: person.display_name.clone(),
        email: person.email.as_ref().map(|email| email.as_str().to_owned()),
        active: person.active,
    }
}

/// Finds and locks the tenant's user with this address. Refuses if the NameID is pinned to another user, or if the
/// user may not sign in this way or from this address.
async fn find_account<S: SsoStorage>(
    ctx: &Ctx,
    store: &mut S,
    email: &Email,
    provider: &Provider,
    claims: &Claims,
) -> Result<FoundAccount, Error> {
    let person = match store.user_of_email(&email.key()).await? {
        Some(user) => store.person(&user).await?,
        None => None,
    };
    // The address may have been moved to another user since the lookup.
    let person = person.filter(|person| person.email.as_ref().is_some_and(|own| own.key() == email.key()));
    let Some(person) = person else {
        let detail = "no user of this tenant has this address";
        return Ok(FoundAccount::refused(Reason::NotProvisioned, detail, None));
    };
    let policy = store.sign_in_policy().await?;
    if policy.sign_in_mode == SignInMode::CredentialsOnly {
        let detail = "signInMode is CREDENTIALS_ONLY";
        return Ok(FoundAccount::refused(Reason::SsoNotAllowed, detail, Some(person)));
    }
    if !person.active {
        return Ok(FoundAccount::refused(Reason::Disabled, "the account is disabled", Some(person)));
    }
    let subject = match saml_sp::recognize(store, &provider.id, &person.id, claims).await? {
        Ok(subject) => subject,
        Err(refusal) => return Ok(FoundAccount::Refused(refusal, Some(Box::new(person)))),
    };
    match network::admit(ctx, store, &person).await {
        Ok(()) => Ok(FoundAccount::Allowed(Box::new(Account { person, policy }), subject)),
        Err(Error::NetworkBlocked(blocked)) => {
            Ok(FoundAccount::NetworkBlocked(blocked.event, Box::new(person)))
        }
        Err(error) => Err(error),
    }
}
