//! Who signs in, locked before anything else of theirs.

use credentials::SignInPolicy;
use directory::{PeopleStore, Person, Role};
use kernel::UserId;
use sessions::{Session, SessionStore};

use crate::{error::Error, store::Storage};

/// A user and what the tenant asks of them, locked until the end of the unit of work. Whoever disables the user, or
/// changes what signs them in, comes before or after, never between.
pub struct Account {
    /// The user.
    pub person: Person,
    /// What the tenant asks for.
    pub policy: SignInPolicy,
}

/// Locks a user who may sign in.
pub async fn lock_account<S: Storage>(store: &mut S, user: &UserId) -> Result<Account, Error> {
    let person = active(store, user).await?;
    Ok(Account { person, policy: store.sign_in_policy().await? })
}

/// The same before an act that may take away what an administrator signs in with: of two such acts the second waits for the
/// first.
pub async fn lock_account_to_remove<S: Storage>(store: &mut S, user: &UserId) -> Result<Account, Error> {
    let person = active(store, user).await?;
    let policy = match person.role {
        Role::Admin => store.sign_in_policy_to_change().await?,
        Role::Member => store.sign_in_policy().await?,
    };
    Ok(Account { person, policy })
}

/// Reads a session as it is now, locked.
///
/// # Errors
/// [`Error::SessionRevoked`] where it was ended.
pub async fn lock_session<S: SessionStore>(store: &mut S, shown: &Session) -> Result<Session, Error> {
    let session = store.session(&shown.id).await?.filter(|session| session.revoked_at.is_none());
    session.ok_or(Error::SessionRevoked)
}

async fn active<S: PeopleStore>(store: &mut S, user: &UserId) -> Result<Person, Error> {
    let person = store.person(user).await?.filter(|person| person.active);
    person.ok_or(Error::AccountDisabled)
}
