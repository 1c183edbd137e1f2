//! From an answer that was examined to somebody who is in, or to why not: one unit of work.

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

/// How an answer has ended.
pub(crate) enum ResponseOutcome {
    /// Somebody is in, or asked for a second factor; then they go on there.
    In(Box<SignIn>, String),
    /// Not believed, or nobody who may. Entered already if the request was answered by it.
    Refused { refusal: Refusal, is_entered: bool },
    /// The network policy.
    Denied(Box<Problem>),
    /// It was a test: of this id, for whoever asked.
    Tried(String),
}

/// An answer that passed all checks that need no storage.
pub(crate) struct Answer {
    pub(crate) provider: Provider,
    pub(crate) answers: RequestId,
    pub(crate) claims: Verified<Claims>,
    pub(crate) passed: Vec<Step>,
    /// What the browser kept.
    pub(crate) browser: Option<String>,
    pub(crate) relay_state: Option<String>,
}

/// What the ledger says of a refusal.
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

/// Makes the answer count. What was claimed stays claimed, whatever comes of it.
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
                    let detail = "another sign-in pinned this NameID, or another one, at the same time";
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
            // A key that was not given back leads nowhere in particular.
            let same = relay_state.is_some_and(|given| sha256(given.as_bytes()) == request.relay_key);
            let return_to = if same { request.return_to } else { "/".to_owned() };
            Ok(led.map(|outcome| ResponseOutcome::In(Box::new(outcome), return_to)).with(events))
        }
    }
}

/// Whose address it is.
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

/// Somebody of the tenant who has this address, is the one whom the identity provider has always meant, and may sign in
/// so, from here.
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
    // Since it was looked up the address may have become another person's.
    let person = person.filter(|person| person.email.as_ref().is_some_and(|own| own.key() == email.key()));
    let Some(person) = person else {
        return no(Reason::NotProvisioned, "nobody here has the address", None);
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

/// The test that a response says it is for, if this browser has begun it.
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
