//! The permissions that a handler may require.

use std::sync::Arc;

use credentials::SignInPolicy;
use directory::Role;
use kernel::UserId;
use sessions::Standing;
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

    /// Returns whether the user is an administrator of the tenant.
    pub fn is_administrator(&self) -> bool {
        self.holder().role == Role::Admin
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
        Caller::Scim(_) | Caller::Pat(_) => Err(Problem::credential_kind()),
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

fn administrator(person: Person) -> Result<Person, Problem> {
    match person.holder().role {
        Role::Admin => Ok(person),
        Role::Member => {
            Err(Problem::forbidden("ROLE_REQUIRED", "Only administrators of the tenant may do this."))
        }
    }
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
        Caller::Session(_) | Caller::Pat(_) => Err(Problem::credential_kind()),
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
    /// Changing the people of the tenant. For administrators.
    write WritePeople => Person, |caller| person(caller, Scope::WriteHcm).and_then(administrator)
);
permission!(
    /// Changing the tenant's settings. For administrators.
    write Administer => Person, |caller| person(caller, Scope::AdminTenant).and_then(administrator)
);
permission!(
    /// Reading settings that affect every user. Requires a session, or an administrator's token.
    ReadSettings => Person, |caller| match caller {
        Caller::Pat(_) => person(caller, Scope::AdminTenant).and_then(administrator),
        other => any_session(other).and_then(complete).map(Person::Session),
    }
);
permission!(
    /// Changing settings that no token may change. For administrators with a session.
    write AdministerInPerson => Arc<Signed>, |caller| {
        let signed = any_session(caller).and_then(complete)?;
        administrator(Person::Session(Arc::clone(&signed)))?;
        Ok(signed)
    }
);
