//! The directory: tenants, and the people in them with their roles.
//!
//! A tenant is found by its slug; everything else in the product belongs to exactly one tenant.
//! People arrive by SCIM (the crate `scim-core` has those rules), or by the operator's command line,
//! whose rules are here: then the user name is the e-mail address.

mod people;
mod tenant;

pub use people::{NewPerson, PeopleStore, Person, Role, create_person};
pub use tenant::{NewTenant, Tenant, TenantStore, Tier, create_tenant};

use kernel::StoreError;

/// Why a tenant or a person was not made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A slug names the tenant in addresses.
    #[error("slug: write 2 to 63 characters of a-z, 0-9 and inner hyphens")]
    Slug,
    /// The slug is another tenant's.
    #[error("slug: {0} is taken by another tenant")]
    SlugTaken(String),
    /// The name is empty, too long or has control characters.
    #[error("name: write 1 to 200 printable characters")]
    Name,
    /// Another person of the tenant has this user name or sign-in address.
    #[error("email: {0} is taken by another person of this tenant")]
    EmailTaken(String),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
