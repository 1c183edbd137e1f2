//! Users in a table that is small enough to read completely.

use std::{
    collections::{BTreeMap, HashMap},
    hash::BuildHasher,
};

use async_trait::async_trait;
use kernel::{Ctx, StoreError, StoreResult, Timestamp, UniqueKey, UserId};

use crate::{Query, ResourcePage, User, UserStore};

/// A table of one tenant's users. [`TableStore`] serves it over SCIM: it filters, sorts and checks uniqueness in memory,
/// so it is made for some thousands of users. For more, implement [`UserStore`] with the indexes of a database.
#[async_trait]
pub trait UserTable: Send {
    /// Returns all users, in any order.
    async fn users(&mut self) -> StoreResult<Vec<User>>;
    /// Inserts the user, or replaces the user with the same id.
    async fn put(&mut self, user: &User) -> StoreResult<()>;
    /// Deletes the user with this id.
    async fn delete(&mut self, id: &UserId) -> StoreResult<()>;
    /// Returns the id of a user to be created; `None` for a generated one.
    async fn new_id(&mut self, _ctx: &Ctx) -> StoreResult<Option<UserId>> {
        Ok(None)
    }
}

#[async_trait]
impl<S: BuildHasher + Send> UserTable for HashMap<UserId, User, S> {
    async fn users(&mut self) -> StoreResult<Vec<User>> {
        Ok(self.values().cloned().collect())
    }

    async fn put(&mut self, user: &User) -> StoreResult<()> {
        self.insert(user.id.clone(), user.clone());
        Ok(())
    }

    async fn delete(&mut self, id: &UserId) -> StoreResult<()> {
        self.remove(id);
        Ok(())
    }
}

#[async_trait]
impl UserTable for BTreeMap<UserId, User> {
    async fn users(&mut self) -> StoreResult<Vec<User>> {
        Ok(self.values().cloned().collect())
    }

    async fn put(&mut self, user: &User) -> StoreResult<()> {
        self.insert(user.id.clone(), user.clone());
        Ok(())
    }

    async fn delete(&mut self, id: &UserId) -> StoreResult<()> {
        self.remove(id);
        Ok(())
    }
}

/// The [`UserStore`] over a [`UserTable`]. Run one request at a time, or in transactions that exclude each other.
#[derive(Debug, Clone, Default)]
pub struct TableStore<T>(pub T);

#[async_trait]
impl<T: UserTable> UserStore for TableStore<T> {
    async fn user(&mut self, id: &UserId) -> StoreResult<Option<User>> {
        Ok(self.0.users().await?.into_iter().find(|user| user.id == *id))
    }

    async fn user_of_name(&mut self, key: &str) -> StoreResult<Option<User>> {
        Ok(self.0.users().await?.into_iter().find(|user| user.user_name_key() == key))
    }

    async fn user_of_sign_in_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        let has = |user: &User| user.sign_in_email().is_some_and(|email| email.key() == key);
        Ok(self.0.users().await?.into_iter().find(has).map(|user| user.id))
    }

    async fn find_users(&mut self, query: &Query, _: bool) -> StoreResult<ResourcePage<User>> {
        Ok(query.page_of(self.0.users().await?.into_iter()))
    }

    async fn new_user_id(&mut self, ctx: &Ctx) -> StoreResult<Option<UserId>> {
        self.0.new_id(ctx).await
    }

    async fn insert_user(&mut self, user: &User) -> StoreResult<bool> {
        let free = taken_key(user, self.0.users().await?.iter()).is_none();
        if free {
            self.0.put(user).await?;
        }
        Ok(free)
    }

    async fn update_user(&mut self, _: &User, after: &User) -> StoreResult<()> {
        match taken_key(after, self.0.users().await?.iter()) {
            Some(key) => Err(StoreError::Taken(key)),
            None => self.0.put(after).await,
        }
    }

    async fn delete_user(&mut self, user: &User, _: Timestamp) -> StoreResult<()> {
        self.0.delete(&user.id).await
    }
}

/// Returns the unique key of `user` that another of `users` has.
pub(crate) fn taken_key<'u>(user: &User, mut users: impl Iterator<Item = &'u User>) -> Option<UniqueKey> {
    let address = |user: &User| user.sign_in_email().map(|email| email.key());
    let (name, own) = (user.user_name_key(), address(user));
    users.find_map(|other| {
        if other.id == user.id {
            None
        } else if other.user_name_key() == name {
            Some(UniqueKey::UserName)
        } else {
            (own.is_some() && address(other) == own).then_some(UniqueKey::SignInEmail)
        }
    })
}
