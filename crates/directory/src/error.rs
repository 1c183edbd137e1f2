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
    /// The name of a role is empty, too long, or that of a built-in role.
    #[error("name: write 1 to 64 printable characters that are not the name of a built-in role")]
    RoleName,
    /// The description of a role is too long or contains control characters.
    #[error("description: write at most 200 printable characters, or null")]
    RoleDescription,
    /// A role has no permissions.
    #[error("permissions: write at least one")]
    RoleWithoutPermissions,
    /// Another role in the tenant has this name.
    #[error("name: another role is named {0}")]
    RoleNameTaken(String),
    /// The tenant has as many roles as it may have.
    #[error("A tenant has at most 50 roles of its own. Delete one first.")]
    TooManyRoles,
    /// The role that is to be assigned does not exist.
    #[error("role: this tenant has no such role")]
    NoSuchRole,
    /// A person, a rule or a connection has the role that is to be deleted.
    #[error("Users, rules or connections have this role. Give them another one first.")]
    RoleUsed,
    /// The name of a group in a rule is empty, too long, or has spaces at an end.
    #[error("value: write 1 to 256 printable characters, no space at either end")]
    ClaimedGroup,
    /// A rule gives the role that everybody has.
    #[error("role: everybody has the role MEMBER; write another one")]
    RuleForMember,
    /// The name of the claim with groups is empty, too long, or has spaces at an end.
    #[error("groupsClaim: write 1 to 256 printable characters, no space at either end, or null")]
    GroupsClaim,
    /// A domain whose users are to be created is not one of the connection.
    #[error("createUsers.emailDomains: {0} is not a domain of this connection")]
    CreationDomain(String),
    /// The group or the connection of a rule does not exist.
    #[error("this tenant has no such group or connection")]
    NoSuchSource,
    /// There is a rule for the same group and role.
    #[error("There is already a rule that gives this role to this group.")]
    RuleExists,
    /// The tenant has as many rules as it may have.
    #[error("A tenant has at most 200 rules. Delete one first.")]
    TooManyRules,
    /// The act gives permissions that the acting person lacks, or is on a person with such permissions.
    #[error("This concerns permissions that you do not have. An administrator may do it.")]
    MorePermissions,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
