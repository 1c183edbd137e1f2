//! The group (RFC 7643 §4.2).

use super::{Schema, attribute::Attribute};

/// `urn:ietf:params:scim:schemas:core:2.0:Group`
pub const GROUP: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:Group",
    name: "Group",
    description: "A group of people of the tenant",
    attributes: &[
        Attribute::text("displayName", "The name of the group.").max(256).required().unique(),
        Attribute::complex("members", MEMBERS, "The people in the group.").multi(),
    ],
};

const MEMBERS: &[Attribute] = &[
    Attribute::text("value", "The id of the person.").exact().immutable(),
    Attribute::reference("$ref", &["User"], "The address of the person; not needed beside the id.")
        .immutable(),
    Attribute::text("type", "What the member is.").canonical(&["User"]).immutable(),
];
