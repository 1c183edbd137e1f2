//! What the changes of a dry run would change.

use kernel::StoreResult;

use super::OverlayChanges;
use crate::{GroupStore, ScimStore, UserStore};

/// The kind of a changed resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    /// A user.
    User,
    /// A group.
    Group,
}

/// What happens to a resource. The first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// It is deleted.
    Delete,
    /// The user can no longer sign in.
    Deactivate,
    /// The user can sign in again.
    Reactivate,
    /// It is created.
    Create,
    /// Attributes or members change.
    Update,
}

/// The difference of one resource between the store and the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Whether it is a user or a group.
    pub kind: ResourceKind,
    /// ID of the resource; of a new one, the ID that the dry run has answered.
    pub id: String,
    /// The `userName` or `displayName`; of a deleted resource, as stored.
    pub name: String,
    /// What happens to the resource.
    pub action: Action,
    /// Names of the attributes that an update, deactivation or reactivation changes, except `active` and `members`.
    pub attributes: Vec<String>,
    /// Number of users who become members of the group.
    pub joined: usize,
    /// Number of users who are no longer members of the group, except deleted users.
    pub left: usize,
}

impl OverlayChanges {
    /// Returns the differences of all resources from the store, users first, by ID. Resources that are as stored, and
    /// those that were created and deleted, are left out. Reads each changed resource.
    pub async fn differences(&self, store: &mut dyn ScimStore) -> StoreResult<Vec<Difference>> {
        let mut differences = Vec::new();
        for (id, after) in &self.users {
            let before = UserStore::user(store, id).await?;
            let (name, action, attributes) = match (before, after) {
                (None, None) => continue,
                (None, Some(after)) => (after.user_name.clone(), Action::Create, Vec::new()),
                (Some(before), None) => (before.user_name, Action::Delete, Vec::new()),
                (Some(before), Some(after)) => {
                    let attributes = before.changes(after);
                    let action = match (before.active, after.active) {
                        (true, false) => Action::Deactivate,
                        (false, true) => Action::Reactivate,
                        _ if attributes.is_empty() => continue,
                        _ => Action::Update,
                    };
                    (after.user_name.clone(), action, attributes)
                }
            };
            let id = id.to_string();
            let kind = ResourceKind::User;
            differences.push(Difference { kind, id, name, action, attributes, joined: 0, left: 0 });
        }
        for id in self.touched_groups() {
            let before = GroupStore::group(store, &id).await?;
            let after = self.groups.get(&id).map_or_else(|| before.clone(), Clone::clone);
            let (joined, left) = self.member_counts(&id);
            let (name, action, attributes) = match (before, after) {
                (None, None) => continue,
                (None, Some(after)) => (after.display_name, Action::Create, Vec::new()),
                (Some(before), None) => (before.display_name, Action::Delete, Vec::new()),
                (Some(before), Some(after)) => {
                    let attributes = before.changes(&after);
                    if attributes.is_empty() && joined + left == 0 {
                        continue;
                    }
                    (after.display_name, Action::Update, attributes)
                }
            };
            let id = id.to_string();
            let kind = ResourceKind::Group;
            differences.push(Difference { kind, id, name, action, attributes, joined, left });
        }
        Ok(differences)
    }

    /// Returns the numbers of users who join and leave a group. Deleted users are not counted.
    fn member_counts(&self, group: &kernel::GroupId) -> (usize, usize) {
        let Some(members) = self.members.get(group) else { return (0, 0) };
        let stays = |user: &&kernel::UserId| !self.users.get(*user).is_some_and(Option::is_none);
        (members.joined.len(), members.left.iter().filter(stays).count())
    }
}
