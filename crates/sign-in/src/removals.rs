//! Removals of users by SCIM tokens, and the decisions of administrators about those that are held, each with its audit
//! entries.

use audit::{
    Audited, Event, Unaudited,
    events::{
        removals::{RemovalLimitChanged, RemovalsApplied, RemovalsDiscarded, RemovalsPaused},
        users::UserDeleted,
    },
};
use directory::{AccountChanges, PeopleStore};
use kernel::{Ctx, StoreError, StoreResult, UserId};
use tokens::{
    ScimTokenId,
    removals::{
        Admission, HeldRemoval, InvalidLimit, Removal, RemovalKind, RemovalLimit, RemovalStore, resume,
    },
};

use crate::events::account_changes;

/// The reason why a decision about held removals was refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tenant has no such token, or it is revoked.
    #[error("there is no such token")]
    NotFound,
    /// The token's removals are not paused.
    #[error("The removals of this token are not paused.")]
    NotPaused,
    /// A number of the limit is out of range.
    #[error(transparent)]
    Limit(#[from] InvalidLimit),
    /// A user could not be removed.
    #[error(transparent)]
    Directory(#[from] directory::Error),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A removal that is held instead of made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// This request exceeded the limit and paused the token's removals.
    Pausing {
        /// How many users the token has removed within the last hour.
        removed: u64,
    },
    /// The token's removals were paused before.
    Paused,
}

/// Decides whether a SCIM token may remove a user. Returns `None` if it may; otherwise commit the result.
pub async fn hold<S: RemovalStore>(
    ctx: &Ctx,
    store: &mut S,
    token: &ScimTokenId,
    removal: &Removal,
) -> StoreResult<Option<Audited<Held>>> {
    Ok(match tokens::removals::admit(ctx, store, token, removal).await? {
        Admission::Admitted => None,
        Admission::Held => Some(Audited::without(Held::Paused, Unaudited::StepTaken)),
        Admission::Paused { removed, limit } => {
            let data = RemovalsPaused { removed, percent: limit.percent, users: limit.users };
            Some(Audited::new(Held::Pausing { removed }, Event::new(token.as_str(), &data)))
        }
    })
}

/// Changes the limit of a tenant.
pub async fn set_limit<S: RemovalStore>(
    store: &mut S,
    tenant: &str,
    limit: RemovalLimit,
) -> Result<Audited<()>, Error> {
    limit.check()?;
    if store.removal_limit().await? == limit {
        return Ok(Audited::without((), Unaudited::NothingChanged));
    }
    store.set_removal_limit(&limit).await?;
    let RemovalLimit { enabled, percent, users } = limit;
    Ok(Audited::new((), Event::new(tenant, &RemovalLimitChanged { enabled, percent, users })))
}

/// Locks a paused token and returns the number of its held removals.
async fn lock_paused<S: RemovalStore>(store: &mut S, token: &ScimTokenId) -> Result<u64, Error> {
    let state = store.removal_state(token).await?.ok_or(Error::NotFound)?;
    if state.paused_at.is_none() {
        return Err(Error::NotPaused);
    }
    Ok(store.count_held_removals(token).await?)
}

/// Discards the held removals of a token and ends the pause. The next removal pauses the token again as long as the
/// removals of the last hour exceed the limit. Returns the number of held removals.
pub async fn discard<S: RemovalStore>(
    ctx: &Ctx,
    store: &mut S,
    token: &ScimTokenId,
) -> Result<Audited<u64>, Error> {
    let held = lock_paused(store, token).await?;
    store.drop_held_removals(token).await?;
    resume(ctx, store, token, false).await?;
    Ok(Audited::new(held, Event::new(token.as_str(), &RemovalsDiscarded { held })))
}

/// Records the decision to remove the users whose removals are held. [`apply_some`] removes them.
pub async fn decide_to_apply<S: RemovalStore>(
    store: &mut S,
    token: &ScimTokenId,
) -> Result<Audited<()>, Error> {
    let held = lock_paused(store, token).await?;
    Ok(Audited::new((), Event::new(token.as_str(), &RemovalsApplied { held })))
}

/// The result of [`apply_some`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Applied {
    /// Number of users who were deactivated or deleted.
    pub removed: u64,
    /// Number of administrators, who stay.
    pub kept: u64,
    /// Whether no removals are held any more. The pause has ended.
    pub is_last: bool,
}

/// Removes the first `count` users whose removals are held, except administrators: somebody removes those one by one,
/// with the protection against lockouts. With the last ones, ends the pause.
pub async fn apply_some<S: RemovalStore + PeopleStore>(
    ctx: &Ctx,
    store: &mut S,
    token: &ScimTokenId,
    count: u32,
) -> Result<Audited<Applied>, Error> {
    let held = store.held_removals(token, None, count).await?;
    let (mut applied, mut events) = (Applied::default(), Vec::new());
    for removal in &held {
        match remove(ctx, store, removal).await? {
            Outcome::Removed(more) => {
                applied.removed += 1;
                events.extend(more);
            }
            Outcome::Kept => applied.kept += 1,
            Outcome::Unchanged => {}
        }
    }
    // Requests of the directory lock users first, too.
    let waiting = lock_paused(store, token).await?;
    for removal in &held {
        store.drop_held_removal(token, &removal.user).await?;
    }
    if waiting == held.len() as u64 {
        applied.is_last = true;
        resume(ctx, store, token, true).await?;
    }
    Ok(Audited::of_changes(applied, events))
}

enum Outcome {
    Removed(Vec<Event>),
    /// The user is an administrator.
    Kept,
    /// The user was removed meanwhile.
    Unchanged,
}

async fn remove<S: PeopleStore>(
    ctx: &Ctx,
    store: &mut S,
    HeldRemoval { user, kind, .. }: &HeldRemoval,
) -> Result<Outcome, Error> {
    let Some(person) = store.person(user).await? else { return Ok(Outcome::Unchanged) };
    if store.held_roles(&person).await?.is_admin() {
        return Ok(Outcome::Kept);
    }
    Ok(match kind {
        RemovalKind::Delete => {
            directory::delete_person(ctx, store, &person).await?;
            Outcome::Removed(vec![deleted(user)])
        }
        RemovalKind::Deactivate if person.active => {
            let changes = AccountChanges { active: Some(false), ..AccountChanges::default() };
            let after = directory::change_person(ctx, store, &person, changes).await?;
            Outcome::Removed(account_changes(&person, &after))
        }
        RemovalKind::Deactivate => Outcome::Unchanged,
    })
}

fn deleted(user: &UserId) -> Event {
    Event::new(user.as_str(), &UserDeleted {})
}
