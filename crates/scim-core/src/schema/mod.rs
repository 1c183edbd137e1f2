//! The attributes of a user: one table that validates, describes and names them.

mod attribute;
mod render;
mod user;

pub use attribute::{Attribute, Mutability, Returned, Type, Uniqueness};
pub use render::{json_schema, schema_resource};
pub use user::{ENTERPRISE_USER, USER};

/// A schema of RFC 7643: an id and its attributes.
#[derive(Debug)]
pub struct Schema {
    /// The URN.
    pub id: &'static str,
    /// The name that people read.
    pub name: &'static str,
    /// One sentence.
    pub description: &'static str,
    /// Its attributes in the order they are written.
    pub attributes: &'static [Attribute],
}

/// All schemas that users have.
pub const SCHEMAS: [&Schema; 2] = [&USER, &ENTERPRISE_USER];

impl Schema {
    /// The schema of this URN, in any case.
    pub fn of(id: &str) -> Option<&'static Self> {
        SCHEMAS.into_iter().find(|schema| schema.id.eq_ignore_ascii_case(id))
    }
}
