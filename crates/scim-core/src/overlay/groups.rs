//! Groups and their members after the changes.

use std::collections::BTreeSet;

use async_trait::async_trait;
use kernel::{GroupId, StoreError, StoreResult, UniqueKey, UserId};

use super::{
    Overlay,
    pages::{merged, untouched},
};
use crate::{
    Group, GroupStore, MemberChanges, MembersChanged, Page, Query, ResourcePage, Start, UserStore,
    filter::{Filter, Operand, Operator, TextOperand},
    schema::GROUPS,
};

impl<S: UserStore + GroupStore> Overlay<'_, S> {
    /// Returns whether another group has this group's name.
    async fn is_group_name_taken(&mut self, group: &Group) -> StoreResult<bool> {
        let key = group.key();
        let mut changed = self.changes.groups.values().flatten();
        if changed.any(|other| other.id != group.id && other.key() == key) {
            return Ok(true);
        }
        let Some(path) = GROUPS.resolve("displayName") else { return Ok(false) };
        let operand = Operand::Text(TextOperand { written: group.display_name.clone(), key });
        let filter = Filter::Compare { path, operator: Operator::Eq, operand };
        let page = Page { start: Start::Index(1), count: 1 };
        let found = self.store.find_groups(&Query { filter: Some(filter), page, belongs_to: 0 }).await?;
        let is_other = |other: &Group| other.id != group.id && !self.changes.groups.contains_key(&other.id);
        Ok(found.resources.iter().any(is_other))
    }

    /// Returns all members of one group.
    async fn all_members(&mut self, group: &GroupId) -> StoreResult<BTreeSet<UserId>> {
        let members = self.members(std::slice::from_ref(group), u32::MAX).await?;
        Ok(members.into_iter().map(|(_, user)| user).collect())
    }
}

#[async_trait]
impl<S: UserStore + GroupStore> GroupStore for Overlay<'_, S> {
    async fn group(&mut self, id: &GroupId) -> StoreResult<Option<Group>> {
        match self.changes.groups.get(id) {
            Some(changed) => Ok(changed.clone()),
            None => self.store.group(id).await,
        }
    }

    async fn find_groups(&mut self, query: &Query) -> StoreResult<ResourcePage<Group>> {
        let touched = self.changes.touched_groups();
        let mut matches = Vec::new();
        for id in &touched {
            let Some(group) = self.group(id).await? else { continue };
            let Some(filter) = &query.filter else {
                matches.push(group);
                continue;
            };
            let members = if filter.uses("members") {
                self.all_members(id).await?.into_iter().collect()
            } else {
                Vec::new()
            };
            if filter.matches(&group.to_json(&members, "")) {
                matches.push(group);
            }
        }
        let of_store = untouched(query, &GROUPS, touched.iter().map(ToString::to_string), matches.len());
        let found = self.store.find_groups(&of_store).await?;
        Ok(merged(&query.page, found, matches, |group| group.id.as_str()))
    }

    async fn members(&mut self, groups: &[GroupId], limit: u32) -> StoreResult<Vec<(GroupId, UserId)>> {
        let is_deleted = |group: &GroupId| self.changes.groups.get(group).is_some_and(Option::is_none);
        let groups: Vec<_> = groups.iter().filter(|group| !is_deleted(group)).cloned().collect();
        let changed = || groups.iter().filter_map(|group| Some((group, self.changes.members.get(group)?)));
        // Those who left may be among the first.
        let left: usize = changed().map(|(_, of)| of.left.len()).sum();
        let enough = limit.saturating_add(u32::try_from(left).unwrap_or(u32::MAX));
        let mut members = self.store.members(&groups, enough).await?;
        for (group, of) in changed() {
            members.retain(|(other, user)| other != group || !of.left.contains(user));
            members.extend(of.joined.iter().map(|user| (group.clone(), user.clone())));
        }
        members.sort_unstable();
        members.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(members)
    }

    async fn insert_group(&mut self, group: &Group) -> StoreResult<bool> {
        if self.is_group_name_taken(group).await? {
            return Ok(false);
        }
        self.changes.groups.insert(group.id.clone(), Some(group.clone()));
        Ok(true)
    }

    async fn update_group(&mut self, group: &Group) -> StoreResult<()> {
        if self.is_group_name_taken(group).await? {
            return Err(StoreError::Taken(UniqueKey::GroupName));
        }
        self.changes.groups.insert(group.id.clone(), Some(group.clone()));
        Ok(())
    }

    async fn delete_group(&mut self, id: &GroupId) -> StoreResult<()> {
        self.changes.members.remove(id);
        self.changes.groups.insert(id.clone(), None);
        Ok(())
    }

    async fn strangers(&mut self, users: &[UserId]) -> StoreResult<Vec<UserId>> {
        let mut strangers = self.store.strangers(users).await?;
        strangers.retain(|id| !self.changes.users.contains_key(id));
        let is_deleted = |id: &&UserId| self.changes.users.get(*id).is_some_and(Option::is_none);
        strangers.extend(users.iter().filter(is_deleted).cloned());
        Ok(strangers)
    }

    async fn change_members(
        &mut self,
        group: &GroupId,
        changes: &MemberChanges,
    ) -> StoreResult<MembersChanged> {
        let before = self.all_members(group).await?;
        let mut after = if changes.replace { BTreeSet::new() } else { before.clone() };
        after.retain(|id| !changes.leave.contains(id));
        after.extend(changes.join.iter().cloned());
        let changed = MembersChanged {
            joined: after.difference(&before).cloned().collect(),
            left: before.difference(&after).cloned().collect(),
        };
        let of = self.changes.members_of(group);
        changed.joined.iter().for_each(|user| of.join(user));
        changed.left.iter().for_each(|user| of.leave(user));
        Ok(changed)
    }
}
