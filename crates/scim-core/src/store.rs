//! What the rules need of storage. There is no tenant argument, so none can be wrong.

use async_trait::async_trait;
use kernel::{GroupId, StoreResult, Timestamp, UserId};

use crate::{Group, MemberChanges, Query, ResourcePage, User};

/// Memberships that are answered in one list at most, of users as of groups. One resource is answered whole.
pub const MAX_MEMBERSHIPS: u32 = 50_000;

/// One tenant's users. A user who was deleted is not among them.
#[async_trait]
pub trait UserStore: Send {
    /// The user of this id, with the groups that it is in.
    async fn user(&mut self, id: &UserId) -> StoreResult<Option<User>>;
    /// The same, held against other writers until the unit of work ends.
    async fn user_for_update(&mut self, id: &UserId) -> StoreResult<Option<User>> {
        self.user(id).await
    }
    /// The user whose name has this key ([`User::user_name_key`]).
    async fn user_of_name(&mut self, key: &str) -> StoreResult<Option<User>>;
    /// The id of the user whose sign-in address has this key ([`kernel::Email::key`]).
    async fn user_of_sign_in_email(&mut self, key: &str) -> StoreResult<Option<UserId>>;
    /// A page of those that match, oldest first; with their groups only if `groups` are wanted. More than
    /// [`MAX_MEMBERSHIPS`] of several users together need not be read: then the page is [`ResourcePage::cut`].
    async fn find_users(&mut self, query: &Query, groups: bool) -> StoreResult<ResourcePage<User>>;
    /// Keeps a new user; `false`, and nothing kept, when its name or sign-in address is taken.
    async fn insert_user(&mut self, user: &User) -> StoreResult<bool>;
    /// Keeps what changed of a user. A name or address that is taken by then is [`StoreError::Taken`].
    async fn update_user(&mut self, before: &User, after: &User) -> StoreResult<()>;
    /// Takes a user away, out of all groups, so that its names are free again.
    async fn delete_user(&mut self, user: &User, at: Timestamp) -> StoreResult<()>;
}

/// One tenant's groups.
#[async_trait]
pub trait GroupStore: Send {
    /// The group of this id.
    async fn group(&mut self, id: &GroupId) -> StoreResult<Option<Group>>;
    /// The same, held against other writers until the unit of work ends.
    async fn group_for_update(&mut self, id: &GroupId) -> StoreResult<Option<Group>> {
        self.group(id).await
    }
    /// A page of those that match, oldest first.
    async fn find_groups(&mut self, query: &Query) -> StoreResult<ResourcePage<Group>>;
    /// The members of these groups in the order of groups and members, at most `limit` in all.
    async fn members(&mut self, groups: &[GroupId], limit: u32) -> StoreResult<Vec<(GroupId, UserId)>>;
    /// Keeps a new group; `false`, and nothing kept, when its name is taken.
    async fn insert_group(&mut self, group: &Group) -> StoreResult<bool>;
    /// Keeps a changed group. A name that is taken is [`StoreError::Taken`].
    async fn update_group(&mut self, group: &Group) -> StoreResult<()>;
    /// Takes a group away, and everybody out of it.
    async fn delete_group(&mut self, id: &GroupId) -> StoreResult<()>;
    /// Of these, who is no user of the tenant.
    async fn strangers(&mut self, users: &[UserId]) -> StoreResult<Vec<UserId>>;
    /// Lets people join and leave a group.
    async fn change_members(
        &mut self,
        group: &GroupId,
        changes: &MemberChanges,
    ) -> StoreResult<MembersChanged>;
}

/// Who really joined and left: those who were not, or were, in the group before. In order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MembersChanged {
    /// Users who were added.
    pub joined: Vec<UserId>,
    /// Users who were removed.
    pub left: Vec<UserId>,
}

impl MembersChanged {
    /// Whether everything is as it was.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty() && self.left.is_empty()
    }
}
