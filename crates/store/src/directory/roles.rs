//! The roles that a tenant defines.

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::{OwnRole, Permission, Role, RoleId, RoleStore};
use kernel::{StoreError, StoreResult, Timestamp};

use crate::{
    Tx,
    db::{change, lock, read},
    directory::held_roles::permissions,
    error::corrupt,
    prepared::Prepared,
    schema::{connection_accounts, role_rules, roles, user_roles},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = roles, treat_none_as_default_value = false)]
struct RoleRow {
    tenant_id: String,
    id: String,
    name: String,
    name_key: String,
    description: Option<String>,
    permissions: String,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

#[derive(AsChangeset)]
#[diesel(table_name = roles, treat_none_as_null = true)]
struct RoleChanges<'a> {
    name: &'a str,
    name_key: String,
    description: Option<String>,
    permissions: String,
    updated_at: NaiveDateTime,
}

fn names(role: &OwnRole) -> String {
    role.permissions.iter().map(Permission::as_str).collect::<Vec<_>>().join(" ")
}

impl TryFrom<RoleRow> for OwnRole {
    type Error = StoreError;

    fn try_from(row: RoleRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("roles.id", error))?,
            name: row.name,
            description: row.description,
            permissions: permissions(&row.permissions),
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        })
    }
}

impl Tx {
    async fn is_role_name_free(&mut self, role: &OwnRole) -> StoreResult<bool> {
        let query = roles::table
            .filter(roles::tenant_id.eq(self.tenant.as_str()))
            .filter(roles::name_key.eq(role.name_key()))
            .select(roles::id);
        let found: Option<String> = read!(self, c => query.first(c).await.optional())?;
        Ok(found.is_none_or(|id| id == role.id.as_str()))
    }
}

#[async_trait]
impl RoleStore for Tx {
    async fn roles(&mut self) -> StoreResult<Vec<OwnRole>> {
        let query = roles::table.filter(roles::tenant_id.eq(self.tenant.as_str())).order(roles::id);
        let rows: Vec<RoleRow> = read!(self, c => query.select(RoleRow::as_select()).load(c).await)?;
        rows.into_iter().map(OwnRole::try_from).collect()
    }

    async fn role(&mut self, id: &RoleId) -> StoreResult<Option<OwnRole>> {
        let query = roles::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<RoleRow> = lock!(self, for_update, first, query.select(RoleRow::as_select()))?;
        row.map(OwnRole::try_from).transpose()
    }

    async fn insert_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        let row = RoleRow {
            tenant_id: self.tenant.to_string(),
            id: role.id.to_string(),
            name: role.name.clone(),
            name_key: role.name_key(),
            description: role.description.clone(),
            permissions: names(role),
            created_at: role.created_at.naive(),
            updated_at: role.updated_at.naive(),
        };
        let query = diesel::insert_into(roles::table).values(row).on_conflict_do_nothing();
        Ok(change!(self, c => query.execute(c).await)? == 1)
    }

    async fn update_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        self.note_own_roles();
        if !self.is_role_name_free(role).await? {
            return Ok(false);
        }
        let row = roles::table.find((self.tenant.as_str(), role.id.as_str()));
        let changes = RoleChanges {
            name: &role.name,
            name_key: role.name_key(),
            description: role.description.clone(),
            permissions: names(role),
            updated_at: role.updated_at.naive(),
        };
        let updated = change!(self, c => Prepared(diesel::update(row).set(changes)).execute(c).await)?;
        if updated == 1 { Ok(true) } else { Err(StoreError::Aborted("the tenant has no role with this ID")) }
    }

    async fn delete_role(&mut self, id: &RoleId) -> StoreResult<()> {
        let row = roles::table.find((self.tenant.as_str(), id.as_str()));
        change!(self, c => diesel::delete(row).execute(c).await)?;
        Ok(())
    }

    async fn revoke_grants_of_role(&mut self, id: &RoleId, at: Timestamp) -> StoreResult<()> {
        self.revoke_grants_of_holders(&Role::Own(id.clone()), at).await
    }

    async fn is_role_used(&mut self, id: &RoleId) -> StoreResult<bool> {
        let (tenant, role) = (self.tenant.as_str().to_owned(), id.as_str());
        let of_users = user_roles::table
            .filter(user_roles::tenant_id.eq(&tenant))
            .filter(user_roles::other_role.eq(role))
            .filter(user_roles::deleted_at.is_null())
            .select(user_roles::id);
        let of_rules = role_rules::table
            .filter(role_rules::tenant_id.eq(&tenant))
            .filter(role_rules::role.eq(role))
            .select(role_rules::id);
        let of_connections = connection_accounts::table
            .filter(connection_accounts::tenant_id.eq(&tenant))
            .filter(connection_accounts::new_user_role.eq(role))
            .select(connection_accounts::provider_id);
        let user: Option<String> = read!(self, c => of_users.first(c).await.optional())?;
        let rule: Option<String> = read!(self, c => of_rules.first(c).await.optional())?;
        let connection: Option<String> = read!(self, c => of_connections.first(c).await.optional())?;
        Ok(user.or(rule).or(connection).is_some())
    }
}
