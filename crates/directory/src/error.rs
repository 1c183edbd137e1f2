//! The reasons for refusing to create or change a tenant or user.

use kernel::StoreError;

/// The reason why a tenant or person was not created or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The slug is malformed. It names the tenant in URLs.
    #[error("slug: write 2 to 63 characters of a-z, 0-9 and inner hyphens")]
    Slug,
    /// Another tenant has this slug.
    #[error("slug: {0} is taken by another tenant")]
    SlugTaken(String),
    /// The name is empty, too long or contains control characters.
    #[error("name: write 1 to 200 printable characters")]
    Name,
    /// Another person in the tenant has this user name or sign-in address.
    #[error("email: {0} is taken by another user of this tenant")]
    EmailTaken(String),
    /// A text field of a person is empty, too long or contains control characters.
    #[error("{0}: write 1 to 200 printable characters, or null")]
    Text(&'static str),
    /// There are too many telephone numbers, or one is empty or too long.
    #[error("phoneNumbers: write at most 10, each with a value of 1 to 64 characters")]
    Phones,
    /// No person of this id.
    #[error("there is no such user")]
    NotFound,
    /// The tenant would have no active administrator left.
    #[error("This is the last active administrator. Make another user an administrator first.")]
    LastAdmin,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
