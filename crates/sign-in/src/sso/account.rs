//! The account of a user whom an identity provider has authenticated, whatever the protocol.

use audit::{
    Event,
    events::{oidc::OidcSubjectPinned, saml::SamlSubjectPinned},
};
use credentials::SignInMode;
use directory::Person;
use kernel::{Ctx, Email};
use saml_sp::{
    PinnedSubject, Protocol, ProviderId, Subject, SubjectConflict, SubjectMatch, SubjectStore, TestUser,
};

use super::SsoStorage;
use crate::{account::Account, error::Error, network};

/// Why a user whom an identity provider has authenticated may not sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccountReason {
    /// The tenant has no user with this address.
    NotProvisioned,
    /// The tenant does not allow SSO.
    SsoNotAllowed,
    /// The account is disabled.
    Disabled,
    /// Another subject is pinned to the user.
    SubjectChanged,
    /// The subject is pinned to another user.
    SubjectOfAnother,
    /// The network policy blocks the address.
    Network,
}

/// The refusal of a user whom an identity provider has authenticated.
#[derive(Debug, Clone)]
pub(super) struct AccountRefusal {
    pub(super) reason: AccountReason,
    /// The explanation for administrators.
    pub(super) detail: String,
}

impl AccountRefusal {
    fn new(reason: AccountReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}

/// The provider's identification of the user who signs in.
pub(super) struct Identification<'i> {
    pub(super) provider: &'i ProviderId,
    pub(super) email: &'i Email,
    /// The provider's own identifier of the user, if it has one that may be pinned.
    pub(super) subject: Option<Subject>,
}

/// The account for an identification, or the reason for refusing it.
pub(super) enum FoundAccount {
    Allowed(Box<Account>, SubjectMatch),
    Refused(AccountRefusal, Option<Box<Person>>),
    NetworkBlocked(Event, Box<Person>),
}

impl FoundAccount {
    fn refused(reason: AccountReason, detail: impl Into<String>, person: Option<Person>) -> Self {
        Self::Refused(AccountRefusal::new(reason, detail), person.map(Box::new))
    }

    /// Returns what the report of a connection test says about the account.
    pub(super) fn refusal_and_person(&self) -> (Option<AccountRefusal>, Option<&Person>) {
        match self {
            Self::Allowed(account, _) => (None, Some(&account.person)),
            Self::Refused(refusal, person) => (Some(refusal.clone()), person.as_deref()),
            Self::NetworkBlocked(_, person) => {
                (Some(AccountRefusal::new(AccountReason::Network, netpolicy::BLOCKED)), Some(person))
            }
        }
    }
}

/// Returns what the report of a connection test shows of a user.
pub(super) fn tested_user(person: &Person) -> TestUser {
    TestUser {
        id: person.id.clone(),
        display_name: person.display_name.clone(),
        email: person.email.as_ref().map(|email| email.as_str().to_owned()),
        active: person.active,
    }
}

/// Returns the protocol's name of the user's identifier.
fn noun(provider: &ProviderId) -> &'static str {
    match provider.protocol() {
        Protocol::Saml => "persistent NameID",
        Protocol::Oidc => "subject",
    }
}

/// Finds and locks the tenant's user with this address. Refuses if the subject is pinned to another user, or if the
/// user may not sign in this way or from this address.
pub(super) async fn find_account<S: SsoStorage>(
    ctx: &Ctx,
    store: &mut S,
    identification: Identification<'_>,
) -> Result<FoundAccount, Error> {
    let Identification { provider, email, subject } = identification;
    let person = match store.user_of_email(&email.key()).await? {
        Some(user) => store.person(&user).await?,
        None => None,
    };
    // The address may have been moved to another user since the lookup.
    let person = person.filter(|person| person.email.as_ref().is_some_and(|own| own.key() == email.key()));
    let Some(person) = person else {
        let detail = "no user of this tenant has this address";
        return Ok(FoundAccount::refused(AccountReason::NotProvisioned, detail, None));
    };
    let policy = store.sign_in_policy().await?;
    if policy.sign_in_mode == SignInMode::CredentialsOnly {
        let detail = "signInMode is CREDENTIALS_ONLY";
        return Ok(FoundAccount::refused(AccountReason::SsoNotAllowed, detail, Some(person)));
    }
    if !person.active {
        let detail = "the account is disabled";
        return Ok(FoundAccount::refused(AccountReason::Disabled, detail, Some(person)));
    }
    let subject = match saml_sp::recognize_subject(store, provider, &person.id, subject).await? {
        Ok(subject) => subject,
        Err(conflict) => {
            let reason = match conflict {
                SubjectConflict::Changed { .. } => AccountReason::SubjectChanged,
                SubjectConflict::OfAnother { .. } => AccountReason::SubjectOfAnother,
            };
            let detail = conflict.detail(&person.id, noun(provider));
            return Ok(FoundAccount::refused(reason, detail, Some(person)));
        }
    };
    match network::admit(ctx, store, &person).await {
        Ok(()) => Ok(FoundAccount::Allowed(Box::new(Account { person, policy }), subject)),
        Err(Error::NetworkBlocked(blocked)) => {
            Ok(FoundAccount::NetworkBlocked(blocked.event, Box::new(person)))
        }
        Err(error) => Err(error),
    }
}

/// Pins the subject of a user's first sign-in. Returns the event, or a refusal if another sign-in was faster.
pub(super) async fn pin(
    ctx: &Ctx,
    store: &mut dyn SubjectStore,
    provider: &ProviderId,
    person: &Person,
    subject: SubjectMatch,
) -> Result<Result<Option<Event>, AccountRefusal>, Error> {
    let SubjectMatch::New(subject) = subject else { return Ok(Ok(None)) };
    let pinned = PinnedSubject { provider: provider.clone(), subject, pinned_at: ctx.now };
    if !store.pin_subject(&person.id, &pinned).await? {
        let noun = noun(provider);
        let detail = format!("a concurrent sign-in pinned this {noun}, or another {noun} of this user");
        return Ok(Err(AccountRefusal::new(AccountReason::SubjectChanged, detail)));
    }
    let (provider, subject) = (provider.to_string(), subject.to_string());
    Ok(Ok(Some(match pinned.provider.protocol() {
        Protocol::Saml => Event::new(person.id.as_str(), &SamlSubjectPinned { provider, subject }),
        Protocol::Oidc => Event::new(person.id.as_str(), &OidcSubjectPinned { provider, subject }),
    })))
}
