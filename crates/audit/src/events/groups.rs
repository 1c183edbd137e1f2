//! Groups come, change and go.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::event;

const RESOURCE_TYPE: &str = "group";
const EXAMPLE_ID: &str = "grp_01jz2222222222222222222222";
const EXAMPLE_MEMBER: &str = "usr_01jz2222222222222222222222";

/// A group was added to the tenant's directory.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupCreated {
    /// How many people were in it from the beginning; who they are is in events of their own.
    pub members: usize,
}

event! {
    GroupCreated = "ACCOUNT_GROUP_CREATED", about (RESOURCE_TYPE, EXAMPLE_ID);
    "A group was added to the tenant's directory.";
    Self { members: 0 }
}

/// Attributes of a group changed, or people joined or left it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupUpdated {
    /// Names of the attributes that changed.
    pub changed: Vec<String>,
    /// Ids of people who joined, 500 at most: of more there are several events.
    pub joined: Vec<String>,
    /// Ids of people who left, 500 at most.
    pub left: Vec<String>,
}

event! {
    GroupUpdated = "ACCOUNT_GROUP_UPDATED", about (RESOURCE_TYPE, EXAMPLE_ID);
    "Attributes of a group changed, or people joined or left it.";
    Self { changed: vec!["members".into()], joined: vec![EXAMPLE_MEMBER.into()], left: Vec::new() }
}

/// A group was removed; the people who were in it stay.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupDeleted {}

event! {
    GroupDeleted = "ACCOUNT_GROUP_DELETED", about (RESOURCE_TYPE, EXAMPLE_ID);
    "A group was removed; the people who were in it stay.";
    Self {}
}
