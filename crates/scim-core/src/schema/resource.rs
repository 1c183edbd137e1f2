//! Kinds of resources, and the paths of their attributes (RFC 7644 §3.10).

use std::fmt;

use super::{Attribute, COMMON, ENTERPRISE_USER, GROUP, Mutability, Returned, Schema, Type, USER};

/// A kind of resource (RFC 7643 §6).
#[derive(Debug, PartialEq, Eq)]
pub struct ResourceType {
    /// Name of the resource type.
    pub name: &'static str,
    /// Where its resources are, below the SCIM root.
    pub endpoint: &'static str,
    /// Description for `/ResourceTypes`.
    pub description: &'static str,
    /// The schema of its attributes.
    pub schema: &'static Schema,
    /// Schemas that it may have beside.
    pub extensions: &'static [&'static Schema],
}

/// Users with their enterprise extension.
pub const USERS: ResourceType = ResourceType {
    name: "User",
    endpoint: "/Users",
    description: "A person of the tenant",
    schema: &USER,
    extensions: &[&ENTERPRISE_USER],
};

/// The resource type of groups.
pub const GROUPS: ResourceType = ResourceType {
    name: "Group",
    endpoint: "/Groups",
    description: "A group of people of the tenant",
    schema: &GROUP,
    extensions: &[],
};

/// All kinds of resources.
pub const RESOURCE_TYPES: [&ResourceType; 2] = [&USERS, &GROUPS];

/// An attribute or a sub-attribute of a resource; prints as it is written in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttrPath {
    /// The URN of the extension that the attribute belongs to.
    pub extension: Option<&'static str>,
    /// The attribute, or the parent of the sub-attribute.
    pub attribute: &'static Attribute,
    /// The part of it, if one is named.
    pub sub: Option<&'static Attribute>,
}

impl ResourceType {
    /// The attribute of this path, such as `name.givenName`, in any case, with or without its URN.
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

    /// Its schema, and those that it may have beside.
    pub fn schemas(&self) -> impl Iterator<Item = &'static Schema> {
        [self.schema].into_iter().chain(self.extensions.iter().copied())
    }

    /// The extension whose URN this is, in any case.
    pub fn extension(&self, urn: &str) -> Option<&'static Schema> {
        self.extensions.iter().copied().find(|schema| schema.id.eq_ignore_ascii_case(urn))
    }

    /// The schema whose URN leads a path, and what follows it.
    fn schema_of<'p>(&self, path: &'p str) -> Option<(&'static Schema, Option<&'p str>)> {
        self.schemas().find_map(|schema| {
            let (urn, rest) = path.split_at_checked(schema.id.len())?;
            let rest = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
            urn.eq_ignore_ascii_case(schema.id).then_some((schema, rest))
        })
    }
}

impl AttrPath {
    /// The attribute itself, without its part.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { sub: None, ..self }
    }

    /// A part by its name, relative to the value that it is part of.
    pub fn part(sub: &'static Attribute) -> Self {
        Self { extension: None, attribute: sub, sub: None }
    }

    /// Whether a filter may name it: not what nobody reads, nor an address that is made when it is answered.
    pub fn is_comparable(&self) -> bool {
        let leaf = self.leaf();
        let made = leaf.kind == Type::Reference && leaf.mutability != Mutability::ReadWrite;
        leaf.returned != Returned::Never && !made
    }

    /// What is compared in the end: the part, if one is named.
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
    fn paths_are_found_in_any_case_with_and_without_their_urn() {
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
