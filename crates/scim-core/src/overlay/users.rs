//! Users after the changes.

use std::collections::BTreeSet;

use async_trait::async_trait;
use kernel::{StoreError, StoreResult, Timestamp, UniqueKey, UserId};

use super::{
    Overlay,
    pages::{merged, untouched},
};
use crate::{Filter, GroupStore, Membership, Query, ResourcePage, User, UserStore, schema::USERS};

impl<S: UserStore + GroupStore> Overlay<'_, S> {
    /// Returns the user with the groups that it has after the changes. `user` has those of the store.
    async fn with_groups(&mut self, mut user: User) -> StoreResult<User> {
        let mut groups = Vec::new();
        for membership in std::mem::take(&mut user.groups) {
            let has_left =
                self.changes.members.get(&membership.group).is_some_and(|of| of.left.contains(&user.id));
            match self.changes.groups.get(&membership.group) {
                _ if has_left => {}
                Some(None) => {}
                Some(Some(group)) => {
                    groups.push(Membership { group: membership.group, display: group.display_name.clone() });
                }
                None => groups.push(membership),
            }
        }
        let joined = self.changes.members.iter().filter(|(_, of)| of.joined.contains(&user.id));
        let joined: Vec<_> = joined.map(|(group, _)| group.clone()).collect();
        for group in joined {
            if let Some(group) = self.group(&group).await? {
                groups.push(Membership { group: group.id, display: group.display_name });
            }
        }
        groups.sort_unstable();
        user.groups = groups;
        Ok(user)
    }

    /// Returns whether another user has this user's name or sign-in address.
    async fn taken_key(&mut self, user: &User) -> StoreResult<Option<UniqueKey>> {
        let by_name = self.user_of_name(&user.user_name_key()).await?;
        if by_name.is_some_and(|other| other.id != user.id) {
            return Ok(Some(UniqueKey::UserName));
        }
        let by_address = match user.sign_in_email() {
            Some(address) => self.user_of_sign_in_email(&address.key()).await?,
            None => None,
        };
        Ok(by_address.filter(|other| *other != user.id).map(|_| UniqueKey::SignInEmail))
    }

    /// Returns the ids of users whose representation the changes may affect in a filter.
    async fn touched_users(&mut self, filter: Option<&Filter>) -> StoreResult<BTreeSet<UserId>> {
        let mut touched = self.changes.touched_users();
        if filter.is_some_and(|filter| filter.uses("groups")) {
            let renamed: Vec<_> = self.changes.groups.keys().cloned().collect();
            let members = self.store.members(&renamed, u32::MAX).await?;
            touched.extend(members.into_iter().map(|(_, user)| user));
        }
        Ok(touched)
    }
}

#[async_trait]
impl<S: UserStore + GroupStore> UserStore for Overlay<'_, S> {
    async fn user(&mut self, id: &UserId) -> StoreResult<Option<User>> {
        let stored = self.store.user(id).await?;
        let user = match self.changes.users.get(id) {
            Some(changed) => changed
                .clone()
                .map(|user| User { groups: stored.map(|stored| stored.groups).unwrap_or_default(), ..user }),
            None => stored,
        };
        match user {
            Some(user) => self.with_groups(user).await.map(Some),
            None => Ok(None),
        }
    }

    async fn user_of_name(&mut self, key: &str) -> StoreResult<Option<User>> {
        let changed = self.changes.users.values().flatten().find(|user| user.user_name_key() == key);
        let id = match changed {
            Some(user) => Some(user.id.clone()),
            None => self.store.user_of_name(key).await?.map(|user| user.id),
        };
        match id {
            // The name of a changed user in the store is not its name any more.
            Some(id) if changed.is_some() || !self.changes.users.contains_key(&id) => self.user(&id).await,
            _ => Ok(None),
        }
    }

    async fn user_of_sign_in_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        let has = |user: &&User| user.sign_in_email().is_some_and(|address| address.key() == key);
        if let Some(user) = self.changes.users.values().flatten().find(has) {
            return Ok(Some(user.id.clone()));
        }
        let stored = self.store.user_of_sign_in_email(key).await?;
        Ok(stored.filter(|id| !self.changes.users.contains_key(id)))
    }

    async fn find_users(&mut self, query: &Query, groups: bool) -> StoreResult<ResourcePage<User>> {
        let touched = self.touched_users(query.filter.as_ref()).await?;
        let mut matches = Vec::new();
        for id in &touched {
            let user = self.user(id).await?;
            matches.extend(user.filter(|user| query.matches(user)));
        }
        let of_store = untouched(query, &USERS, touched.iter().map(ToString::to_string), matches.len());
        let mut found = self.store.find_users(&of_store, groups).await?;
        if groups {
            for user in &mut found.resources {
                *user = self.with_groups(user.clone()).await?;
            }
        } else {
            for user in &mut matches {
                user.groups.clear();
            }
        }
        Ok(merged(&query.page, found, matches, |user| user.id.as_str()))
    }

    async fn insert_user(&mut self, user: &User) -> StoreResult<bool> {
        if self.taken_key(user).await?.is_some() {
            return Ok(false);
        }
        self.changes.users.insert(user.id.clone(), Some(user.clone()));
        Ok(true)
    }

    async fn update_user(&mut self, _: &User, after: &User) -> StoreResult<()> {
        if let Some(key) = self.taken_key(after).await? {
            return Err(StoreError::Taken(key));
        }
        let changed = User { groups: Vec::new(), ..after.clone() };
        self.changes.users.insert(after.id.clone(), Some(changed));
        Ok(())
    }

    async fn delete_user(&mut self, user: &User, _: Timestamp) -> StoreResult<()> {
        let groups = self.user(&user.id).await?.map(|user| user.groups).unwrap_or_default();
        for membership in groups {
            self.changes.members_of(&membership.group).leave(&user.id);
        }
        self.changes.users.insert(user.id.clone(), None);
        Ok(())
    }
}
