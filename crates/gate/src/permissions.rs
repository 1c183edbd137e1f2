//! The permissions that a handler may require.

use std::{marker::PhantomData, sync::Arc};

use credentials::SignInPolicy;
use directory::{HeldRoles, Permission as Right};
use kernel::UserId;
use sessions::Standing;
use signals::Receiver;
use store::Holder;
use tokens::{ScimToken, Scope};

use super::{
    caller::{Caller, PatCaller, Signed},
    errors::Problem,
};

/// A permission that a handler requires of its caller.
pub trait Permission: 'static {
    /// The type of the admitted caller.
    type Caller: Clone + 'static;

    /// Returns the caller if it has the permission, or an error.
    fn admit(caller: Caller) -> Result<Self::Caller, Problem>;
}

/// A permission to make changes.
pub trait WritePermission: Permission {}

/// A user, authenticated by either credential.
#[derive(Debug, Clone)]
pub enum Person {
    /// With a complete session.
    Session(Arc<Signed>),
    /// With a personal access token that has the required scope.
    Pat(Arc<PatCaller>),
}

impl Person {
    /// Returns the user and the tenant's policies.
    pub fn holder(&self) -> &Holder {
        match self {
            Self::Session(signed) => &signed.holder,
            Self::Pat(by) => &by.holder,
        }
    }

    /// Returns the user's id.
    pub fn user(&self) -> &UserId {
        &self.holder().user
    }

    /// Returns the tenant's sign-in policy.
    pub fn policy(&self) -> &SignInPolicy {
        &self.holder().policy
    }

    /// Returns the user's roles and permissions.
    pub fn roles(&self) -> &HeldRoles {
        &self.holder().roles
    }

    /// Returns whether the user is authenticated by a session.
    pub fn has_session(&self) -> bool {
        matches!(self, Self::Session(_))
    }
}

/// Returns the session, which may still require a factor.
fn any_session(caller: Caller) -> Result<Arc<Signed>, Problem> {
    match caller {
        Caller::Session(signed) => Ok(signed),
        Caller::Scim(_) | Caller::Pat(_) | Caller::Receiver(_) => Err(Problem::credential_kind()),
    }
}

fn complete(signed: Arc<Signed>) -> Result<Arc<Signed>, Problem> {
    match signed.session.standing {
        Standing::Full => Ok(signed),
        Standing::Owing => Err(Problem::mfa_required()),
    }
}

fn person(caller: Caller, scope: Scope) -> Result<Person, Problem> {
    match caller {
        Caller::Pat(by) if by.pat.scopes.contains(&scope) => Ok(Person::Pat(by)),
        Caller::Pat(_) => {
            let reason = format!("SCOPE_REQUIRED:{scope}");
            Err(Problem::forbidden(reason, format!("This token lacks the scope {scope}.")))
        }
        other => any_session(other).and_then(complete).map(Person::Session),
    }
}

/// Fails unless these roles include a permission.
pub fn require_right(roles: &HeldRoles, right: Right) -> Result<(), Problem> {
    if roles.permissions.contains(right) {
        return Ok(());
    }
    Err(Problem::forbidden("ROLE_REQUIRED", format!("None of your roles has the permission {right}.")))
}

/// Returns the person if their roles include a permission.
fn with_right(person: Person, right: Right) -> Result<Person, Problem> {
    require_right(person.roles(), right).map(|()| person)
}

/// Returns the person if their roles include any permission.
fn with_any_right(person: Person) -> Result<Person, Problem> {
    if person.roles().permissions.is_empty() {
        return Err(Problem::forbidden(
            "ROLE_REQUIRED",
            "None of your roles has a permission for the settings.",
        ));
    }
    Ok(person)
}

