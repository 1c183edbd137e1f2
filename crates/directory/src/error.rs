//! Why a tenant or a user was not made or changed.

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
    /// A text of a person is empty, too long or has control characters.
    #[error("{0}: write 1 to 200 printable characters, or null")]
    Text(&'static str),
    /// Telephone numbers are too many, empty or too long.
    #[error("phoneNumbers: write at most 10, each with a value of 1 to 64 characters")]
    Phones,
    /// No person of this id.
    #[error("no such person")]
    NotFound,
    /// The tenant would be left without anybody who may change it.
    #[error("this is the last active administrator: make somebody else one first")]
    LastAdmin,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
