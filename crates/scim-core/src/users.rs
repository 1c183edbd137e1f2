//! User operations: create, read, list, replace, patch, delete.

use kernel::{Ctx, UserId};

use crate::{Error, MAX_MEMBERSHIPS, Patch, Query, ResourcePage, User, UserDraft, UserStore};

/// The response to creating a user whose name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExisting {
    /// Return the existing user, unchanged.
    Answer,
    /// Fail with [`Error::Uniqueness`] (RFC 7644 §3.3).
    Refuse,
}

/// The outcome of creating a user.
#[derive(Debug, Clone, PartialEq)]
pub enum CreatedUser {
    /// A new user.
    New(User),
    /// The existing user with this name.
    Existing(User),
}

/// Creates a user, or returns the existing user with the same name if `on_existing` allows.
pub async fn create(
    ctx: &Ctx,
    store: &mut dyn UserStore,
    draft: UserDraft,
    on_existing: OnExisting,
) -> Result<CreatedUser, Error> {
    let mut user = User::new(ctx, draft)?;
    if let Some(id) = store.new_user_id(ctx).await? {
        user.id = id;
    }
    if store.insert_user(&user).await? {
        return Ok(CreatedUser::New(user));
    }
    match store.user_of_name(&user.user_name_key()).await? {
        Some(existing) if on_existing == OnExisting::Answer => Ok(CreatedUser::Existing(existing)),
        Some(_) => Err(Error::Uniqueness { attribute: "userName" }),
        None => Err(Error::Uniqueness { attribute: address_attribute(&user) }),
    }
}

/// Returns the attribute that supplies the user's sign-in address.
fn address_attribute(user: &User) -> &'static str {
    if user.emails().next().is_some() { "emails" } else { "userName" }
}

/// Reads one user.
pub async fn get(store: &mut dyn UserStore, id: &UserId) -> Result<User, Error> {
    store.user(id).await?.ok_or(Error::NotFound)
}

/// Reads a page of users, with their groups only if `groups` is set.
pub async fn list(
    store: &mut dyn UserStore,
    query: &Query,
    groups: bool,
) -> Result<ResourcePage<User>, Error> {
    let found = store.find_users(query, groups).await?;
    if found.cut {
        let problem = format!(
            "groups: these users have more than {MAX_MEMBERSHIPS} memberships; request fewer users with count, \
             or omit groups with excludedAttributes=groups"
        );
        return Err(Error::TooMany(problem));
    }
    Ok(found)
}

/// The outcome of changing a user.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedUser {
    /// The user after the change.
    pub user: User,
    /// The names of the changed attributes, except `active`.
    pub changed: Vec<String>,
    /// The new `active`, if it changed.
    pub activation: Option<bool>,
}

/// A change of a locked user that is not made yet, so that the caller can refuse it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedChange {
    before: User,
    /// The user after the change.
    after: User,
    /// The names of the changed attributes, except `active`.
    changed: Vec<String>,
    activates: bool,
}

impl PlannedChange {
    fn between(before: User, after: User, activates: bool) -> Self {
        let changed = before.changes(&after);
        Self { before, after, changed, activates }
    }

    /// Returns whether the request sets `active` to true, even if the user is active.
    pub fn activates(&self) -> bool {
        self.activates
    }

    /// Returns the user before the change.
    pub fn user(&self) -> &User {
        &self.before
    }

    /// Returns the new `active`, if it changes.
    pub fn activation(&self) -> Option<bool> {
        (self.after.active != self.before.active).then_some(self.after.active)
    }

    /// Makes the change. If nothing changes, `meta.lastModified` is kept.
    pub async fn make(self, ctx: &Ctx, store: &mut dyn UserStore) -> Result<ChangedUser, Error> {
        let activation = self.activation();
        let Self { before, mut after, changed, .. } = self;
        if changed.is_empty() && activation.is_none() {
            return Ok(ChangedUser { user: before, changed, activation });
        }
        refuse_taken(store, &before, &after).await?;
        // `lastModified` never goes back, even if the clocks of two machines differ.
        after.last_modified = ctx.now.max(before.last_modified);
        store.update_user(&before, &after).await?;
        Ok(ChangedUser { user: after, changed, activation })
    }
}

/// Locks a user and plans to replace all its attributes (RFC 7644 §3.5.1).
pub async fn plan_replace(
    store: &mut dyn UserStore,
    id: &UserId,
    draft: UserDraft,
) -> Result<PlannedChange, Error> {
    let before = lock(store, id).await?;
    let activates = draft.active == Some(true);
    let after = before.replaced(draft)?;
    Ok(PlannedChange::between(before, after, activates))
}

/// Locks a user and plans to apply a PATCH (RFC 7644 §3.5.2), completely or not at all.
pub async fn plan_patch(
    store: &mut dyn UserStore,
    id: &UserId,
    patch: &Patch,
) -> Result<PlannedChange, Error> {
    let before = lock(store, id).await?;
    let after = before.patched(patch)?;
    Ok(PlannedChange::between(before, after, patch.activates()))
}

/// Replaces all attributes of a user (RFC 7644 §3.5.1). If nothing changes, `meta.lastModified` is kept.
pub async fn replace(
    ctx: &Ctx,
    store: &mut dyn UserStore,
    id: &UserId,
    draft: UserDraft,
) -> Result<ChangedUser, Error> {
    plan_replace(store, id, draft).await?.make(ctx, store).await
}

/// Applies a PATCH to a user (RFC 7644 §3.5.2), completely or not at all.
pub async fn patch(
    ctx: &Ctx,
    store: &mut dyn UserStore,
    id: &UserId,
    patch: &Patch,
) -> Result<ChangedUser, Error> {
    plan_patch(store, id, patch).await?.make(ctx, store).await
}

/// Locks a user until the end of the unit of work.
pub async fn lock(store: &mut dyn UserStore, id: &UserId) -> Result<User, Error> {
    store.user_for_update(id).await?.ok_or(Error::NotFound)
}

/// Deletes a user (RFC 7644 §3.6) and returns it as it was. Its names become free; a new user with the same name gets
/// a new id.
pub async fn delete(ctx: &Ctx, store: &mut dyn UserStore, id: &UserId) -> Result<User, Error> {
    let user = lock(store, id).await?;
    store.delete_user(&user, ctx.now).await?;
    Ok(user)
}

/// Checks uniqueness first, because the store cannot tell which attribute conflicts.
async fn refuse_taken(store: &mut dyn UserStore, before: &User, after: &User) -> Result<(), Error> {
    let key = after.user_name_key();
    if key != before.user_name_key() && store.user_of_name(&key).await?.is_some() {
        return Err(Error::Uniqueness { attribute: "userName" });
    }
    let email = |user: &User| user.sign_in_email().map(|email| email.key());
    match email(after) {
        Some(key) if email(before).as_ref() != Some(&key) => match store.user_of_sign_in_email(&key).await? {
            Some(_) => Err(Error::Uniqueness { attribute: address_attribute(after) }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
