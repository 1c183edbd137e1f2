//! A user's change of the own password.

use audit::{Event, events::credentials::PasswordChanged};
use credentials::{
    Factor, FactorStore, SignInStore,
    attempts::{self, Limit},
};
use directory::Person;
use kernel::{Ctx, Email};
use sessions::Session;

use crate::{enrolment::check_fresh, error::Error, events::end_other_sessions, pats, store::Storage};

/// The user and the password before a change.
pub struct CurrentPassword {
    /// The user.
    pub person: Person,
    /// The stored hash; `None` if the user has no password.
    pub hash: Option<String>,
    /// Whether the user has signed in from this origin before.
    pub is_known_origin: bool,
}

impl CurrentPassword {
    /// Reads the password of the session's user.
    pub async fn read<S: Storage>(store: &mut S, session: &Session, origin: &str) -> Result<Self, Error> {
        let person = store.person(&session.user).await?.ok_or(Error::UserNotFound)?;
        let hash = store.password(&session.user).await?;
        let is_known_origin = store.knows_origin(&session.user, origin).await?;
        Ok(Self { person, hash, is_known_origin })
    }

    /// Returns the limits on attempts at this password. They are stricter if the user never signed in from this
    /// origin.
    pub fn limits(&self, origin: &str) -> Vec<Limit> {
        let person = &self.person;
        let key = person.email.as_ref().map_or_else(|| person.id.to_string(), Email::key);
        let mut limits = attempts::password(&key, origin);
        if !self.is_known_origin {
            limits.extend(attempts::password_by_strangers(&key));
        }
        limits
    }
}

/// Returns whether the change requires a step-up, as it does for users with a factor. Refuses others unless they have
/// signed in within the last five minutes.
pub async fn needs_step_up<S: FactorStore>(
    ctx: &Ctx,
    store: &mut S,
    session: &Session,
) -> Result<bool, Error> {
    if store.factors(&session.user).await?.iter().any(Factor::is_verified) {
        return Ok(true);
    }
    check_fresh(session, ctx.now)?;
    Ok(false)
}

/// A new password for a user who proved the current one.
#[derive(Debug, Clone)]
pub struct PasswordReplacement {
    /// The stored hash that the current password was compared with.
    pub compared: Option<String>,
    /// The hash of the new password.
    pub hash: String,
    /// Whether to revoke the personal access tokens, too.
    pub revoke_tokens: bool,
}

/// The result of a user's password change.
#[derive(Debug)]
pub struct PasswordChange {
    /// The number of revoked personal access tokens, if revocation was requested.
    pub revoked_tokens: Option<usize>,
    /// The audit events to record.
    pub events: Vec<Event>,
}

/// Stores a user's new password and ends the user's other sessions. Personal access tokens stay valid unless their
/// revocation is requested.
///
/// # Errors
/// [`Error::InvalidCredentials`] if the password has changed since the comparison.
pub async fn change<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    session: &Session,
    replacement: &PasswordReplacement,
) -> Result<PasswordChange, Error> {
    let PasswordReplacement { compared, hash, revoke_tokens } = replacement;
    if store.password(&session.user).await? != *compared {
        return Err(Error::InvalidCredentials);
    }
    SignInStore::set_password(store, &session.user, hash, ctx.now).await?;
    let mut events = vec![Event::new(session.user.as_str(), &PasswordChanged { by: "SELF" })];
    events.extend(end_other_sessions(ctx, store, session, "PASSWORD_CHANGED").await?);
    let mut revoked_tokens = None;
    if *revoke_tokens {
        let revoked = pats::revoke_all(ctx, store, &session.user).await?;
        revoked_tokens = Some(revoked.len());
        events.extend(revoked);
    }
    Ok(PasswordChange { revoked_tokens, events })
}
