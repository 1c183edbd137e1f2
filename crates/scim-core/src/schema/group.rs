//! The group schema (RFC 7643 §4.2).

use super::{Schema, attribute::Attribute};

/// `urn:ietf:params:scim:schemas:core:2.0:Group`
pub const GROUP: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:Group",
    name: "Group",
    description: "A group of users of the tenant",
    attributes: &[
        Attribute::text("displayName", "The name of the group.").max(256).required().unique(),
        Attribute::complex("members", MEMBERS, "Members of the group.").multi(),
    ],
};

const MEMBERS: &[Attribute] = &[
    Attribute::text("value", "ID of the user.").exact().immutable(),
    Attribute::reference("$ref", &["User"], "URL of the user. Optional.").immutable(),
    Attribute::text("type", "Type of the member.").canonical(&["User"]).immutable(),
];
