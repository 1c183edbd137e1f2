//! The directory: tenants, and the people in them with their roles.
//!
//! A tenant is found by its slug; everything else in the product belongs to exactly one tenant.
//! People arrive by SCIM (the crate `scim-core` has those rules), by invitation, or by the operator's command
//! line, whose rules are here: then the user name is the e-mail address.

mod error;
mod link;
mod memory;
mod people;
mod store;
mod tenant;

pub use error::Error;
pub use link::{Link, LinkKind, redeem_link};
pub use memory::MemoryPeople;
pub use people::{
    AccountChanges, NewPerson, Person, PhoneNumber, ProfileChanges, Role, change_person, change_profile,
    create_person, delete_person, find_person,
};
pub use store::{LinkStore, PeopleStore, TenantStore};
pub use tenant::{NewTenant, Tenant, Tier, create_tenant};
