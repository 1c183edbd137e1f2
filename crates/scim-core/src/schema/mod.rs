//! The attribute table of users and groups, used for validation, `/Schemas` and error messages.

mod attribute;
mod common;
mod group;
mod messages;
mod render;
mod resource;
mod user;

pub use attribute::{Attribute, Mutability, Returned, Type, Uniqueness};
pub use common::COMMON;
pub(crate) use common::EXTERNAL_ID;
pub use group::GROUP;
pub use messages::{group_example, list_schema, patch_schema, search_schema, user_example};
pub use render::{json_schema, resource_type, schema_resource};
pub use resource::{AttrPath, GROUPS, RESOURCE_TYPES, ResourceType, USERS};
pub use user::{ENTERPRISE_USER, USER};

/// A schema of RFC 7643: an id and its attributes.
#[derive(Debug, PartialEq, Eq)]
pub struct Schema {
    /// URN of the schema.
    pub id: &'static str,
    /// The display name.
    pub name: &'static str,
    /// Description for `/Schemas`.
    pub description: &'static str,
    /// The attributes, in the order of their output.
    pub attributes: &'static [Attribute],
}

/// All supported schemas.
pub const SCHEMAS: [&Schema; 3] = [&USER, &ENTERPRISE_USER, &GROUP];

impl Schema {
    /// Returns the schema with this URN, ignoring case.
    pub fn of(id: &str) -> Option<&'static Self> {
        SCHEMAS.into_iter().find(|schema| schema.id.eq_ignore_ascii_case(id))
    }
}
