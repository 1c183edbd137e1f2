//! The roles that a tenant defines.

use async_trait::async_trait;
use kernel::{Ctx, StoreResult, Timestamp};

use crate::{
    error::Error,
    permission::Permissions,
    role::{HeldRoles, Role, RoleId},
};

/// Maximum number of roles that a tenant defines.
pub const MAX_ROLES: usize = 50;
/// Maximum number of characters of a name.
const NAME_MAX: usize = 64;
/// Maximum number of characters of a description.
const DESCRIPTION_MAX: usize = 200;

/// A role that the tenant has defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRole {
    /// `role_…`
    pub id: RoleId,
    /// The name, unique in the tenant without regard to case.
    pub name: String,
    /// What the role is for.
    pub description: Option<String>,
    /// What people with the role may do.
    pub permissions: Permissions,
    /// Creation time.
    pub created_at: Timestamp,
    /// When the role last changed.
    pub updated_at: Timestamp,
}

impl OwnRole {
    /// Returns the text by which names are compared.
    pub fn name_key(&self) -> String {
        self.name.to_lowercase()
    }
}

/// The choices for a role.
#[derive(Debug, Clone)]
pub struct RoleFields {
    /// 1 to 64 printable characters, and not the name of a built-in role.
    pub name: String,
    /// At most 200 printable characters.
    pub description: Option<String>,
    /// At least one permission.
    pub permissions: Permissions,
}

impl RoleFields {
    fn checked(self) -> Result<Self, Error> {
        let name = printable(&self.name, NAME_MAX).filter(|name| {
            // The names of built-in roles, and whatever looks like an ID, would be mistaken for another role.
            name.parse::<Role>().is_err()
        });
        let name = name.ok_or(Error::RoleName)?;
        let text = self.description.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let description = text.map(|text| printable(text, DESCRIPTION_MAX).ok_or(Error::RoleDescription));
        if self.permissions.is_empty() {
            return Err(Error::RoleWithoutPermissions);
        }
        Ok(Self { name, description: description.transpose()?, permissions: self.permissions })
    }
}

