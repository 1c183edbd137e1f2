//! Turns a verified SAML response into a sign-in or a refusal, in one transaction.

use actix_web::web;
use audit::{
    Audited, Event, Unaudited,
    events::saml::{SamlSignInRefused, SamlSubjectPinned},
};
use credentials::{SignInMode, SignInStore};
use directory::{PeopleStore, Person};
use kernel::{Ctx, Email, Timestamp};
use saml_sp::{
    Claims, ConnectionTestId, ConnectionTestStore, CountedResponse, PinnedSubject, Provider, ProviderId,
    Reason, Refusal, RequestId, RequestStore, Step, SubjectMatch, SubjectStore, Verified,
};
use sign_in::{Device, Outcome as SignIn};
use store::Tx;

use super::report::{Outcome, report};
use crate::api::{Site, digest::sha256};
use gate::errors::Problem;

/// Outcome of a SAML response.
pub(crate) enum ResponseOutcome {
    /// The user is signed in or needs a second factor, and continues at this path.
    In(Box<SignIn>, String),
    /// The response was refused. `is_entered`: the refusal is recorded in the audit log already.
    Refused { refusal: Refusal, is_entered: bool },
    /// The network policy blocks the address.
    Denied(Box<Problem>),
    /// The response belonged to the connection test with this ID.
    Tried(String),
}

/// A SAML response that passed all checks without storage.
pub(crate) struct Answer {
    pub(crate) provider: Provider,
    pub(crate) answers: RequestId,
    pub(crate) claims: Verified<Claims>,
    pub(crate) passed: Vec<Step>,
    /// The value of the request's cookie.
    pub(crate) browser: Option<String>,
    pub(crate) relay_state: Option<String>,
}

/// Returns the audit event of a refusal.
pub(crate) fn refused(provider: &Provider, refusal: &Refusal, person: Option<&Person>) -> Event {
    let data = SamlSignInRefused {
        step: refusal.step().as_str().to_owned(),
        reason: refusal.reason.as_str().to_owned(),
        detail: refusal.detail.clone(),
        user: person.map(|person| person.id.to_string()),
        suppressed: None,
    };
    Event::new(provider.id.as_str(), &data)
}

/// Claims the request that the response answers and starts the sign-in. The claim is kept if the sign-in is refused.
pub(crate) async fn admit(
    site: &web::Data<Site>,
    ctx: &Ctx,
    tx: &mut Tx,
    answer: Answer,
    device: &Device,
) -> Result<Audited<ResponseOutcome>, Problem> {
    let Answer { provider, answers, claims, mut passed, browser, relay_state } = answer;
    let counted = saml_sp::claim(ctx, tx, &provider, &answers, &claims, browser.as_deref()).await?;
    let CountedResponse { request, passed: counted, outcome } = counted;
    passed.extend(counted);
    let Some(request) = request else {
        let refusal = outcome.err().ok_or_else(Problem::internal)?;
        return Ok(Audited::without(
            ResponseOutcome::Refused { refusal, is_entered: false },
            Unaudited::NothingChanged,
        ));
    };
    let (email, account) = match outcome {
        Ok(email) => {
            let account = account(ctx, tx, &email, &provider, claims.get()).await?;
            (Some(email), account)
        }
        Err(refusal) => (None, Account::No { refusal, person: None, problem: None }),
    };
    if let Some(trial) = &request.trial {
        let (refusal, person) = account.refusal_and_person();
        let outcome =
            Outcome { passed: &passed, claims: Some(claims.get()), email: email.as_ref(), person, refusal };
        tx.report_connection_test(trial, &report(&outcome, ctx.now)).await?;
        return Ok(Audited::without(ResponseOutcome::Tried(trial.to_string()), Unaudited::StepTaken));
    }
    match account {
        Account::No { problem: Some(mut problem), .. } => {
            let events = problem.take_event().into_iter().collect();
            Ok(Audited::of_changes(ResponseOutcome::Denied(problem), events))
        }
        Account::No { refusal, person, problem: None } => {
            let event = refused(&provider, &refusal, person.as_deref());
            Ok(Audited::new(ResponseOutcome::Refused { refusal, is_entered: true }, event))
        }
        Account::Yes(held, recognized) => {
            let pinned = match recognized {
                SubjectMatch::Known => None,
                SubjectMatch::New(subject) => {
                    let pinned = PinnedSubject { provider: provider.id.clone(), subject, pinned_at: ctx.now };
                    Some(pinned)
                }
            };
            let mut events = Vec::new();
            if let Some(pinned) = pinned {
                if !tx.pin_subject(&held.person.id, &pinned).await? {
                    let detail = "a concurrent sign-in pinned this NameID, or another NameID of this user";
                    let refusal = Refusal::new(Reason::SubjectChanged, detail);
                    let event = refused(&provider, &refusal, Some(&held.person));
                    return Ok(Audited::new(ResponseOutcome::Refused { refusal, is_entered: true }, event));
                }
                let data = SamlSubjectPinned {
                    provider: provider.id.to_string(),
                    subject: pinned.subject.to_string(),
                };
                events.push(Event::new(held.person.id.as_str(), &data));
            }
            let (verifiers, not_after) = (site.verifiers(), claims.get().session_ends());
            let led = sign_in::with_identity_provider(ctx, tx, &verifiers, *held, not_after, device).await?;
            // Without the matching relay state, continue at the start page.
            let same = relay_state.is_some_and(|given| sha256(given.as_bytes()) == request.relay_key);
            let return_to = if same { request.return_to } else { "/".to_owned() };
            Ok(led.map(|outcome| ResponseOutcome::In(Box::new(outcome), return_to)).with(events))
        }
    }
}

