//! The user who holds a credential, and what the tenant asks of them.

use chrono::NaiveDateTime;
use credentials::{Salt, SignInPolicy};
use diesel::prelude::*;
use directory::Role;
use kernel::{StoreResult, UserId};

use crate::{
    error::corrupt,
    json::{JsonText, read_json},
    netpolicy::mark::NetworkMark,
    schema::{tenants, users},
};

/// The person who holds a credential, as far as it decides what the credential opens.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Id of the user.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
    /// Whether they may sign in.
    pub active: bool,
    /// Whether they are no longer there at all.
    pub deleted: bool,
    /// Whether a password is accepted where the tenant requires single sign-on.
    pub break_glass: bool,
    /// What the tenant asks for.
    pub policy: SignInPolicy,
    /// From where the tenant may be reached.
    pub network: NetworkMark,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct HolderRow {
    id: String,
    role: String,
    active: bool,
    deleted_at: Option<NaiveDateTime>,
    break_glass: bool,
}

/// What is read of a tenant with a credential.
pub(crate) const POLICIES: (tenants::sign_in_policy, tenants::network_policy) =
    (tenants::sign_in_policy, tenants::network_policy);

/// A tenant's sign-in and network policy.
pub(crate) type PoliciesRow = (Option<JsonText>, Option<JsonText>);
impl HolderRow {
    pub(crate) fn with(self, (policy, network): PoliciesRow) -> StoreResult<Holder> {
        Ok(Holder {
            user: self.id.parse().map_err(|error| corrupt("users.id", error))?,
            role: self.role.parse().map_err(|error| corrupt("users.role", error))?,
            active: self.active,
            deleted: self.deleted_at.is_some(),
            break_glass: self.break_glass,
            policy: policy_of(policy)?,
            network: NetworkMark::of(network)?,
        })
    }
}

/// The policy as it is kept; a tenant that never set one has the default.
pub(crate) fn policy_of(kept: Option<JsonText>) -> StoreResult<SignInPolicy> {
    kept.map_or_else(|| Ok(SignInPolicy::default()), |text| read_json("tenants.sign_in_policy", &text))
}

/// The salt as it is kept.
pub(crate) fn salt_of(kept: &[u8]) -> StoreResult<Salt> {
    Salt::from_bytes(kept).ok_or_else(|| corrupt("password_salts.salt", "not 16 bytes"))
}
