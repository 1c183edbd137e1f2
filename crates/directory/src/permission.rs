//! What people may do with the settings of their tenant.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A right to read or change a part of the tenant's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Permission {
    /// `manage:tenant`: the name of the tenant.
    ManageTenant = 1,
    /// `manage:roles`: roles, who has them, and the rules that give them.
    ManageRoles = 1 << 1,
    /// `manage:users`: invite, change and delete users. Includes `support:users`.
    ManageUsers = 1 << 2,
    /// `support:users`: reset passwords and factors, and end sessions and tokens. Includes `read:users`.
    SupportUsers = 1 << 3,
    /// `read:users`: users with their sessions and tokens.
    ReadUsers = 1 << 4,
    /// `manage:policies`: sign-in, network and authenticator policies.
    ManagePolicies = 1 << 5,
    /// `manage:connections`: SSO connections, domains, and SCIM tokens.
    ManageConnections = 1 << 6,
    /// `read:audit`: the audit log, its proofs and exports.
    ReadAudit = 1 << 7,
    /// `manage:webhooks`: webhook subscriptions and deliveries.
    ManageWebhooks = 1 << 8,
}

impl Permission {
    /// All permissions, in the order in which they are listed.
    pub const ALL: [Self; 9] = [
        Self::ManageTenant,
        Self::ManageRoles,
        Self::ManageUsers,
        Self::SupportUsers,
        Self::ReadUsers,
        Self::ManagePolicies,
        Self::ManageConnections,
        Self::ReadAudit,
        Self::ManageWebhooks,
    ];

    /// Returns the name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ManageTenant => "manage:tenant",
            Self::ManageRoles => "manage:roles",
            Self::ManageUsers => "manage:users",
            Self::SupportUsers => "support:users",
            Self::ReadUsers => "read:users",
            Self::ManagePolicies => "manage:policies",
            Self::ManageConnections => "manage:connections",
            Self::ReadAudit => "read:audit",
            Self::ManageWebhooks => "manage:webhooks",
        }
    }

    /// Returns the set of this permission and those that it includes.
    const fn closure(self) -> u16 {
        match self {
            Self::ManageUsers => self as u16 | Self::SupportUsers.closure(),
            Self::SupportUsers => self as u16 | Self::ReadUsers as u16,
            _ => self as u16,
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Permission {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|permission| permission.as_str() == text);
        known.ok_or_else(|| format!("no permission is named {text}"))
    }
}

impl Serialize for Permission {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Permission {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// A set of permissions. It has every permission that one of its members includes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Permissions(u16);

impl Permissions {
    /// No permission.
    pub const NONE: Self = Self(0);
    /// Every permission.
    pub const ALL: Self = Self::of(&Permission::ALL);

    /// Returns the set of these permissions and those that they include.
    pub const fn of(permissions: &[Permission]) -> Self {
        let (mut bits, mut rest) = (0, permissions);
        while let [first, others @ ..] = rest {
            bits |= first.closure();
            rest = others;
        }
        Self(bits)
    }

    /// Returns whether the set has this permission.
    pub const fn contains(self, permission: Permission) -> bool {
        self.0 & permission as u16 != 0
    }

    /// Returns whether the set has all permissions of another.
    pub const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the set as a number, one bit for each permission.
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the permissions of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the permissions in the order of [`Permission::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |permission| self.contains(*permission))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        permissions.into_iter().fold(Self::NONE, |set, one| set.union(Self::of(&[one])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_include_others() {
        let managing = Permissions::of(&[Permission::ManageUsers]);
        assert!(managing.contains(Permission::SupportUsers) && managing.contains(Permission::ReadUsers));
        assert!(!managing.contains(Permission::ManageRoles));
        let reading: Permissions = [Permission::ReadUsers].into_iter().collect();
        assert!(managing.covers(reading) && !reading.covers(managing));
        assert_eq!(Permissions::ALL.iter().count(), Permission::ALL.len());
        assert!(Permissions::NONE.is_empty() && reading.covers(Permissions::NONE));
    }

    #[test]
    fn names_are_read_again() {
        for permission in Permission::ALL {
            assert_eq!(permission.as_str().parse(), Ok(permission));
        }
        "manage:everything".parse::<Permission>().unwrap_err();
    }
}
