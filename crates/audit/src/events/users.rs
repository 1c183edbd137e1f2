//! People come, change, are shut out and let in again.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

const RESOURCE_TYPE: &str = "user";
const EXAMPLE_ID: &str = "usr_01jz2222222222222222222222";

/// See [`EventData::DESCRIPTION`].
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

impl EventData for UserCreated {
    const CODE: &'static str = "ACCOUNT_USER_CREATED";
    const DESCRIPTION: &'static str = "A person was added to the tenant's directory.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    fn example() -> Self {
        Self { active: true, role: "MEMBER", fields: vec!["userName".into(), "name".into(), "emails".into()] }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserUpdated {
    /// Names of the attributes that changed.
    pub changed: Vec<String>,
}

impl EventData for UserUpdated {
    const CODE: &'static str = "ACCOUNT_USER_UPDATED";
    const DESCRIPTION: &'static str = "Attributes of a person changed.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    fn example() -> Self {
        Self { changed: vec!["title".into(), "emails".into()] }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserDeactivated {}

impl EventData for UserDeactivated {
    const CODE: &'static str = "ACCOUNT_USER_DEACTIVATED";
    const DESCRIPTION: &'static str = "A person was deactivated and can no longer sign in.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    fn example() -> Self {
        Self {}
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserReactivated {}

impl EventData for UserReactivated {
    const CODE: &'static str = "ACCOUNT_USER_REACTIVATED";
    const DESCRIPTION: &'static str = "A deactivated person may sign in again.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    fn example() -> Self {
        Self {}
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserDeleted {}

impl EventData for UserDeleted {
    const CODE: &'static str = "ACCOUNT_USER_DELETED";
    const DESCRIPTION: &'static str =
        "A person was removed from the tenant's directory and can no longer sign in.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    fn example() -> Self {
        Self {}
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInvited {
    /// `ADMIN` or `MEMBER`.
    pub role: &'static str,
    /// Whether the link was sent by mail; otherwise whoever asked was told it.
    pub sent: bool,
}

impl EventData for UserInvited {
    const CODE: &'static str = "ACCOUNT_USER_INVITED";
    const DESCRIPTION: &'static str = "A person was invited to the tenant.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz3333333333333333333333", "USER");

    fn example() -> Self {
        Self { role: "MEMBER", sent: true }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserRoleChanged {
    /// `ADMIN` or `MEMBER`.
    pub from: &'static str,
    /// `ADMIN` or `MEMBER`.
    pub to: &'static str,
}

impl EventData for UserRoleChanged {
    const CODE: &'static str = "ACCOUNT_USER_ROLE_CHANGED";
    const DESCRIPTION: &'static str = "What a person may do in the tenant changed.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz3333333333333333333333", "USER");

    fn example() -> Self {
        Self { from: "MEMBER", to: "ADMIN" }
    }
}
