//! The storage traits. A store serves one tenant, so no call can name the wrong one.

use async_trait::async_trait;
use kernel::{Ctx, GroupId, StoreResult, Timestamp, UserId};

use crate::{Group, MemberChanges, Query, ResourcePage, User};

/// Maximum number of memberships in one list, of users as well as groups. A single resource is returned in full.
pub const MAX_MEMBERSHIPS: u32 = 50_000;

/// The users of one tenant. Deleted users are not returned.
#[async_trait]
pub trait UserStore: Send {
    /// Returns the user with this id, with its groups.
    async fn user(&mut self, id: &UserId) -> StoreResult<Option<User>>;
    /// Returns the user with this id and locks it until the transaction ends.
    async fn user_for_update(&mut self, id: &UserId) -> StoreResult<Option<User>> {
        self.user(id).await
    }
    /// Returns the user whose name has this key ([`User::user_name_key`]).
    async fn user_of_name(&mut self, key: &str) -> StoreResult<Option<User>>;
    /// Returns the id of the user whose sign-in address has this key ([`Email::key`](kernel::Email::key)).
    async fn user_of_sign_in_email(&mut self, key: &str) -> StoreResult<Option<UserId>>;
    /// Returns a page of matching users, oldest first, with their groups only if `groups` is set. If the page's users
    /// have more than [`MAX_MEMBERSHIPS`] memberships together, the store may stop reading and set
    /// [`ResourcePage::cut`].
    async fn find_users(&mut self, query: &Query, groups: bool) -> StoreResult<ResourcePage<User>>;
    /// Returns the id of a user to be created; `None` for a generated one. Implement it to assign ids of your own, as
    /// from a sequence.
    async fn new_user_id(&mut self, _ctx: &Ctx) -> StoreResult<Option<UserId>> {
        Ok(None)
    }
    /// Inserts a user; returns `false` without inserting if its name or sign-in address is taken.
    async fn insert_user(&mut self, user: &User) -> StoreResult<bool>;
    /// Updates a user. Fails with [`StoreError::Taken`](kernel::StoreError::Taken) if its name or sign-in address is taken.
    async fn update_user(&mut self, before: &User, after: &User) -> StoreResult<()>;
    /// Deletes a user, removes it from all groups and frees its name and sign-in address.
    async fn delete_user(&mut self, user: &User, at: Timestamp) -> StoreResult<()>;
}

/// The groups of one tenant.
#[async_trait]
pub trait GroupStore: Send {
    /// Returns the group with this id.
    async fn group(&mut self, id: &GroupId) -> StoreResult<Option<Group>>;
    /// Returns the group with this id and locks it until the transaction ends.
    async fn group_for_update(&mut self, id: &GroupId) -> StoreResult<Option<Group>> {
        self.group(id).await
    }
    /// Returns a page of matching groups, oldest first.
    async fn find_groups(&mut self, query: &Query) -> StoreResult<ResourcePage<Group>>;
    /// Returns the members of these groups, sorted by group and member, at most `limit` in all.
    async fn members(&mut self, groups: &[GroupId], limit: u32) -> StoreResult<Vec<(GroupId, UserId)>>;
    /// Returns the id of a group to be created; `None` for a generated one.
    async fn new_group_id(&mut self, _ctx: &Ctx) -> StoreResult<Option<GroupId>> {
        Ok(None)
    }
    /// Inserts a group; returns `false` without inserting if its name is taken.
    async fn insert_group(&mut self, group: &Group) -> StoreResult<bool>;
    /// Updates a group. Fails with [`StoreError::Taken`](kernel::StoreError::Taken) if its name is taken.
    async fn update_group(&mut self, group: &Group) -> StoreResult<()>;
    /// Deletes a group and its memberships.
    async fn delete_group(&mut self, id: &GroupId) -> StoreResult<()>;
    /// Returns those of the ids that belong to no user of the tenant.
    async fn strangers(&mut self, users: &[UserId]) -> StoreResult<Vec<UserId>>;
    /// Adds and removes members; returns the effective changes.
    async fn change_members(
        &mut self,
        group: &GroupId,
        changes: &MemberChanges,
    ) -> StoreResult<MembersChanged>;
}

/// The users and groups of one tenant. Implemented for each type that has both traits.
pub trait ScimStore: UserStore + GroupStore {
    /// Returns the users.
    fn as_users(&mut self) -> &mut dyn UserStore;
    /// Returns the groups.
    fn as_groups(&mut self) -> &mut dyn GroupStore;
}

impl<S: UserStore + GroupStore> ScimStore for S {
    fn as_users(&mut self) -> &mut dyn UserStore {
        self
    }

    fn as_groups(&mut self) -> &mut dyn GroupStore {
        self
    }
}

/// The effective membership changes, sorted: added users who were not members, removed users who were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MembersChanged {
    /// Users who were added.
    pub joined: Vec<UserId>,
    /// Users who were removed.
    pub left: Vec<UserId>,
}

impl MembersChanged {
    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty() && self.left.is_empty()
    }
}
