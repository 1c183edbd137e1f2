//! Users.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_ANOTHER_USER, USER, event};

/// A user was created.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserCreated {
    /// Whether the user may sign in.
    pub active: bool,
    /// `ADMIN` or `MEMBER`.
    pub role: &'static str,
    /// Names of the attributes that were set.
    pub fields: Vec<String>,
}

event! {
    UserCreated = "ACCOUNT_USER_CREATED", about USER;
    "A user was created.";
    Self { active: true, role: "MEMBER", fields: vec!["userName".into(), "name".into(), "emails".into()] }
}

/// Attributes of a user changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserUpdated {
    /// Names of the attributes that changed.
    pub changed: Vec<String>,
}

event! {
    UserUpdated = "ACCOUNT_USER_UPDATED", about USER;
    "Attributes of a user changed.";
    Self { changed: vec!["title".into(), "emails".into()] }
}

/// A user was deactivated and can no longer sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserDeactivated {}

event! {
    UserDeactivated = "ACCOUNT_USER_DEACTIVATED", about USER;
    "A user was deactivated and can no longer sign in.";
    Self {}
}

/// A user was reactivated and can sign in again.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserReactivated {}

event! {
    UserReactivated = "ACCOUNT_USER_REACTIVATED", about USER;
    "A user was reactivated and can sign in again.";
    Self {}
}

/// A user was deleted and can no longer sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserDeleted {}

event! {
    UserDeleted = "ACCOUNT_USER_DELETED", about USER;
    "A user was deleted and can no longer sign in.";
    Self {}
}

/// A user was invited.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInvited {
    /// `ADMIN` or `MEMBER`.
    pub role: &'static str,
    /// Whether the link was sent by mail. Otherwise the caller received it.
    pub sent: bool,
}

event! {
    UserInvited = "ACCOUNT_USER_INVITED", about USER, by BY_ANOTHER_USER;
    "A user was invited.";
    Self { role: "MEMBER", sent: true }
}

/// A user's role changed.
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
    "A user's role changed.";
    Self { from: "MEMBER", to: "ADMIN" }
}
