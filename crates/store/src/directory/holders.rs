//! The users who have a permission.

use std::collections::BTreeSet;

use diesel::{dsl, prelude::*, sql_types::Bool};
use diesel_async::RunQueryDsl;
use directory::{Permission, Person, Role, RoleStore};
use kernel::{StoreResult, UserId};

use crate::{
    Tx,
    db::read,
    error::corrupt,
    schema::{claimed_groups, group_members, role_rules, user_roles, users},
};

impl Tx {
    /// Returns active users whose roles have a permission, at most `count`, administrators first.
    pub async fn users_with_permission(
        &mut self,
        permission: Permission,
        count: u32,
    ) -> StoreResult<Vec<Person>> {
        let built_in = Role::BUILT_IN.into_iter().filter(|role| {
            role.built_in_permissions().is_some_and(|permissions| permissions.contains(permission))
        });
        let mut roles: Vec<String> = built_in.map(|role| role.to_string()).collect();
        let own = self.roles().await?.into_iter().filter(|role| role.permissions.contains(permission));
        roles.extend(own.map(|role| role.id.to_string()));

        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for ids in [self.administrator_ids(count).await?, self.ids_with_roles(&roles, count).await?] {
            let ids = ids.iter().map(|id| id.parse().map_err(|error| corrupt("users.id", error)));
            let ids: Vec<UserId> = ids.collect::<StoreResult<_>>()?;
            found.extend(self.people_of(&ids).await?.into_iter().filter(|person| person.active));
        }
        let mut seen = BTreeSet::new();
        found.retain(|person| seen.insert(person.id.clone()));
        found.truncate(count);
        Ok(found)
    }

    async fn administrator_ids(&mut self, count: usize) -> StoreResult<BTreeSet<String>> {
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            // A literal instead of a parameter, so that the planner can use the partial index on administrators.
            .filter(dsl::sql::<Bool>("users.role = 'ADMIN'"))
            .filter(users::active.eq(true))
            .filter(users::deleted_at.is_null())
            .order(users::id)
            .select(users::id)
            .limit(count.try_into().unwrap_or(i64::MAX));
        let ids: Vec<String> = read!(self, c => query.load(c).await)?;
        Ok(ids.into_iter().collect())
    }

    /// Returns the ids of users with any of these roles, assigned or given by a rule.
    async fn ids_with_roles(&mut self, roles: &[String], count: usize) -> StoreResult<BTreeSet<String>> {
        let tenant = self.tenant.as_str().to_owned();
        // Some of them may be inactive.
        let count = i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(10);
        let assigned = user_roles::table
            .filter(user_roles::tenant_id.eq(&tenant))
            .filter(user_roles::other_role.eq_any(roles))
            .filter(user_roles::deleted_at.is_null())
            .select(user_roles::id)
            .limit(count);
        let mut ids: BTreeSet<String> =
            read!(self, c => assigned.load::<String>(c).await)?.into_iter().collect();
        let in_group = group_members::table.on(group_members::tenant_id
            .eq(role_rules::tenant_id)
            .and(group_members::group_id.nullable().eq(role_rules::group_id)));
        let members = role_rules::table
            .inner_join(in_group)
            .filter(role_rules::tenant_id.eq(&tenant))
            .filter(group_members::tenant_id.eq(&tenant))
            .filter(role_rules::role.eq_any(roles))
            .select(group_members::user_id)
            .limit(count);
        ids.extend(read!(self, c => members.load::<String>(c).await)?);
        let of_claim = claimed_groups::table.on(claimed_groups::tenant_id
            .eq(role_rules::tenant_id)
            .and(claimed_groups::provider_id.nullable().eq(role_rules::provider_id))
            .and(claimed_groups::value.nullable().eq(role_rules::value)));
        let claiming = role_rules::table
            .inner_join(of_claim)
            .filter(role_rules::tenant_id.eq(&tenant))
            .filter(claimed_groups::tenant_id.eq(&tenant))
            .filter(role_rules::role.eq_any(roles))
            .select(claimed_groups::user_id)
            .limit(count);
        ids.extend(read!(self, c => claiming.load::<String>(c).await)?);
        Ok(ids)
    }
}
