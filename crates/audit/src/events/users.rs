//! People come, change, are shut out and let in again.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_ANOTHER_USER, USER, event};

/// A person was added to the tenant's directory.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserCreated {
    /// Whether the person may sign in.
    pub active: bool,
    /// `ADMIN` or `MEMBER`.
    pub role: &'static str,
    /// Names of the attributes that were given.
    pub fields: Vec<String>,
}

event! {
    UserCreated = "ACCOUNT_USER_CREATED", about USER;
    "A person was added to the tenant's directory.";
    Self { active: true, role: "MEMBER", fields: vec!["userName".into(), "name".into(), "emails".into()] }
}

/// Attributes of a person changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserUpdated {
    /// Names of the attributes that changed.
    pub changed: Vec<String>,
}

event! {
    UserUpdated = "ACCOUNT_USER_UPDATED", about USER;
    "Attributes of a person changed.";
    Self { changed: vec!["title".into(), "emails".into()] }
}

/// A person was deactivated and can no longer sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserDeactivated {}

event! {
    UserDeactivated = "ACCOUNT_USER_DEACTIVATED", about USER;
    "A person was deactivated and can no longer sign in.";
    Self {}
}

/// A deactivated person may sign in again.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserReactivated {}

event! {
    UserReactivated = "ACCOUNT_USER_REACTIVATED", about USER;
    "A deactivated person may sign in again.";
    Self {}
}

/// A person was removed from the tenant's directory and can no longer sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserDeleted {}

event! {
    UserDeleted = "ACCOUNT_USER_DELETED", about USER;
    "A person was removed from the tenant's directory and can no longer sign in.";
    Self {}
}

/// A person was invited to the tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInvited {
    /// `ADMIN` or `MEMBER`.
    pub role: &'static str,
    /// Whether the link was sent by mail; otherwise whoever asked was told it.
    pub sent: bool,
}

event! {
    UserInvited = "ACCOUNT_USER_INVITED", about USER, by BY_ANOTHER_USER;
    "A person was invited to the tenant.";
    Self { role: "MEMBER", sent: true }
}

/// What a person may do in the tenant changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserRoleChanged {
    /// `ADMIN` or `MEMBER`.
    pub from: &'static str,
    /// `ADMIN` or `MEMBER`.
    pub to: &'static str,
}

event! {
    UserRoleChanged = "ACCOUNT_USER_ROLE_CHANGED", about USER, by BY_ANOTHER_USER;
    "What a person may do in the tenant changed.";
    Self { from: "MEMBER", to: "ADMIN" }
}