/// Defines a permission with its caller type and its check.
macro_rules! permission {
    ($(#[$doc:meta])+ $name:ident => $caller:ty, $admit:expr) => {
        $(#[$doc])+
        pub enum $name {}

        impl Permission for $name {
            type Caller = $caller;

            fn admit(caller: Caller) -> Result<Self::Caller, Problem> {
                let admit: fn(Caller) -> Result<$caller, Problem> = $admit;
                admit(caller)
            }
        }
    };
    ($(#[$doc:meta])+ write $name:ident => $caller:ty, $admit:expr) => {
        permission!($(#[$doc])+ $name => $caller, $admit);
        impl WritePermission for $name {}
    };
}

fn provider(caller: Caller) -> Result<Arc<ScimToken>, Problem> {
    match caller {
        Caller::Scim(token) => Ok(token),
        Caller::Session(_) | Caller::Pat(_) | Caller::Receiver(_) => Err(Problem::credential_kind()),
    }
}

fn receiver(caller: Caller) -> Result<Arc<Receiver>, Problem> {
    match caller {
        Caller::Receiver(receiver) => Ok(receiver),
        Caller::Session(_) | Caller::Pat(_) | Caller::Scim(_) => Err(Problem::credential_kind()),
    }
}

permission!(
    /// Reading the tenant's users as an identity provider.
    ScimRead => Arc<ScimToken>, provider
);
permission!(
    /// Changing the tenant's users as an identity provider.
    write ScimWrite => Arc<ScimToken>, provider
);
permission!(
    /// Managing and reading the own stream as a receiver of shared signals.
    write ReceiveSignals => Arc<Receiver>, receiver
);
permission!(
    /// Finishing a sign-in: enrolling or verifying a factor, signing out. The session may still require a factor.
    write SigningIn => Arc<Signed>, any_session
);
permission!(
    /// Managing the caller's own sessions, factors, tokens and password. Requires a complete session.
    write OwnAccount => Arc<Signed>, |caller| any_session(caller).and_then(complete)
);
permission!(
    /// Reading the caller's own profile.
    ReadProfile => Person, |caller| person(caller, Scope::ReadProfile)
);
permission!(
    /// Changing the caller's own profile.
    write WriteProfile => Person, |caller| person(caller, Scope::WriteProfile)
);
permission!(
    /// Reading the people of the tenant.
    ReadPeople => Person, |caller| person(caller, Scope::ReadHcm)
);
permission!(
    /// Changing the profiles of the tenant's people. For those who manage users.
    write WritePeople => Person, |caller| {
        person(caller, Scope::WriteHcm).and_then(|person| with_right(person, Right::ManageUsers))
    }
);
permission!(
    /// Reading settings that affect every user. Requires a session, or the token of somebody with any permission.
    ReadSettings => Person, |caller| match caller {
        Caller::Pat(_) => person(caller, Scope::AdminTenant).and_then(with_any_right),
        other => any_session(other).and_then(complete).map(Person::Session),
    }
);
permission!(
    /// Reading what everybody with a permission for the settings may know.
    AnyRight => Person, |caller| person(caller, Scope::AdminTenant).and_then(with_any_right)
);

/// A permission for a part of the tenant's settings, which roles have.
pub trait SettingsPermission: 'static {
    /// The permission.
    const RIGHT: Right;
}

/// Defines permissions for parts of the tenant's settings.
macro_rules! settings {
    ($($(#[$doc:meta])+ $name:ident)+) => {
        $(
            $(#[$doc])+
            pub enum $name {}

            impl SettingsPermission for $name {
                const RIGHT: Right = Right::$name;
            }

            impl Permission for $name {
                type Caller = Person;

                fn admit(caller: Caller) -> Result<Person, Problem> {
                    person(caller, Scope::AdminTenant).and_then(|person| with_right(person, Self::RIGHT))
                }
            }

            impl WritePermission for $name {}
        )+
    };
}

settings!(
    /// `manage:tenant`, with a session or a token.
    ManageTenant
    /// `manage:roles`, with a session or a token.
    ManageRoles
    /// `manage:users`, with a session or a token.
    ManageUsers
    /// `support:users`, with a session or a token.
    SupportUsers
    /// `read:users`, with a session or a token.
    ReadUsers
    /// `manage:policies`, with a session or a token.
    ManagePolicies
    /// `manage:connections`, with a session or a token.
    ManageConnections
    /// `read:audit`, with a session or a token.
    ReadAudit
    /// `manage:webhooks`, with a session or a token.
    ManageWebhooks
);

permission!(
    /// `manage:webhooks` and `read:audit`, with a session or a token: log streams send the audit log elsewhere.
    write ManageLogStreams => Person, |caller| {
        let person = person(caller, Scope::AdminTenant)?;
        with_right(person, Right::ManageWebhooks).and_then(|person| with_right(person, Right::ReadAudit))
    }
);

permission!(
    /// `manage:webhooks` and `read:users`, with a session or a token: shared signals name users by their email addresses.
    write ManageSignals => Person, |caller| {
        let person = person(caller, Scope::AdminTenant)?;
        with_right(person, Right::ManageWebhooks).and_then(|person| with_right(person, Right::ReadUsers))
    }
);

permission!(
    /// `manage:connections` and `manage:users`, with a session: events of transmitters may disable users.
    write ManageTransmitters => Arc<Signed>, |caller| {
        let signed = any_session(caller).and_then(complete)?;
        for right in [Right::ManageConnections, Right::ManageUsers] {
            with_right(Person::Session(Arc::clone(&signed)), right)?;
        }
        Ok(signed)
    }
);

/// A permission for a part of the settings that tokens may not use.
pub struct InPerson<P>(PhantomData<P>);

impl<P: SettingsPermission> Permission for InPerson<P> {
    type Caller = Arc<Signed>;

    fn admit(caller: Caller) -> Result<Arc<Signed>, Problem> {
        let signed = any_session(caller).and_then(complete)?;
        with_right(Person::Session(Arc::clone(&signed)), P::RIGHT)?;
        Ok(signed)
    }
}

impl<P: SettingsPermission> WritePermission for InPerson<P> {}

/// Reading what everybody with a permission for the settings may know, with a session.
pub enum AnyRightInPerson {}

impl Permission for AnyRightInPerson {
    type Caller = Arc<Signed>;

    fn admit(caller: Caller) -> Result<Arc<Signed>, Problem> {
        let signed = any_session(caller).and_then(complete)?;
        with_any_right(Person::Session(Arc::clone(&signed)))?;
        Ok(signed)
    }
}
