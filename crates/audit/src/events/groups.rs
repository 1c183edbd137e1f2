//! Events of groups.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::event;

const RESOURCE_TYPE: &str = "group";
const EXAMPLE_ID: &str = "grp_01jz2222222222222222222222";
const EXAMPLE_MEMBER: &str = "usr_01jz2222222222222222222222";

/// A group was created.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupCreated {
    /// Number of initial members. Further events list them.
    pub members: usize,
}

event! {
    GroupCreated = "ACCOUNT_GROUP_CREATED", about (RESOURCE_TYPE, EXAMPLE_ID);
    "A group was created.";
    Self { members: 0 }
}

/// Attributes or members of a group changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupUpdated {
    /// Names of the attributes that changed.
    pub changed: Vec<String>,
    /// IDs of added members: at most 500 per event.
    pub joined: Vec<String>,
    /// IDs of removed members: at most 500 per event.
    pub left: Vec<String>,
}

event! {
    GroupUpdated = "ACCOUNT_GROUP_UPDATED", about (RESOURCE_TYPE, EXAMPLE_ID);
    "Attributes or members of a group changed.";
    Self { changed: vec!["members".into()], joined: vec![EXAMPLE_MEMBER.into()], left: Vec::new() }
}

/// A group was deleted. Its members remain users of the tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupDeleted {}

event! {
    GroupDeleted = "ACCOUNT_GROUP_DELETED", about (RESOURCE_TYPE, EXAMPLE_ID);
    "A group was deleted. Its members remain users of the tenant.";
    Self {}
}
