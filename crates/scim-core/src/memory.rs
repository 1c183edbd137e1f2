//! Users and groups in memory, for examples, tests and services that read them again when they start.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use kernel::{Ctx, GroupId, StoreError, StoreResult, Timestamp, UniqueKey, UserId};

use crate::{
    Answer, Group, GroupStore, MemberChanges, MembersChanged, Membership, Query, Request, ResourcePage,
    Service, User, UserStore, table::taken_key,
};

/// Stores one tenant's users and groups in maps; oldest first, because ids sort by time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryStore {
    users: BTreeMap<UserId, User>,
    groups: BTreeMap<GroupId, (Group, BTreeSet<UserId>)>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers a request as [`Service::answer`] does, for users and groups. `base` is the URL of the SCIM root without a
    /// trailing slash. A refused request changes nothing.
    pub async fn answer(&mut self, base: &str, ctx: &Ctx, request: Request<'_>) -> Answer {
        if request.method == "GET" {
            return Service::new(base, self).answer(ctx, request).await;
        }
        let mut changed = self.clone();
        let answer = Service::new(base, &mut changed).answer(ctx, request).await;
        if answer.status < 400 {
            *self = changed;
        }
        answer
    }

    /// Returns the key of the user that another user has.
    fn taken(&self, user: &User) -> Option<UniqueKey> {
        taken_key(user, self.users.values())
    }

    fn group_taken(&self, group: &Group) -> bool {
        self.groups.values().any(|(other, _)| other.id != group.id && other.key() == group.key())
    }

    fn with_groups(&self, user: &User) -> User {
        let mut user = user.clone();
        let of = self.groups.values().filter(|(_, members)| members.contains(&user.id));
        user.groups = of
            .map(|(group, _)| Membership { group: group.id.clone(), display: group.display_name.clone() })
            .collect();
        user
    }
}

#[async_trait]
impl UserStore for MemoryStore {
    async fn user(&mut self, id: &UserId) -> StoreResult<Option<User>> {
        Ok(self.users.get(id).map(|user| self.with_groups(user)))
    }

    async fn user_of_name(&mut self, key: &str) -> StoreResult<Option<User>> {
        let found = self.users.values().find(|user| user.user_name_key() == key);
        Ok(found.map(|user| self.with_groups(user)))
    }

    async fn user_of_sign_in_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        let has = |user: &&User| user.sign_in_email().is_some_and(|email| email.key() == key);
        Ok(self.users.values().find(has).map(|user| user.id.clone()))
    }

    async fn find_users(&mut self, query: &Query, groups: bool) -> StoreResult<ResourcePage<User>> {
        let mut page = query.page_of(self.users.values().map(|user| self.with_groups(user)));
        if !groups {
            page.resources.iter_mut().for_each(|user| user.groups.clear());
        }
        Ok(page)
    }

    async fn insert_user(&mut self, user: &User) -> StoreResult<bool> {
        let free = self.taken(user).is_none();
        if free {
            self.users.insert(user.id.clone(), user.clone());
        }
        Ok(free)
    }

    async fn update_user(&mut self, _: &User, user: &User) -> StoreResult<()> {
        if let Some(key) = self.taken(user) {
            return Err(StoreError::Taken(key));
        }
        self.users.insert(user.id.clone(), user.clone());
        Ok(())
    }

    async fn delete_user(&mut self, user: &User, _: Timestamp) -> StoreResult<()> {
        self.users.remove(&user.id);
        for (_, members) in self.groups.values_mut() {
            members.remove(&user.id);
        }
        Ok(())
    }
}

#[async_trait]
impl GroupStore for MemoryStore {
    async fn group(&mut self, id: &GroupId) -> StoreResult<Option<Group>> {
        Ok(self.groups.get(id).map(|(group, _)| group.clone()))
    }

    async fn find_groups(&mut self, query: &Query) -> StoreResult<ResourcePage<Group>> {
        let matching = self.groups.values().filter(|(group, members)| {
            let members: Vec<_> = members.iter().cloned().collect();
            query.filter.as_ref().is_none_or(|filter| filter.matches(&group.to_json(&members, "")))
        });
        Ok(ResourcePage::page_of(matching.map(|(group, _)| group), &query.page, |group| group.id.as_str()))
    }

    async fn members(&mut self, groups: &[GroupId], limit: u32) -> StoreResult<Vec<(GroupId, UserId)>> {
        let of = self.groups.iter().filter(|(id, _)| groups.contains(id));
        let all = of.flat_map(|(id, (_, members))| members.iter().map(|user| (id.clone(), user.clone())));
        Ok(all.take(limit as usize).collect())
    }

    async fn insert_group(&mut self, group: &Group) -> StoreResult<bool> {
        let free = !self.group_taken(group);
        if free {
            self.groups.insert(group.id.clone(), (group.clone(), BTreeSet::new()));
        }
        Ok(free)
    }

    async fn update_group(&mut self, group: &Group) -> StoreResult<()> {
        if self.group_taken(group) {
            return Err(StoreError::Taken(UniqueKey::GroupName));
        }
        if let Some((kept, _)) = self.groups.get_mut(&group.id) {
            *kept = group.clone();
        }
        Ok(())
    }

    async fn delete_group(&mut self, id: &GroupId) -> StoreResult<()> {
        self.groups.remove(id);
        Ok(())
    }

    async fn strangers(&mut self, users: &[UserId]) -> StoreResult<Vec<UserId>> {
        Ok(users.iter().filter(|id| !self.users.contains_key(*id)).cloned().collect())
    }

    async fn change_members(
        &mut self,
        group: &GroupId,
        changes: &MemberChanges,
    ) -> StoreResult<MembersChanged> {
        let Some((_, members)) = self.groups.get_mut(group) else { return Ok(MembersChanged::default()) };
        let mut after = if changes.replace { BTreeSet::new() } else { members.clone() };
        after.retain(|id| !changes.leave.contains(id));
        after.extend(changes.join.iter().cloned());
        let changed = MembersChanged {
            joined: after.difference(members).cloned().collect(),
            left: members.difference(&after).cloned().collect(),
        };
        *members = after;
        Ok(changed)
    }
}
