//! Groups come, change and go.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

const RESOURCE_TYPE: &str = "group";
const EXAMPLE_ID: &str = "grp_01jz2222222222222222222222";
const EXAMPLE_MEMBER: &str = "usr_01jz2222222222222222222222";

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupCreated {
    /// How many people were in it from the beginning; who they are is in events of their own.
    pub members: usize,
}

impl EventData for GroupCreated {
    const CODE: &'static str = "ACCOUNT_GROUP_CREATED";
    const DESCRIPTION: &'static str = "A group was added to the tenant's directory.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    fn example() -> Self {
        Self { members: 0 }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupUpdated {
    /// Names of the attributes that changed.
    pub changed: Vec<String>,
    /// Ids of people who joined, 500 at most: of more there are several events.
    pub joined: Vec<String>,
    /// Ids of people who left, 500 at most.
    pub left: Vec<String>,
}

impl EventData for GroupUpdated {
    const CODE: &'static str = "ACCOUNT_GROUP_UPDATED";
    const DESCRIPTION: &'static str = "Attributes of a group changed, or people joined or left it.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    fn example() -> Self {
        Self { changed: vec!["members".into()], joined: vec![EXAMPLE_MEMBER.into()], left: Vec::new() }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GroupDeleted {}

impl EventData for GroupDeleted {
    const CODE: &'static str = "ACCOUNT_GROUP_DELETED";
    const DESCRIPTION: &'static str = "A group was removed; the people who were in it stay.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    fn example() -> Self {
        Self {}
    }
}
