//! Rows of users, and the statements that write them.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};
use scim_core::{Attributes, User};
use serde_json::{Map, Value};

use crate::{
    error::corrupt,
    json::JsonText,
    schema::{sign_in_names, user_emails, users},
};

#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct UserRow {
    pub(crate) id: String,
    user_name: String,
    external_id: Option<String>,
    active: bool,
    attributes: JsonText,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    pub(crate) has_groups: bool,
}

#[derive(Insertable)]
#[diesel(table_name = users, treat_none_as_default_value = false)]
pub(crate) struct NewUserRow<'a> {
    tenant_id: &'a str,
    id: &'a str,
    role: &'static str,
    created_at: NaiveDateTime,
    user_name: &'a str,
    user_name_key: String,
    external_id: Option<String>,
    active: bool,
    sign_in_email_key: Option<String>,
    attributes: JsonText,
    folded: Option<JsonText>,
    updated_at: NaiveDateTime,
}

/// The changed columns of a user. Unchanged columns are left out, so that their indexes are not updated.
#[derive(AsChangeset)]
#[diesel(table_name = users)]
#[expect(clippy::option_option, reason = "diesel distinguishes \"unchanged\" from \"NULL\" this way")]
pub(crate) struct UserChanges {
    user_name: Option<String>,
    user_name_key: Option<String>,
    external_id: Option<Option<String>>,
    active: Option<bool>,
    sign_in_email_key: Option<Option<String>>,
    attributes: Option<JsonText>,
    folded: Option<JsonText>,
    updated_at: NaiveDateTime,
    sessions_after: Option<NaiveDateTime>,
}

/// The account that an address signs in to.
#[derive(Insertable)]
#[diesel(table_name = sign_in_names, treat_none_as_default_value = false)]
pub(crate) struct SignInNameRow {
    pub(crate) email_key: String,
    pub(crate) tenant_id: String,
    pub(crate) user_id: String,
}

/// Inserts a sign-in address, on a connection to either database. An index of users keeps addresses unique; a row of
/// another user is left over from a crash of a distributed database.
macro_rules! insert_sign_in_name {
    ($row:expr, $conn:expr) => {{
        use diesel::{prelude::*, upsert::excluded};
        use $crate::schema::sign_in_names;
        let insert = diesel::insert_into(sign_in_names::table).values($row);
        let upsert = insert.on_conflict((sign_in_names::email_key, sign_in_names::tenant_id)).do_update();
        let upsert = upsert.set(sign_in_names::user_id.eq(excluded(sign_in_names::user_id)));
        diesel_async::RunQueryDsl::execute($crate::prepared::Prepared(upsert), $conn).await
    }};
}
pub(crate) use insert_sign_in_name;

#[derive(Insertable)]
#[diesel(table_name = user_emails, treat_none_as_default_value = false)]
pub(crate) struct EmailRow {
    pub(crate) tenant_id: String,
    pub(crate) user_id: String,
    pub(crate) position: i64,
    pub(crate) value_key: String,
}

/// An update of a locked row, which may be written later.
pub(crate) struct UserUpdate {
    pub(crate) tenant_id: String,
    pub(crate) id: String,
    pub(crate) changes: UserChanges,
}

/// Updates a user, on a connection to either database.
macro_rules! update_user {
    ($update:expr, $conn:expr) => {{
        use diesel::prelude::*;
        use $crate::schema::users;
        let row = users::table.find((&$update.tenant_id, &$update.id)).filter(users::deleted_at.is_null());
        let update = $crate::prepared::Prepared(diesel::update(row).set(&$update.changes));
        diesel_async::RunQueryDsl::execute(update, $conn).await
    }};
}
pub(crate) use update_user;

/// Inserts an email address, on a connection to either database.
macro_rules! insert_email {
    ($row:expr, $conn:expr) => {
        diesel_async::RunQueryDsl::execute(
            $crate::prepared::Kept(diesel::insert_into($crate::schema::user_emails::table).values($row)),
            $conn,
        )
        .await
    };
}
pub(crate) use insert_email;

impl<'a> NewUserRow<'a> {
    /// Builds the row of a new user with this role.
    pub(crate) fn of(tenant: &'a TenantId, user: &'a User, role: &'static str) -> StoreResult<Self> {
        Ok(Self {
            tenant_id: tenant.as_str(),
            id: user.id.as_str(),
            role,
            created_at: user.created.naive(),
            user_name: &user.user_name,
            user_name_key: user.user_name_key(),
            external_id: user.external_id.clone(),
            active: user.active,
            sign_in_email_key: sign_in_email_key(user),
            attributes: JsonText(user.attributes.text().into_owned()),
            folded: Some(json_text(&user.folded())?),
            updated_at: user.last_modified.naive(),
        })
    }
}

impl UserChanges {
    /// Collects the changed columns.
    pub(crate) fn between(before: &User, after: &User) -> StoreResult<Self> {
        let renamed = before.user_name != after.user_name;
        let changed = before.attributes != after.attributes;
        let address = sign_in_email_key(after);
        let is_moved = sign_in_email_key(before) != address;
        // Session tokens of other applications name an address: those of its former holder stay refused.
        let refuses_tokens = (before.active && !after.active) || is_moved;
        Ok(Self {
            user_name: renamed.then(|| after.user_name.clone()),
            user_name_key: renamed.then(|| after.user_name_key()),
            external_id: (before.external_id != after.external_id).then(|| after.external_id.clone()),
            active: (before.active != after.active).then_some(after.active),
            sign_in_email_key: is_moved.then_some(address),
            attributes: changed.then(|| JsonText(after.attributes.text().into_owned())),
            folded: if changed { Some(json_text(&after.folded())?) } else { None },
            updated_at: after.last_modified.naive(),
            sessions_after: refuses_tokens.then(|| after.last_modified.naive()),
        })
    }
}

pub(crate) fn sign_in_email_key(user: &User) -> Option<String> {
    user.sign_in_email().map(|email| email.key())
}

pub(crate) fn json_text(members: &Map<String, Value>) -> StoreResult<JsonText> {
    let text = serde_json::to_string(members).map_err(|error| corrupt("users.attributes", error))?;
    Ok(JsonText(text))
}

impl TryFrom<UserRow> for User {
    type Error = StoreError;

    fn try_from(row: UserRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("users.id", error))?,
            user_name: row.user_name,
            external_id: row.external_id,
            active: row.active,
            attributes: Attributes::read(row.attributes.0)
                .map_err(|error| corrupt("users.attributes", error))?,
            created: Timestamp::from_naive(row.created_at),
            last_modified: Timestamp::from_naive(row.updated_at),
            groups: Vec::new(),
        })
    }
}
