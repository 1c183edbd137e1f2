//! SCIM users.

use audit::Unaudited;
use std::collections::HashMap;

use async_trait::async_trait;
use credentials::TicketStore;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::LinkStore;
use kernel::{StoreError, StoreResult, Timestamp, UserId};
use scim_core::{MAX_MEMBERSHIPS, Membership, Query, ResourcePage, User, UserStore, fold};
use stepup::StepUpStore;

use super::{
    filter::{FilterScope, Kind},
    list::{Slice, load_and_count},
};
use crate::{
    Tx,
    db::{Row, change, change_unaudited, lock, read},
    error::corrupt,
    prepared::{Kept, Prepared},
    schema::{group_members, groups, sign_in_names, user_emails, users},
    signals::ChangedEmail,
};

pub(crate) mod refold;
pub(crate) mod rows;

use rows::{EmailRow, SignInNameRow, UserUpdate, update_user};
use rows::{NewUserRow, UserChanges, sign_in_email_key};
pub(crate) use rows::{UserRow, json_text};

impl Tx {
    /// Inserts a user with this role. Returns `false` if the name or sign-in address is taken.
    pub(crate) async fn insert_user_as(&mut self, user: &User, role: &'static str) -> StoreResult<bool> {
        let tenant = self.tenant.clone();
        let row = NewUserRow::of(&tenant, user, role)?;
        let query = diesel::insert_into(users::table).values(row).on_conflict_do_nothing();
        let inserted = change!(self, c => query.execute(c).await)? == 1;
        if inserted {
            self.index_emails(user)?;
            self.index_sign_in_name(user)?;
        }
        Ok(inserted)
    }

    fn index_sign_in_name(&mut self, user: &User) -> StoreResult<()> {
        if let Some(email_key) = sign_in_email_key(user) {
            let row =
                SignInNameRow { email_key, tenant_id: self.tenant.to_string(), user_id: user.id.to_string() };
            self.db.later(Row::SignInName(row))?;
        }
        Ok(())
    }

    async fn unindex_sign_in_name(&mut self, user: &User) -> StoreResult<()> {
        if let Some(key) = sign_in_email_key(user) {
            let row = sign_in_names::table.find((key, self.tenant.as_str()));
            change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(row).execute(c).await)?;
        }
        Ok(())
    }

    /// Ends a user's sessions, and voids the step-up tokens, tickets and links.
    pub(crate) async fn end_access(&mut self, user: &UserId, at: Timestamp) -> StoreResult<()> {
        self.end_sessions(user, at, None).await?;
        self.revoke_grants(user, at).await?;
        self.void_invitations(user).await
    }

    /// Voids a user's links and unfinished sign-ins, which were issued for the previous address and role.
    pub(crate) async fn void_invitations(&mut self, user: &UserId) -> StoreResult<()> {
        self.drop_tickets(user).await?;
        self.drop_links(user).await
    }

    fn index_emails(&mut self, user: &User) -> StoreResult<()> {
        for (position, email) in (0..).zip(user.emails()) {
            let row = EmailRow {
                tenant_id: self.tenant.to_string(),
                user_id: user.id.to_string(),
                position,
                value_key: fold(email.value),
            };
            self.db.later(Row::Email(row))?;
        }
        Ok(())
    }

    /// Notes for signals that the address changes. Events that wait are about the former one.
    async fn note_changed_email(&mut self, before: &User, after: Option<&User>) -> StoreResult<()> {
        let (former, new) = (sign_in_email_key(before), after.and_then(sign_in_email_key));
        if let Some(former) = &former {
            self.keep_email_of_events(&before.id, former).await?;
        }
        self.changed_emails.push(ChangedEmail { user: before.id.to_string(), former, new });
        Ok(())
    }

    async fn unindex_emails(&mut self, user: &UserId) -> StoreResult<()> {
        let emails = user_emails::table
            .filter(user_emails::tenant_id.eq(self.tenant.as_str()))
            .filter(user_emails::user_id.eq(user.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(emails).execute(c).await)?;
        Ok(())
    }

    /// Converts a row to a user with its groups.
    async fn with_groups(&mut self, row: Option<UserRow>) -> StoreResult<Option<User>> {
        let Some(row) = row else { return Ok(None) };
        let has_groups = row.has_groups;
        let mut user = User::try_from(row)?;
        if has_groups {
            self.add_groups(std::slice::from_mut(&mut user)).await?;
        }
        Ok(Some(user))
    }

    /// Reads the groups of these users with one statement. Returns `false` if there are more than one page of users
    /// may have.
    async fn add_groups(&mut self, users: &mut [User]) -> StoreResult<bool> {
        let ids: Vec<_> = users.iter().map(|user| user.id.to_string()).collect();
        let most = if users.len() > 1 { i64::from(MAX_MEMBERSHIPS) } else { i64::from(u32::MAX) };
        let query = group_members::table
            .inner_join(groups::table.on(
                groups::tenant_id.eq(group_members::tenant_id).and(groups::id.eq(group_members::group_id)),
            ))
            .filter(group_members::tenant_id.eq(self.tenant.as_str()))
            .filter(group_members::user_id.eq_any(ids))
            .order((group_members::user_id, group_members::group_id))
            .select((group_members::user_id, groups::id, groups::display_name))
            .limit(most + 1);
        let rows: Vec<(String, String, String)> = read!(self, c => query.load(c).await)?;
        if i64::try_from(rows.len()).is_ok_and(|read| read > most) {
            return Ok(false);
        }
        let mut places: HashMap<String, &mut User> =
            users.iter_mut().map(|user| (user.id.to_string(), user)).collect();
        for (user, group, display) in rows {
            let group = group.parse().map_err(|error| corrupt("groups.id", error))?;
            if let Some(user) = places.get_mut(&user) {
                user.groups.push(Membership { group, display });
            }
        }
        Ok(true)
    }
}

