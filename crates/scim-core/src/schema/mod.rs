//! The attributes of users and groups: one table that validates, describes and names them.

mod attribute;
mod common;
mod group;
mod render;
mod resource;
mod user;

pub use attribute::{Attribute, Mutability, Returned, Type, Uniqueness};
pub use common::COMMON;
pub(crate) use common::EXTERNAL_ID;
pub use group::GROUP;
pub use render::{json_schema, resource_type, schema_resource};
pub use resource::{AttrPath, GROUPS, RESOURCE_TYPES, ResourceType, USERS};
pub use user::{ENTERPRISE_USER, USER};

/// A schema of RFC 7643: an id and its attributes.
#[derive(Debug, PartialEq, Eq)]
pub struct Schema {
    /// URN of the schema.
    pub id: &'static str,
    /// The name that people read.
    pub name: &'static str,
    /// Description for `/Schemas`.
    pub description: &'static str,
    /// Its attributes in the order they are written.
    pub attributes: &'static [Attribute],
}

/// All schemas that this service supports.
pub const SCHEMAS: [&Schema; 3] = [&USER, &ENTERPRISE_USER, &GROUP];

impl Schema {
    /// The schema of this URN, in any case.
    pub fn of(id: &str) -> Option<&'static Self> {
        SCHEMAS.into_iter().find(|schema| schema.id.eq_ignore_ascii_case(id))
    }
}
