//! Roles: sets of permissions that people have. Some are built in; a tenant defines others of its own.

use std::{fmt, str::FromStr};

use kernel::{Id, Kind};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::permission::{Permission, Permissions};

/// The kind of [`RoleId`].
#[derive(Debug, Clone, Copy)]
pub enum RoleKind {}
impl Kind for RoleKind {
    const PREFIX: &'static str = "role";
}
/// `role_…`
pub type RoleId = Id<RoleKind>;

/// A role in the tenant. SCIM's own attribute `roles` never changes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Everything.
    Admin,
    /// Policies and connections.
    Security,
    /// Users with fewer permissions: resets, sessions and tokens.
    Support,
    /// The audit log.
    Auditor,
    /// Webhooks.
    Developer,
    /// A user without administrative permissions.
    Member,
    /// A role that the tenant has defined.
    Own(RoleId),
}

impl Role {
    /// The roles that every tenant has, from the most to the least powerful.
    pub const BUILT_IN: [Self; 6] =
        [Self::Admin, Self::Security, Self::Support, Self::Auditor, Self::Developer, Self::Member];

    /// Returns the name in the database, the API and on the command line: for a role of the tenant's own, its ID.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Admin => "ADMIN",
            Self::Security => "SECURITY",
            Self::Support => "SUPPORT",
            Self::Auditor => "AUDITOR",
            Self::Developer => "DEVELOPER",
            Self::Member => "MEMBER",
            Self::Own(id) => id.as_str(),
        }
    }

    /// Returns the permissions of a built-in role. Those of the tenant's own roles are in storage.
    pub fn built_in_permissions(&self) -> Option<Permissions> {
        Some(match self {
            Self::Admin => Permissions::ALL,
            Self::Security => Permissions::of(&[Permission::ManagePolicies, Permission::ManageConnections]),
            Self::Support => Permissions::of(&[Permission::SupportUsers]),
            Self::Auditor => Permissions::of(&[Permission::ReadAudit]),
            Self::Developer => Permissions::of(&[Permission::ManageWebhooks]),
            Self::Member => Permissions::NONE,
            Self::Own(_) => return None,
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let built_in = Self::BUILT_IN.into_iter().find(|role| role.as_str().eq_ignore_ascii_case(text));
        let role = built_in.or_else(|| text.parse().ok().map(Self::Own));
        role.ok_or_else(|| {
            let names = Self::BUILT_IN.map(|role| role.to_string()).join(", ");
            format!("write {names} or the ID of a role, not {text}")
        })
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// The roles of a person, and the permissions that they add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRoles {
    /// The role that administrators have assigned.
    pub assigned: Role,
    /// The roles that rules give for groups and claims, without duplicates, in the order of [`Role`].
    pub given: Vec<Role>,
    /// The permissions of all these roles.
    pub permissions: Permissions,
}

impl HeldRoles {
    /// Returns the roles of a person with these; `own` are the permissions of those that the tenant has defined.
    pub fn new(assigned: Role, mut given: Vec<Role>, own: Permissions) -> Self {
        given.sort();
        given.dedup();
        given.retain(|role| *role != assigned);
        let built_in = given.iter().chain([&assigned]).filter_map(Role::built_in_permissions);
        let permissions = built_in.fold(own, Permissions::union);
        Self { assigned, given, permissions }
    }

    /// Returns whether the person is an administrator of the tenant.
    pub fn is_admin(&self) -> bool {
        self.iter().any(|role| *role == Role::Admin)
    }

    /// Returns the roles, the assigned one first.
    pub fn iter(&self) -> impl Iterator<Item = &Role> {
        [&self.assigned].into_iter().chain(&self.given)
    }

    /// Returns a text that differs if the roles or their permissions differ.
    pub fn mark(&self) -> String {
        let built_in =
            self.iter().filter_map(Role::built_in_permissions).fold(Permissions::NONE, Permissions::union);
        let roles = self.iter().map(Role::as_str).collect::<Vec<_>>().join(",");
        if built_in == self.permissions { roles } else { format!("{roles}={:x}", self.permissions.bits()) }
    }

    /// Returns whether a person with these roles may act on another with those: nobody acts on people with permissions
    /// that they lack, because most acts on an account make it possible to sign in to it.
    pub fn may_act_on(&self, other: &Self) -> bool {
        self.permissions.covers(other.permissions) && (self.is_admin() || !other.is_admin())
    }
}

#[cfg(test)]
mod tests {
    use kernel::SystemEnv;

    use super::*;

    #[test]
    fn names_are_read_again() {
        for role in Role::BUILT_IN.into_iter().chain([Role::Own(RoleId::new(&SystemEnv::default()))]) {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert_eq!("admin".parse(), Ok(Role::Admin));
        "ROOT".parse::<Role>().unwrap_err();
    }

    #[test]
    fn roles_add_up() {
        let own = Role::Own(RoleId::new(&SystemEnv::default()));
        let given = vec![Role::Auditor, own.clone(), Role::Support, Role::Auditor];
        let held = HeldRoles::new(Role::Support, given, Permissions::of(&[Permission::ManageWebhooks]));
        assert_eq!(held.given, [Role::Auditor, own]);
        let expected = [Permission::SupportUsers, Permission::ReadAudit, Permission::ManageWebhooks];
        assert_eq!(held.permissions, Permissions::of(&expected));
        assert!(!held.is_admin());
        assert!(HeldRoles::new(Role::Member, vec![Role::Admin], Permissions::NONE).is_admin());
    }

    #[test]
    fn nobody_acts_on_people_with_more_permissions() {
        let held = |role| HeldRoles::new(role, Vec::new(), Permissions::NONE);
        let may = |one: Role, other: Role| held(one).may_act_on(&held(other));
        for role in Role::BUILT_IN {
            assert!(may(Role::Admin, role.clone()) && may(role.clone(), Role::Member));
            assert_eq!(
                may(Role::Support, role.clone()),
                matches!(role, Role::Support | Role::Member),
                "{role}"
            );
        }
        // All permissions together still do not make an administrator.
        let all = HeldRoles::new(Role::Member, Vec::new(), Permissions::ALL);
        assert!(!all.may_act_on(&held(Role::Admin)) && held(Role::Admin).may_act_on(&all));
    }
}
