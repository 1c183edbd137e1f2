//! The user who holds a credential, and the policies of the tenant.

use chrono::NaiveDateTime;
use credentials::{Salt, SignInPolicy};
use diesel::prelude::*;
use directory::HeldRoles;
use kernel::{StoreResult, UserId};

use crate::{
    error::corrupt,
    json::{JsonText, read_json},
    netpolicy::mark::NetworkMark,
    schema::{tenants, users},
};

/// The attributes of a credential's user that decide what the credential permits.
#[derive(Debug, Clone)]
pub struct Holder {
    /// The user's id.
    pub user: UserId,
    /// The user's roles and permissions.
    pub roles: HeldRoles,
    /// Whether the user may sign in.
    pub active: bool,
    /// Whether the user is deleted.
    pub deleted: bool,
    /// Whether the user may sign in by password although the tenant requires single sign-on.
    pub break_glass: bool,
    /// The tenant's sign-in policy.
    pub policy: SignInPolicy,
    /// The tenant's network policy.
    pub network: NetworkMark,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct HolderRow {
    id: String,
    active: bool,
    deleted_at: Option<NaiveDateTime>,
    break_glass: bool,
}

/// The tenant's columns that are read with a credential.
pub(crate) const POLICIES: (tenants::sign_in_policy, tenants::network_policy) =
    (tenants::sign_in_policy, tenants::network_policy);

/// A tenant's sign-in and network policy.
pub(crate) type PoliciesRow = (Option<JsonText>, Option<JsonText>);
impl HolderRow {
    pub(crate) fn with(self, roles: HeldRoles, (policy, network): PoliciesRow) -> StoreResult<Holder> {
        Ok(Holder {
            user: self.id.parse().map_err(|error| corrupt("users.id", error))?,
            roles,
            active: self.active,
            deleted: self.deleted_at.is_some(),
            break_glass: self.break_glass,
            policy: policy_of(policy)?,
            network: NetworkMark::of(network)?,
        })
    }
}

/// Reads the stored policy, or the default if the tenant has not set one.
pub(crate) fn policy_of(stored: Option<JsonText>) -> StoreResult<SignInPolicy> {
    stored.map_or_else(|| Ok(SignInPolicy::default()), |text| read_json("tenants.sign_in_policy", &text))
}

/// Reads the stored salt.
pub(crate) fn salt_of(stored: &[u8]) -> StoreResult<Salt> {
    Salt::from_bytes(stored).ok_or_else(|| corrupt("password_salts.salt", "not 16 bytes"))
}
