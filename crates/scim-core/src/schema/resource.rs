//! Resource types and attribute paths (RFC 7644 §3.10).

use std::fmt;

use super::{Attribute, COMMON, ENTERPRISE_USER, GROUP, Mutability, Returned, Schema, Type, USER};

/// A resource type (RFC 7643 §6).
#[derive(Debug, PartialEq, Eq)]
pub struct ResourceType {
    /// Name of the resource type.
    pub name: &'static str,
    /// Path of its resources below the SCIM root.
    pub endpoint: &'static str,
    /// Description for `/ResourceTypes`.
    pub description: &'static str,
    /// The core schema.
    pub schema: &'static Schema,
    /// The optional extension schemas.
    pub extensions: &'static [&'static Schema],
}

/// The resource type of users, with the enterprise extension.
pub const USERS: ResourceType = ResourceType {
    name: "User",
    endpoint: "/Users",
    description: "A user of the tenant",
    schema: &USER,
    extensions: &[&ENTERPRISE_USER],
};

/// The resource type of groups.
pub const GROUPS: ResourceType = ResourceType {
    name: "Group",
    endpoint: "/Groups",
    description: "A group of users of the tenant",
    schema: &GROUP,
    extensions: &[],
};

/// All resource types.
pub const RESOURCE_TYPES: [&ResourceType; 2] = [&USERS, &GROUPS];

/// An attribute or a sub-attribute of a resource; its `Display` form is valid in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttrPath {
    /// The URN of the extension that the attribute belongs to.
    pub extension: Option<&'static str>,
    /// The attribute, or the parent of the sub-attribute.
    pub attribute: &'static Attribute,
    /// The sub-attribute, if the path names one.
    pub sub: Option<&'static Attribute>,
}

impl ResourceType {
    /// Returns the attribute at this path, such as `name.givenName`, ignoring case, with or without its URN.
    pub fn resolve(&self, path: &str) -> Option<AttrPath> {
        let (extension, attributes, rest) = match self.schema_of(path) {
            Some((schema, rest)) if schema == self.schema => (None, schema.attributes, rest?),
            Some((schema, rest)) => (Some(schema.id), schema.attributes, rest?),
            None => (None, self.schema.attributes, path),
        };
        let (name, sub) = match rest.split_once('.') {
            Some((name, sub)) => (name, Some(sub)),
            None => (rest, None),
        };
        let common = if extension.is_none() { Attribute::find(COMMON, name) } else { None };
        let attribute = common.or_else(|| Attribute::find(attributes, name))?;
        let sub = match sub {
            Some(sub) => Some(Attribute::find(attribute.sub_attributes, sub)?),
            None => None,
        };
        Some(AttrPath { extension, attribute, sub })
    }

    /// Returns the core schema, followed by the extensions.
    pub fn schemas(&self) -> impl Iterator<Item = &'static Schema> {
        [self.schema].into_iter().chain(self.extensions.iter().copied())
    }

    /// Returns the extension with this URN, ignoring case.
    pub fn extension(&self, urn: &str) -> Option<&'static Schema> {
        self.extensions.iter().copied().find(|schema| schema.id.eq_ignore_ascii_case(urn))
    }

    /// Returns the schema whose URN the path starts with, and the rest of the path.
    fn schema_of<'p>(&self, path: &'p str) -> Option<(&'static Schema, Option<&'p str>)> {
        self.schemas().find_map(|schema| {
            let (urn, rest) = path.split_at_checked(schema.id.len())?;
            let rest = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
            urn.eq_ignore_ascii_case(schema.id).then_some((schema, rest))
        })
    }
}

impl AttrPath {
    /// Returns the path of the attribute, without the sub-attribute.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { sub: None, ..self }
    }

    /// Returns the path of a sub-attribute, relative to the value that contains it.
    pub fn part(sub: &'static Attribute) -> Self {
        Self { extension: None, attribute: sub, sub: None }
    }

    /// Returns whether a filter may name it. Attributes that are never returned and generated URLs cannot be
    /// compared.
    pub fn is_comparable(&self) -> bool {
        let leaf = self.leaf();
        let made = leaf.kind == Type::Reference && leaf.mutability != Mutability::ReadWrite;
        leaf.returned != Returned::Never && !made
    }

    /// Returns the attribute that is compared: the sub-attribute, if the path names one.
    pub fn leaf(&self) -> &'static Attribute {
        self.sub.unwrap_or(self.attribute)
    }
}

impl fmt::Display for AttrPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(urn) = self.extension {
            write!(f, "{urn}:")?;
        }
        f.write_str(self.attribute.name)?;
        match self.sub {
            Some(sub) => write!(f, ".{}", sub.name),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_resolve_in_any_case_with_and_without_urn() {
        for (path, shown) in [
            ("USERNAME", "userName"),
            ("name.GivenName", "name.givenName"),
            ("urn:ietf:params:scim:schemas:core:2.0:user:emails.value", "emails.value"),
            ("meta.lastmodified", "meta.lastModified"),
            (
                "URN:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value",
                "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value",
            ),
        ] {
            assert_eq!(USERS.resolve(path).map(|path| path.to_string()).as_deref(), Some(shown));
        }
        for path in ["", ".", "name.", "userName.x", "department", "emails.value.x", USER.id, "éé:x"] {
            assert_eq!(USERS.resolve(path), None, "{path}");
        }
        assert_eq!(USERS.resolve(&format!("{}é", USER.id)), None);
        assert_eq!(GROUPS.resolve("userName"), None);
    }
}
