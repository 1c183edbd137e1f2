//! The directory: tenants, and their people with roles.
//!
//! A tenant is found by its slug. Everything else in the product belongs to exactly one tenant. People are created by
//! SCIM (with rules in the crate `scim-core`), by invitation, or on the command line. The rules for the latter two
//! are here: the user name is the email address.

mod error;
mod link;
mod memory;
mod message;
mod people;
mod store;
mod tenant;

pub use error::Error;
pub use link::{Link, LinkKind, redeem_link};
pub use memory::MemoryPeople;
pub use message::Message;
pub use people::{
    AccountChanges, NewPerson, PeopleQuery, Person, PhoneNumber, ProfileChanges, Role, Source, change_person,
    change_profile, create_person, delete_person, find_person,
};
pub use store::{LinkStore, PeopleStore, TenantStore};
pub use tenant::{NewTenant, Tenant, Tier, create_tenant, rename_tenant};
