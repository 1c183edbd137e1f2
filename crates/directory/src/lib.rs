//! The directory: tenants, and their people with roles.
//!
//! A tenant is found by its slug. Everything else in the product belongs to exactly one tenant. People are created by
//! SCIM (with rules in the crate `scim-core`), by invitation, or on the command line. The rules for the latter two
//! are here: the user name is the email address. A person's roles decide what they may do with the tenant's settings.

#[cfg(feature = "conformance")]
pub mod conformance;
mod connection_accounts;
mod error;
mod link;
mod memory;
mod message;
mod own_role;
mod people;
mod permission;
mod role;
mod role_rule;
mod store;
mod tenant;

/// The attribute for implementations of the storage traits.
pub use async_trait::async_trait;
pub use kernel::{
    Actor, ActorKind, Ctx, Email, Env, GroupId, Id, ParseEmailError, ParseIdError, ParseTimestampError,
    StoreError, StoreResult, SystemEnv, TenantId, Timestamp, TraceContext, UserId,
};

pub use connection_accounts::{
    CLAIMED_GROUPS_MAX, ConnectionAccountStore, ConnectionAccounts, GroupsChanged, UserCreation, kept_groups,
};
pub use error::Error;
pub use link::{Link, LinkKind, redeem_link};
pub use memory::MemoryPeople;
pub use message::Message;
pub use own_role::{
    MAX_ROLES, OwnRole, RoleFields, RoleStore, change_role, create_role, delete_role, permissions_of,
    require_assignable, require_covered,
};
pub use people::{
    AccountChanges, NewPerson, PeopleQuery, Person, PhoneNumber, ProfileChanges, Source, change_person,
    change_profile, create_person, delete_person, find_person, find_to_act_on,
};
pub use permission::{Permission, Permissions};
pub use role::{HeldRoles, Role, RoleId};
pub use role_rule::{
    Affected, CLAIMED_GROUP_MAX, LISTED, MAX_RULES, RoleRule, RoleRuleId, RoleRuleStore, RuleChange,
    RuleEffect, RuleSource, create_rule, delete_rule, preview_rule, replace_rule,
};
pub use store::{LinkStore, PeopleStore, TenantStore};
pub use tenant::{NewTenant, Tenant, Tier, create_tenant, rename_tenant};
