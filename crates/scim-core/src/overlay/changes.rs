//! The changes of a dry run.

use std::collections::{BTreeMap, BTreeSet};

use kernel::{GroupId, UserId};

use crate::{Group, User};

/// Changes that were not made, as the difference from a store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OverlayChanges {
    /// Users that were created or changed, without their groups; `None` if the user was deleted.
    pub users: BTreeMap<UserId, Option<User>>,
    /// Groups that were created or changed; `None` if the group was deleted.
    pub groups: BTreeMap<GroupId, Option<Group>>,
    /// Memberships that were added or removed, except those of deleted groups. A deleted user has left its groups.
    pub members: BTreeMap<GroupId, MembershipChanges>,
}

/// The members that a group has in addition to those in the store, and those that it no longer has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MembershipChanges {
    /// Users who are members only after the changes.
    pub joined: BTreeSet<UserId>,
    /// Users who are members only in the store.
    pub left: BTreeSet<UserId>,
}

impl MembershipChanges {
    pub(super) fn join(&mut self, user: &UserId) {
        if !self.left.remove(user) {
            self.joined.insert(user.clone());
        }
    }

    pub(super) fn leave(&mut self, user: &UserId) {
        if !self.joined.remove(user) {
            self.left.insert(user.clone());
        }
    }

    fn users(&self) -> impl Iterator<Item = &UserId> {
        self.joined.iter().chain(&self.left)
    }
}

impl OverlayChanges {
    /// Returns the number of changed users, groups and memberships.
    pub fn len(&self) -> usize {
        let members: usize = self.members.values().map(|of| of.users().count()).sum();
        self.users.len() + self.groups.len() + members
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the users who changed, or whose memberships did.
    pub(super) fn touched_users(&self) -> BTreeSet<UserId> {
        self.users.keys().chain(self.members.values().flat_map(MembershipChanges::users)).cloned().collect()
    }

    /// Returns the groups that changed, or whose members did.
    pub(super) fn touched_groups(&self) -> BTreeSet<GroupId> {
        self.groups.keys().chain(self.members.keys()).cloned().collect()
    }

    pub(super) fn members_of(&mut self, group: &GroupId) -> &mut MembershipChanges {
        self.members.entry(group.clone()).or_default()
    }
}
