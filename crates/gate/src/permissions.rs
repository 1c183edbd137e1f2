//! What a handler may ask for.

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

/// A permission: who has it.
pub trait Permission: 'static {
    /// What a handler gets to know of the caller.
    type Caller: Clone + 'static;

    /// The caller, if they have it.
    fn admit(caller: Caller) -> Result<Self::Caller, Problem>;
}

/// A permission to change something.
pub trait WritePermission: Permission {}

/// A person, by whichever of their credentials.
#[derive(Debug, Clone)]
pub enum Person {
    /// By a session that is complete.
    Session(Arc<Signed>),
    /// By a personal access token with the scope that was asked for.
    Pat(Arc<PatCaller>),
}

impl Person {
    /// The user's account, and what it may do.
    pub fn holder(&self) -> &Holder {
        match self {
            Self::Session(signed) => &signed.holder,
            Self::Pat(by) => &by.holder,
        }
    }

    /// Id of the user.
    pub fn user(&self) -> &UserId {
        &self.holder().user
    }

    /// What the tenant asks for.
    pub fn policy(&self) -> &SignInPolicy {
        &self.holder().policy
    }

    /// Whether they are an administrator of the tenant.
    pub fn is_administrator(&self) -> bool {
        self.holder().role == Role::Admin
    }

    /// Whether they are here by a session.
    pub fn has_session(&self) -> bool {
        matches!(self, Self::Session(_))
    }
}

/// A session, complete or owing a factor.
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
            Err(Problem::forbidden(reason, format!("this token lacks the scope {scope}")))
        }
        other => any_session(other).and_then(complete).map(Person::Session),
    }
}

fn administrator(person: Person) -> Result<Person, Problem> {
    match person.holder().role {
        Role::Admin => Ok(person),
        Role::Member => Err(Problem::forbidden("ROLE_REQUIRED", "this is for administrators of the tenant")),
    }
}

/// Defines a permission: its name, what it is for, the caller and how it is admitted.
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
    /// To read the tenant's users as an identity provider.
    ScimRead => Arc<ScimToken>, provider
);
permission!(
    /// To change the tenant's users as an identity provider.
    write ScimWrite => Arc<ScimToken>, provider
);
permission!(
    /// To finish signing in: to enrol a factor, to prove one, to sign out. By a session that may owe one.
    write SigningIn => Arc<Signed>, any_session
);
permission!(
    /// One's own sessions, factors, tokens and password. By a complete session alone.
    write OwnAccount => Arc<Signed>, |caller| any_session(caller).and_then(complete)
);
permission!(
    /// To read one's own profile.
    ReadProfile => Person, |caller| person(caller, Scope::ReadProfile)
);
permission!(
    /// To change one's own profile.
    write WriteProfile => Person, |caller| person(caller, Scope::WriteProfile)
);
permission!(
    /// To read the people of the tenant.
    ReadPeople => Person, |caller| person(caller, Scope::ReadHcm)
);
permission!(
    /// To change the people of the tenant, for administrators.
    write WritePeople => Person, |caller| person(caller, Scope::WriteHcm).and_then(administrator)
);
permission!(
    /// The tenant's settings, for administrators.
    write Administer => Person, |caller| person(caller, Scope::AdminTenant).and_then(administrator)
);
permission!(
    /// To look at settings that concern everybody: by a session, or as an administrator by a token.
    ReadSettings => Person, |caller| match caller {
        Caller::Pat(_) => person(caller, Scope::AdminTenant).and_then(administrator),
        other => any_session(other).and_then(complete).map(Person::Session),
    }
);
permission!(
    /// Settings that no token may change, for administrators with a session.
    write AdministerInPerson => Arc<Signed>, |caller| {
        let signed = any_session(caller).and_then(complete)?;
        administrator(Person::Session(Arc::clone(&signed)))?;
        Ok(signed)
    }
);