/// The account for the address in a response.
enum Account {
    Yes(Box<sign_in::Account>, SubjectMatch),
    No { refusal: Refusal, person: Option<Box<Person>>, problem: Option<Box<Problem>> },
}

impl Account {
    fn refusal_and_person(&self) -> (Option<&Refusal>, Option<&Person>) {
        match self {
            Self::Yes(held, _) => (None, Some(&held.person)),
            Self::No { refusal, person, .. } => (Some(refusal), person.as_deref()),
        }
    }
}

/// Finds the tenant's user with this address. Refuses if the NameID is pinned to another user, or if the user may not
/// sign in this way or from this address.
async fn account(
    ctx: &Ctx,
    tx: &mut Tx,
    email: &Email,
    provider: &Provider,
    claims: &Claims,
) -> Result<Account, Problem> {
    let no = |reason, detail: &str, person: Option<Person>| {
        let refusal = Refusal::new(reason, detail);
        Ok(Account::No { refusal, person: person.map(Box::new), problem: None })
    };
    let person = match tx.user_of_email(&email.key()).await? {
        Some(user) => tx.person(&user).await?,
        None => None,
    };
    // The address may have been moved to another user since the lookup.
    let person = person.filter(|person| person.email.as_ref().is_some_and(|own| own.key() == email.key()));
    let Some(person) = person else {
        return no(Reason::NotProvisioned, "no user of this tenant has this address", None);
    };
    let policy = tx.sign_in_policy().await?;
    if policy.sign_in_mode == SignInMode::CredentialsOnly {
        return no(Reason::SsoNotAllowed, "signInMode is CREDENTIALS_ONLY", Some(person));
    }
    if !person.active {
        return no(Reason::Disabled, "the account is disabled", Some(person));
    }
    let recognized = match saml_sp::recognize(tx, &provider.id, &person.id, claims).await? {
        Ok(recognized) => recognized,
        Err(Refusal { reason, detail }) => return no(reason, &detail, Some(person)),
    };
    if let Err(error) = sign_in::admit_network(ctx, tx, &person).await {
        let is_blocked = matches!(error, sign_in::Error::NetworkBlocked(_));
        let problem = Problem::from(error);
        if !is_blocked {
            return Err(problem);
        }
        let refusal = Refusal::new(Reason::Network, problem.message());
        return Ok(Account::No { refusal, person: Some(Box::new(person)), problem: Some(Box::new(problem)) });
    }
    Ok(Account::Yes(Box::new(sign_in::Account { person, policy }), recognized))
}

/// Finds the connection test of the request that a response names, if this browser started it.
pub(crate) async fn find_connection_test(
    tx: &mut Tx,
    provider: &ProviderId,
    says: &RequestId,
    browser: &str,
    now: Timestamp,
) -> Result<Option<ConnectionTestId>, Problem> {
    let request = tx.request(says).await?;
    let request = request.filter(|request| {
        request.provider == *provider
            && request.browser == sha256(browser.as_bytes())
            && now < request.expires_at
    });
    Ok(request.and_then(|request| request.trial))
}
