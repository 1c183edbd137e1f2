//! Users as provisioning sees them.

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, Timestamp, UserId};
use scim_core::{Found, Lookup, Page, User, UserStore, fold};

use crate::{
    Tx,
    conn::{Conn, on},
    error::{corrupt, store_error},
    json::JsonText,
    schema::{user_emails, users},
    tx::Row,
};

mod postgres;
mod sqlite;

#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct UserRow {
    id: String,
    user_name: String,
    external_id: Option<String>,
    active: bool,
    attributes: JsonText,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

#[derive(Insertable)]
#[diesel(table_name = users, treat_none_as_default_value = false)]
pub(crate) struct NewUserRow<'a> {
    tenant_id: &'a str,
    id: &'a str,
    role: &'static str,
    created_at: NaiveDateTime,
    #[diesel(embed)]
    changes: UserChanges<'a>,
}

/// The columns that a change writes.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = users, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(crate) struct UserChanges<'a> {
    user_name: &'a str,
    user_name_key: String,
    external_id: Option<String>,
    active: bool,
    sign_in_email_key: Option<String>,
    attributes: JsonText,
    updated_at: NaiveDateTime,
}

#[derive(Insertable)]
#[diesel(table_name = user_emails, treat_none_as_default_value = false)]
pub(crate) struct EmailRow {
    tenant_id: String,
    user_id: String,
    position: i64,
    value_key: String,
}

/// The statement that keeps an address, for a connection of either database.
macro_rules! insert_email {
    ($row:expr, $conn:expr) => {
        diesel_async::RunQueryDsl::execute(
            diesel::insert_into($crate::schema::user_emails::table).values($row),
            $conn,
        )
        .await
    };
}
pub(crate) use insert_email;

impl<'a> UserChanges<'a> {
    fn of(user: &'a User) -> Result<Self, StoreError> {
        let attributes = serde_json::to_string(&user.attributes);
        Ok(Self {
            user_name: &user.user_name,
            user_name_key: user.user_name_key(),
            external_id: user.external_id.clone(),
            active: user.active,
            sign_in_email_key: user.sign_in_email().map(|email| email.key()),
            attributes: JsonText(attributes.map_err(|error| corrupt("users.attributes", error))?),
            updated_at: user.last_modified.naive(),
        })
    }
}

impl TryFrom<UserRow> for User {
    type Error = StoreError;

    fn try_from(row: UserRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("users.id", error))?,
            user_name: row.user_name,
            external_id: row.external_id,
            active: row.active,
            attributes: serde_json::from_str(&row.attributes.0)
                .map_err(|error| corrupt("users.attributes", error))?,
            created: Timestamp::from_naive(row.created_at),
            last_modified: Timestamp::from_naive(row.updated_at),
        })
    }
}

impl Tx {
    /// Keeps a new user in this role; `false` when its name or sign-in address is taken.
    pub(crate) async fn insert_user_as(
        &mut self,
        user: &User,
        role: &'static str,
    ) -> Result<bool, StoreError> {
        self.for_change()?;
        let tenant = self.tenant.clone();
        let row = NewUserRow {
            tenant_id: tenant.as_str(),
            id: user.id.as_str(),
            role,
            created_at: user.created.naive(),
            changes: UserChanges::of(user)?,
        };
        let query = diesel::insert_into(users::table).values(row).on_conflict_do_nothing();
        let inserted = on!(&mut self.conn, c => query.execute(c).await)? == 1;
        if self.note_change(inserted) {
            self.index_emails(user);
        }
        Ok(inserted)
    }

    fn index_emails(&mut self, user: &User) {
        for (position, email) in (0..).zip(user.emails()) {
            let row = EmailRow {
                tenant_id: self.tenant.to_string(),
                user_id: user.id.to_string(),
                position,
                value_key: fold(email.value),
            };
            self.later(Row::Email(row));
        }
    }
}

#[async_trait]
impl UserStore for Tx {
    async fn user(&mut self, id: &UserId) -> Result<Option<User>, StoreError> {
        let query = users::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<UserRow> =
            on!(&mut self.conn, c => query.select(UserRow::as_select()).first(c).await.optional())?;
        row.map(User::try_from).transpose()
    }

    async fn user_for_update(&mut self, id: &UserId) -> Result<Option<User>, StoreError> {
        self.for_change()?;
        let query = users::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<UserRow> = match &mut self.conn {
            Conn::Postgres(pg) => {
                let c = pg.begun().await.map_err(store_error)?;
                let result = query.select(UserRow::as_select()).for_update().first(c).await;
                pg.note(result.optional())
            }
            // SQLite has one writer: the row cannot change under it.
            Conn::Sqlite(c) => query.select(UserRow::as_select()).first(c).await.optional(),
        }
        .map_err(store_error)?;
        row.map(User::try_from).transpose()
    }

    async fn user_of_name(&mut self, key: &str) -> Result<Option<User>, StoreError> {
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            .filter(users::user_name_key.eq(key));
        let row: Option<UserRow> =
            on!(&mut self.conn, c => query.select(UserRow::as_select()).first(c).await.optional())?;
        row.map(User::try_from).transpose()
    }

    async fn user_of_sign_in_email(&mut self, key: &str) -> Result<Option<UserId>, StoreError> {
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            .filter(users::sign_in_email_key.eq(key))
            .select(users::id);
        let id: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        id.map(|id| id.parse().map_err(|error| corrupt("users.id", error))).transpose()
    }

    async fn find_users(&mut self, lookup: Option<&Lookup>, page: Page) -> Result<Found, StoreError> {
        self.flush().await?;
        let (limit, offset) = (i64::from(page.count), i64::try_from(page.offset()).unwrap_or(i64::MAX));
        let tenant = self.tenant.clone();
        let (total, rows): (i64, Vec<UserRow>) = match &mut self.conn {
            Conn::Postgres(pg) => {
                let c = pg.begun().await.map_err(store_error)?;
                let result = postgres::matching::page(&tenant, lookup, limit, offset, c).await;
                pg.note(result)
            }
            Conn::Sqlite(c) => sqlite::matching::page(&tenant, lookup, limit, offset, c).await,
        }
        .map_err(store_error)?;
        let users = rows.into_iter().map(User::try_from).collect::<Result<Vec<_>, _>>()?;
        // Users may come between the count and the page.
        let seen = if users.is_empty() { 0 } else { page.offset() + users.len() as u64 };
        Ok(Found { total: total.unsigned_abs().max(seen), users })
    }

    async fn insert_user(&mut self, user: &User) -> Result<bool, StoreError> {
        self.insert_user_as(user, directory::Role::Member.as_str()).await
    }

    async fn update_user(&mut self, user: &User) -> Result<(), StoreError> {
        self.for_change()?;
        self.flush().await?;
        let changes = UserChanges::of(user)?;
        let row = users::table.find((self.tenant.as_str(), user.id.as_str()));
        if on!(&mut self.conn, c => diesel::update(row).set(changes).execute(c).await)? != 1 {
            return Err(StoreError::Aborted("a change of a user that the tenant does not have"));
        }
        self.note_change(true);
        let emails = user_emails::table
            .filter(user_emails::tenant_id.eq(self.tenant.as_str()))
            .filter(user_emails::user_id.eq(user.id.as_str()));
        on!(&mut self.conn, c => diesel::delete(emails).execute(c).await)?;
        self.index_emails(user);
        Ok(())
    }
}
