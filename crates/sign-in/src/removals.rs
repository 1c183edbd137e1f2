//! Removals of users by SCIM tokens, and the decisions of administrators about those that are held, each with its audit
//! entries.

use audit::{
    Audited, Event, Unaudited,
    events::{
        removals::{RemovalLimitChanged, RemovalsApplied, RemovalsDiscarded, RemovalsPaused},
        users::UserDeleted,
    },
};
use directory::{AccountChanges, HeldRoles, LISTED, PeopleStore};
use kernel::{Ctx, StoreError, StoreResult, Timestamp, UserId};
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

/// A removal that was refused and is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedRemoval {
    /// If this request paused the token: how many users the token has removed within the last hour.
    pub pausing: Option<u64>,
}

/// Decides whether a SCIM token may remove a user. Returns `None` if it may; otherwise commit the result.
pub async fn hold<S: RemovalStore>(
    ctx: &Ctx,
    store: &mut S,
    token: &ScimTokenId,
    removal: &Removal,
) -> StoreResult<Option<Audited<RefusedRemoval>>> {
    Ok(match tokens::removals::admit(ctx, store, token, removal).await? {
        Admission::Admitted => None,
        Admission::Held => {
            Some(Audited::without(RefusedRemoval { pausing: None }, Unaudited::AttemptCounted))
        }
        Admission::Paused { removed, limit } => {
            let RemovalLimit { percent, users, .. } = limit;
            let data = RemovalsPaused { user: removal.user.to_string(), removed, percent, users };
            let refused = RefusedRemoval { pausing: Some(removed) };
            Some(Audited::new(refused, Event::new(token.as_str(), &data)))
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
pub async fn discard<S: RemovalStore>(store: &mut S, token: &ScimTokenId) -> Result<Audited<u64>, Error> {
    let held = lock_paused(store, token).await?;
    let users = store.held_removals(token, None, u32::try_from(LISTED).unwrap_or(u32::MAX)).await?;
    let users = users.iter().map(|removal| removal.user.to_string()).collect();
    store.drop_held_removals(token).await?;
    resume(store, token, false).await?;
    Ok(Audited::new(held, Event::new(token.as_str(), &RemovalsDiscarded { held, users })))
}

/// Records the decision to remove the users whose removals were requested until this time. [`apply_some`] removes them.
pub async fn decide_to_apply<S: RemovalStore>(
    store: &mut S,
    token: &ScimTokenId,
    until: Timestamp,
) -> Result<Audited<()>, Error> {
    let held = lock_paused(store, token).await?;
    let data = RemovalsApplied { held, until: until.to_string() };
    Ok(Audited::new((), Event::new(token.as_str(), &data)))
}

/// A decision to apply held removals.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The token.
    pub token: ScimTokenId,
    /// Removals that were requested later stay held.
    pub until: Timestamp,
    /// The deciding user and the user's roles; `None` for the operator.
    pub by: Option<(UserId, HeldRoles)>,
}

/// The progress of applying held removals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of users who were deactivated or deleted.
    pub removed: u64,
    /// Number of users who stay, because they are administrators, have permissions that the deciding user lacks, or are
    /// the deciding user.
    pub kept: u64,
    /// The last user of this and the earlier steps.
    last: Option<UserId>,
    /// Whether all steps are done.
    pub is_done: bool,
}

/// Removes the next users, at most `count`. The last step ends the pause, unless further removals are held.
pub async fn apply_some<S: RemovalStore + PeopleStore>(
    ctx: &Ctx,
    store: &mut S,
    decision: &Decision,
    mut progress: Progress,
    count: u32,
) -> Result<Audited<Progress>, Error> {
    let token = &decision.token;
    let held = store.held_removals(token, progress.last.as_ref(), count).await?;
    let mut events = Vec::new();
    let due: Vec<_> = held.iter().filter(|removal| removal.at <= decision.until).collect();
    for removal in &due {
        match remove(ctx, store, decision, removal).await? {
            Outcome::Removed(more) => {
                progress.removed += 1;
                events.extend(more);
            }
            Outcome::Kept => progress.kept += 1,
            Outcome::Unchanged => {}
        }
    }
    // Requests of the directory lock users first, too.
    lock_paused(store, token).await?;
    for removal in due {
        store.drop_held_removal(token, &removal.user).await?;
    }
    progress.is_done = held.len() < count as usize;
    progress.last = held.last().map(|removal| removal.user.clone()).or(progress.last);
    if progress.is_done && store.count_held_removals(token).await? == 0 {
        resume(store, token, true).await?;
    }
    Ok(Audited::of_changes(progress, events))
}

enum Outcome {
    Removed(Vec<Event>),
    /// Somebody else, or somebody with another decision, may remove the user.
    Kept,
    /// The user was removed meanwhile.
    Unchanged,
}

async fn remove<S: PeopleStore>(
    ctx: &Ctx,
    store: &mut S,
    decision: &Decision,
    HeldRemoval { user, kind, .. }: &HeldRemoval,
) -> Result<Outcome, Error> {
    let Some(person) = store.person(user).await? else { return Ok(Outcome::Unchanged) };
    let roles = store.held_roles(&person).await?;
    let may_remove = |(id, by): &(UserId, HeldRoles)| id != user && by.may_act_on(&roles);
    // Among hundreds of users nobody notices the last administrator.
    if roles.is_admin() || !decision.by.as_ref().is_none_or(may_remove) {
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