#[async_trait]
impl UserStore for Tx {
    async fn user(&mut self, id: &UserId) -> StoreResult<Option<User>> {
        let query =
            users::table.find((self.tenant.as_str(), id.as_str())).filter(users::deleted_at.is_null());
        let row: Option<UserRow> =
            read!(self, c => Kept(query.select(UserRow::as_select())).get_result(c).await.optional())?;
        self.with_groups(row).await
    }

    async fn user_for_update(&mut self, id: &UserId) -> StoreResult<Option<User>> {
        let query =
            users::table.find((self.tenant.as_str(), id.as_str())).filter(users::deleted_at.is_null());
        let row: Option<UserRow> = lock!(self, for_update, first, query.select(UserRow::as_select()))?;
        self.locked_user = row.as_ref().map(|row| row.id.clone());
        self.with_groups(row).await
    }

    async fn user_of_name(&mut self, key: &str) -> StoreResult<Option<User>> {
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            .filter(users::user_name_key.eq(key))
            .filter(users::deleted_at.is_null());
        let row: Option<UserRow> =
            read!(self, c => query.select(UserRow::as_select()).first(c).await.optional())?;
        self.with_groups(row).await
    }

    async fn user_of_sign_in_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            .filter(users::sign_in_email_key.eq(key))
            .select(users::id);
        let id: Option<String> = read!(self, c => query.first(c).await.optional())?;
        id.map(|id| id.parse().map_err(|error| corrupt("users.id", error))).transpose()
    }

    async fn find_users(&mut self, query: &Query, groups: bool) -> StoreResult<ResourcePage<User>> {
        let slice = Slice::of(query);
        let of = FilterScope { kind: Kind::Users, dialect: self.db.dialect(), tenant: &self.tenant };
        let count = users::table.filter(of.matching(query.filter.as_ref())).count();
        let page = users::table.filter(of.page(query.filter.as_ref(), &slice)).order(users::id);
        let page = page.limit(slice.limit).offset(slice.offset);
        let (rows, total): (Vec<UserRow>, _) =
            load_and_count!(self.db.reading().await?, slice, page.select(UserRow::as_select()), count)?;
        let in_groups = rows.iter().any(|row| row.has_groups);
        let users = rows.into_iter().map(User::try_from).collect::<Result<Vec<_>, _>>()?;
        let mut found = slice.found(total, users);
        if groups && in_groups {
            found.cut = !self.add_groups(&mut found.resources).await?;
        }
        Ok(found)
    }

    async fn insert_user(&mut self, user: &User) -> StoreResult<bool> {
        self.insert_user_as(user, directory::Role::Member.as_str()).await
    }

    async fn update_user(&mut self, before: &User, after: &User) -> StoreResult<()> {
        let update = UserUpdate {
            tenant_id: self.tenant.to_string(),
            id: after.id.to_string(),
            changes: UserChanges::between(before, after)?,
        };
        if self.locked_user.as_deref() == Some(after.id.as_str()) {
            // The row is locked and exists, so the update may be flushed together with the audit entries.
            self.db.later(Row::User(Box::new(update)))?;
        } else if change!(self, c => update_user!(update, c))? != 1 {
            return Err(StoreError::Aborted("the tenant has no user with this ID"));
        }
        if sign_in_email_key(before) != sign_in_email_key(after) {
            self.note_changed_email(before, Some(after)).await?;
            self.unindex_sign_in_name(before).await?;
            self.index_sign_in_name(after)?;
            if let (Some(old), Some(new)) = (sign_in_email_key(before), sign_in_email_key(after)) {
                self.inherit_salt(&old, &new).await?;
            }
            self.void_invitations(&after.id).await?;
        }
        if before.active && !after.active {
            self.end_access(&after.id, after.last_modified).await?;
        }
        if before.attributes.get("emails") != after.attributes.get("emails") {
            self.unindex_emails(&after.id).await?;
            self.index_emails(after)?;
        }
        Ok(())
    }

    async fn delete_user(&mut self, user: &User, at: Timestamp) -> StoreResult<()> {
        self.note_changed_email(user, None).await?;
        let row =
            users::table.find((self.tenant.as_str(), user.id.as_str())).filter(users::deleted_at.is_null());
        self.locked_user = None;
        let gone = (
            users::deleted_at.eq(at.naive()),
            users::active.eq(false),
            users::sign_in_email_key.eq(None::<String>),
            users::has_groups.eq(false),
            users::sessions_after.eq(at.naive()),
        );
        if change!(self, c => Prepared(diesel::update(row).set(gone)).execute(c).await)? != 1 {
            return Err(StoreError::Aborted("the tenant has no user with this ID"));
        }
        self.unindex_emails(&user.id).await?;
        self.unindex_sign_in_name(user).await?;
        self.end_access(&user.id, at).await?;
        self.forget_credentials(&user.id, at).await?;
        self.unpin_subjects(&user.id).await?;
        self.forget_claimed_groups(&user.id).await?;
        let memberships = group_members::table
            .filter(group_members::tenant_id.eq(self.tenant.as_str()))
            .filter(group_members::user_id.eq(user.id.as_str()));
        change!(self, c => diesel::delete(memberships).execute(c).await)?;
        Ok(())
    }
}
