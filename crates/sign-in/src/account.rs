//! Loads and locks the account and session that a sign-in step works on. The user's row is locked before any other.

use credentials::SignInPolicy;
use directory::{PeopleStore, Person, Role};
use kernel::UserId;
use sessions::{Session, SessionStore};

use crate::{error::Error, store::Storage};

/// A user and the sign-in policy of the tenant. The user's row stays locked until the unit of work ends, so disabling
/// the user or changing their credentials is serialized with the sign-in.
pub struct Account {
    /// The user.
    pub person: Person,
    /// The sign-in policy that applies to the user.
    pub policy: SignInPolicy,
}

/// Locks the account of an active user.
pub async fn lock_account<S: Storage>(store: &mut S, user: &UserId) -> Result<Account, Error> {
    let person = active(store, user).await?;
    Ok(Account { person, policy: store.sign_in_policy().await? })
}

/// Locks the account before an act that may remove an administrator's means of signing in. Two such acts run one
/// after the other.
pub async fn lock_account_to_remove<S: Storage>(store: &mut S, user: &UserId) -> Result<Account, Error> {
    let person = active(store, user).await?;
    let policy = if person.role == Role::Admin {
        store.sign_in_policy_to_change().await?
    } else {
        store.sign_in_policy().await?
    };
    Ok(Account { person, policy })
}

/// Locks a session and returns its current row.
///
/// # Errors
/// [`Error::SessionRevoked`] if the session has ended.
pub async fn lock_session<S: SessionStore>(store: &mut S, shown: &Session) -> Result<Session, Error> {
    let session = store.session(&shown.id).await?.filter(|session| session.revoked_at.is_none());
    session.ok_or(Error::SessionRevoked)
}

async fn active<S: PeopleStore>(store: &mut S, user: &UserId) -> Result<Person, Error> {
    let person = store.person(user).await?.filter(|person| person.active);
    person.ok_or(Error::AccountDisabled)
}