fn printable(text: &str, longest: usize) -> Option<String> {
    let text = text.trim();
    let fits = (1..=longest).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// Stores one tenant's own roles.
#[async_trait]
pub trait RoleStore: Send {
    /// Returns the roles, ordered by id.
    async fn roles(&mut self) -> StoreResult<Vec<OwnRole>>;
    /// Returns the role with this id. Locks the row in a unit of work that writes.
    async fn role(&mut self, id: &RoleId) -> StoreResult<Option<OwnRole>>;
    /// Inserts a role. Returns `false` if the name is taken.
    async fn insert_role(&mut self, role: &OwnRole) -> StoreResult<bool>;
    /// Updates a role. Returns `false` if another role has the name.
    async fn update_role(&mut self, role: &OwnRole) -> StoreResult<bool>;
    /// Deletes a role.
    async fn delete_role(&mut self, id: &RoleId) -> StoreResult<()>;
    /// Returns whether a person, a rule or a connection has this role.
    async fn is_role_used(&mut self, id: &RoleId) -> StoreResult<bool>;
    /// Revokes the unused step-up tokens of the people with this role, which were issued for its previous permissions.
    async fn revoke_grants_of_role(&mut self, id: &RoleId, at: Timestamp) -> StoreResult<()>;
}

/// Refuses to hand out permissions that the acting person lacks.
pub fn require_covered(by: &HeldRoles, permissions: Permissions) -> Result<(), Error> {
    if by.permissions.covers(permissions) { Ok(()) } else { Err(Error::MorePermissions) }
}

/// Returns the permissions of a role. Refuses a role that the tenant does not have.
pub async fn permissions_of(store: &mut dyn RoleStore, role: &Role) -> Result<Permissions, Error> {
    match role {
        Role::Own(id) => Ok(store.role(id).await?.ok_or(Error::NoSuchRole)?.permissions),
        built_in => Ok(built_in.built_in_permissions().unwrap_or_default()),
    }
}

/// Refuses to assign a role that the acting person may not hand out: one with permissions that the person lacks, and
/// ADMIN unless the person is an administrator.
pub async fn require_assignable(store: &mut dyn RoleStore, by: &HeldRoles, role: &Role) -> Result<(), Error> {
    let permissions = permissions_of(store, role).await?;
    if *role == Role::Admin && !by.is_admin() {
        return Err(Error::MorePermissions);
    }
    require_covered(by, permissions)
}

/// Creates a role.
pub async fn create_role(
    ctx: &Ctx,
    store: &mut dyn RoleStore,
    by: &HeldRoles,
    fields: RoleFields,
) -> Result<OwnRole, Error> {
    let RoleFields { name, description, permissions } = fields.checked()?;
    require_covered(by, permissions)?;
    if store.roles().await?.len() >= MAX_ROLES {
        return Err(Error::TooManyRoles);
    }
    let id = RoleId::new(&*ctx.env);
    let role = OwnRole { id, name, description, permissions, created_at: ctx.now, updated_at: ctx.now };
    if store.insert_role(&role).await? { Ok(role) } else { Err(Error::RoleNameTaken(role.name)) }
}

/// Replaces the fields of a role, and returns it as it was before and as it is now. People with the role have its new
/// permissions from their next request on.
pub async fn change_role(
    ctx: &Ctx,
    store: &mut dyn RoleStore,
    by: &HeldRoles,
    id: &RoleId,
    fields: RoleFields,
) -> Result<(OwnRole, OwnRole), Error> {
    let RoleFields { name, description, permissions } = fields.checked()?;
    let before = store.role(id).await?.ok_or(Error::NotFound)?;
    require_covered(by, before.permissions.union(permissions))?;
    let mut after = OwnRole { name, description, permissions, ..before.clone() };
    if after == before {
        return Ok((before, after));
    }
    after.updated_at = ctx.now;
    if !store.update_role(&after).await? {
        return Err(Error::RoleNameTaken(after.name));
    }
    if before.permissions != after.permissions {
        store.revoke_grants_of_role(id, ctx.now).await?;
    }
    Ok((before, after))
}

/// Deletes a role that nothing uses, and returns it.
pub async fn delete_role(store: &mut dyn RoleStore, by: &HeldRoles, id: &RoleId) -> Result<OwnRole, Error> {
    let role = store.role(id).await?.ok_or(Error::NotFound)?;
    require_covered(by, role.permissions)?;
    if store.is_role_used(id).await? {
        return Err(Error::RoleUsed);
    }
    store.delete_role(id).await?;
    Ok(role)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kernel::{Actor, ManualEnv, TenantId};

    use super::*;
    use crate::{MemoryPeople, NewPerson, people::create_person, permission::Permission};

    fn fields(name: &str, permissions: &[Permission]) -> RoleFields {
        RoleFields { name: name.into(), description: None, permissions: Permissions::of(permissions) }
    }

    fn held(role: Role) -> HeldRoles {
        HeldRoles::new(role, Vec::new(), Permissions::NONE)
    }

    fn world() -> (Ctx, MemoryPeople) {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        (Ctx::new(env, tenant, Actor::system("test")), MemoryPeople::default())
    }

    #[tokio::test]
    async fn roles_are_created_changed_and_deleted() {
        let (ctx, mut store) = world();
        let admin = held(Role::Admin);
        let made =
            create_role(&ctx, &mut store, &admin, fields(" Help desk ", &[Permission::ReadUsers])).await;
        let role = made.unwrap();
        assert_eq!(role.name, "Help desk");
        let again =
            create_role(&ctx, &mut store, &admin, fields("HELP DESK", &[Permission::ReadAudit])).await;
        assert!(matches!(again, Err(Error::RoleNameTaken(_))));
        for name in ["", "Admin", role.id.as_str(), "a\nb", &"x".repeat(65)] {
            let refused = create_role(&ctx, &mut store, &admin, fields(name, &[Permission::ReadUsers])).await;
            assert!(matches!(refused, Err(Error::RoleName)), "{name}");
        }
        let empty = create_role(&ctx, &mut store, &admin, fields("Nothing", &[])).await;
        assert!(matches!(empty, Err(Error::RoleWithoutPermissions)));
        let wider = fields("Help desk", &[Permission::SupportUsers]);
        let (_, after) = change_role(&ctx, &mut store, &admin, &role.id, wider).await.unwrap();
        assert!(after.permissions.contains(Permission::ReadUsers));

        let own = Role::Own(role.id.clone());
        let email = "ada@example.com".parse().unwrap();
        let new = NewPerson { email, role: own, display_name: None };
        create_person(&ctx, &mut store, new).await.unwrap();
        assert!(matches!(delete_role(&mut store, &admin, &role.id).await, Err(Error::RoleUsed)));
    }

    #[tokio::test]
    async fn nobody_hands_out_permissions_that_they_lack() {
        let (ctx, mut store) = world();
        let security = held(Role::Security);
        let refused = create_role(&ctx, &mut store, &security, fields("Log", &[Permission::ReadAudit])).await;
        assert!(matches!(refused, Err(Error::MorePermissions)));
        let made =
            create_role(&ctx, &mut store, &security, fields("Rules", &[Permission::ManagePolicies])).await;
        let role = made.unwrap();
        let wider = fields("Rules", &[Permission::ManagePolicies, Permission::ReadAudit]);
        let refused = change_role(&ctx, &mut store, &security, &role.id, wider).await;
        assert!(matches!(refused, Err(Error::MorePermissions)));
        assert!(matches!(
            delete_role(&mut store, &held(Role::Support), &role.id).await,
            Err(Error::MorePermissions)
        ));
        for (by, role, may) in [
            (Role::Admin, Role::Admin, true),
            (Role::Security, Role::Own(role.id.clone()), true),
            (Role::Support, Role::Own(role.id.clone()), false),
            (Role::Support, Role::Member, true),
            (Role::Support, Role::Admin, false),
        ] {
            let assigned = require_assignable(&mut store, &held(by.clone()), &role).await;
            assert_eq!(assigned.is_ok(), may, "{by} {role}");
        }
        let all = HeldRoles::new(Role::Member, Vec::new(), Permissions::ALL);
        let refused = require_assignable(&mut store, &all, &Role::Admin).await;
        assert!(matches!(refused, Err(Error::MorePermissions)));
        let unknown = Role::Own(RoleId::new(&*ctx.env));
        let refused = require_assignable(&mut store, &held(Role::Admin), &unknown).await;
        assert!(matches!(refused, Err(Error::NoSuchRole)));
    }
}
