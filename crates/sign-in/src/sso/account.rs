//! The account of a user whom an identity provider has authenticated, whatever the protocol.

use audit::{
    Event,
    events::{oidc::OidcSubjectPinned, saml::SamlSubjectPinned, users::UserCreated},
};
use credentials::{SignInMode, SignInPolicy};
use directory::{NewPerson, Person, Role};
use kernel::{Ctx, Email, UserId};
use saml_sp::{
    PinnedSubject, Protocol, ProviderId, Subject, SubjectConflict, SubjectMatch, SubjectStore, TestUser,
};

use super::SsoStorage;
use crate::{account::Account, error::Error, network};

/// Maximum number of characters of a name that a provider sends for a new user; longer ones are left out.
const NAME_MAX: usize = 200;

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

/// A user that a first sign-in creates.
pub(super) struct NewAccount {
    identification: Identification,
    role: Role,
    policy: SignInPolicy,
    subject: SubjectMatch,
}

/// The provider's identification of the user who signs in.
#[derive(Clone)]
pub(super) struct Identification {
    pub(super) provider: ProviderId,
    pub(super) email: Email,
    /// The provider's own identifier of the user, if it has one that may be pinned.
    pub(super) subject: Option<Subject>,
    /// The name to display for a new user.
    pub(super) display_name: Option<String>,
}

/// The account for an identification, or the reason for refusing it.
pub(super) enum FoundAccount {
    Allowed(Box<Account>, SubjectMatch),
    /// The tenant has no such user, and the connection creates it: see [`create_if_new`].
    New(Box<NewAccount>),
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
            Self::New(_) => (None, None),
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
    identification: Identification,
) -> Result<FoundAccount, Error> {
    // The user is locked before the tenant, as everywhere.
    let Some(person) = known_person(store, &identification.email).await? else {
        return first_sign_in(ctx, store, identification).await;
    };
    let policy = store.sign_in_policy().await?;
    if policy.sign_in_mode == SignInMode::CredentialsOnly {
        let detail = "signInMode is CREDENTIALS_ONLY";
        return Ok(FoundAccount::refused(AccountReason::SsoNotAllowed, detail, Some(person)));
    }
    let Identification { provider, subject, .. } = identification;
    if !person.active {
        let detail = "the account is disabled";
        return Ok(FoundAccount::refused(AccountReason::Disabled, detail, Some(person)));
    }
    let subject = match saml_sp::recognize_subject(store, &provider, &person.id, subject).await? {
        Ok(subject) => subject,
        Err(conflict) => {
            let reason = match conflict {
                SubjectConflict::Changed { .. } => AccountReason::SubjectChanged,
                SubjectConflict::OfAnother { .. } => AccountReason::SubjectOfAnother,
            };
            let detail = conflict.detail(&person.id, noun(&provider));
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

/// Returns and locks the tenant's user with this address.
async fn known_person<S: SsoStorage>(store: &mut S, email: &Email) -> Result<Option<Person>, Error> {
    let person = match store.user_of_email(&email.key()).await? {
        Some(user) => store.person(&user).await?,
        None => None,
    };
    // The address may have been moved to another user since the lookup.
    Ok(person.filter(|person| person.email.as_ref().is_some_and(|own| own.key() == email.key())))
}

/// Decides about a sign-in of somebody without an account. Everything that would refuse the user is checked here, so that
/// no user is created for a refused sign-in.
async fn first_sign_in<S: SsoStorage>(
    ctx: &Ctx,
    store: &mut S,
    identification: Identification,
) -> Result<FoundAccount, Error> {
    let Identification { provider, email, subject, .. } = &identification;
    let refused = |reason, detail: &str| Ok(FoundAccount::refused(reason, detail, None));
    let policy = store.sign_in_policy().await?;
    let creation = store.connection_accounts(provider.as_str()).await?.creation;
    let Some(creation) = creation.filter(|creation| creation.covers(email)) else {
        return refused(AccountReason::NotProvisioned, "no user of this tenant has this address");
    };
    if policy.sign_in_mode == SignInMode::CredentialsOnly {
        return refused(AccountReason::SsoNotAllowed, "signInMode is CREDENTIALS_ONLY");
    }
    // Nobody has this ID, so that a subject which is pinned is pinned to another user.
    let nobody = UserId::new(&*ctx.env);
    let subject = match saml_sp::recognize_subject(store, provider, &nobody, *subject).await? {
        Ok(subject) => subject,
        Err(conflict) => {
            let detail = conflict.detail(&nobody, noun(provider));
            return refused(AccountReason::SubjectOfAnother, &detail);
        }
    };
    if !network::allows_role(store, ctx.ip, creation.role == Role::Admin).await? {
        return refused(AccountReason::Network, netpolicy::BLOCKED);
    }
    let role = creation.role;
    Ok(FoundAccount::New(Box::new(NewAccount { identification, role, policy, subject })))
}

impl NewAccount {
    fn person(&self) -> NewPerson {
        let fits = |name: &&str| {
            (1..=NAME_MAX).contains(&name.chars().count()) && !name.chars().any(char::is_control)
        };
        let Identification { email, display_name, .. } = &self.identification;
        let display_name = display_name.as_deref().map(str::trim).filter(fits).map(str::to_owned);
        NewPerson { email: email.clone(), role: self.role.clone(), display_name }
    }
}

/// Creates the user of a first sign-in. Returns the account with the events, or what another sign-in created meanwhile. Other
/// accounts and refusals are returned as they are.
pub(super) async fn create_if_new<S: SsoStorage, R>(
    ctx: &Ctx,
    store: &mut S,
    account: Result<FoundAccount, R>,
) -> Result<(Result<FoundAccount, R>, Vec<Event>), Error> {
    let new = match account {
        Ok(FoundAccount::New(new)) => new,
        other => return Ok((other, Vec::new())),
    };
    let person = new.person();
    let NewAccount { identification, policy, subject, .. } = *new;
    let mut fields = vec!["userName".to_owned(), "emails".into()];
    fields.extend(person.display_name.is_some().then(|| "displayName".into()));
    match directory::create_person(ctx, store, person).await {
        Ok(person) => {
            let data = UserCreated { active: true, role: person.role.to_string(), fields };
            let event = Event::new(person.id.as_str(), &data);
            let account = FoundAccount::Allowed(Box::new(Account { person, policy }), subject);
            Ok((Ok(account), vec![event]))
        }
        Err(directory::Error::Store(error)) => Err(error.into()),
        // A concurrent sign-in was faster, or a user with another address has this one as user name.
        Err(_) => match find_account(ctx, store, identification).await? {
            FoundAccount::New(_) => {
                let detail = "another user has this address as user name";
                Ok((Ok(FoundAccount::refused(AccountReason::NotProvisioned, detail, None)), Vec::new()))
            }
            found => Ok((Ok(found), Vec::new())),
        },
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
