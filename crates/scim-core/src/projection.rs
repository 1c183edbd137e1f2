//! Selection of the attributes to return (RFC 7644 §3.9).

use kernel::UserId;
use serde_json::{Map, Value};

use crate::json::remove;
use crate::{
    Group, User,
    schema::{AttrPath, ResourceType, Returned, Schema},
};

/// The part of a resource that a client requested. Unknown names select nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Projection {
    /// All attributes.
    #[default]
    All,
    /// These attributes, and those that are always returned.
    Only(Vec<Selected>),
    /// All attributes except these.
    Without(Vec<Selected>),
}

/// A selection by one attribute name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Selected {
    /// An attribute or a sub-attribute.
    Attribute(AttrPath),
    /// A whole extension.
    Extension(&'static Schema),
}

impl Projection {
    /// Creates a projection from lists of names. `attributes` takes precedence over `excluded`.
    pub fn new(kind: &'static ResourceType, attributes: &[String], excluded: &[String]) -> Self {
        let read = |names: &[String]| -> Vec<_> {
            let one = |name: &String| {
                let extension = kind.extension(name).map(Selected::Extension);
                extension.or_else(|| kind.resolve(name).map(Selected::Attribute))
            };
            let mut selected = Vec::new();
            for one in names.iter().filter_map(one) {
                // Repeated names count once, which bounds the list by the number of attributes.
                if !selected.contains(&one) {
                    selected.push(one);
                }
            }
            selected
        };
        match (attributes.is_empty(), excluded.is_empty()) {
            (true, true) => Self::All,
            (false, _) => Self::Only(read(attributes)),
            (true, false) => Self::Without(read(excluded)),
        }
    }

    /// Returns whether any part of this attribute is returned. If not, it need not be loaded.
    pub fn wants(&self, name: &str) -> bool {
        let is = |selected: &&Selected| matches!(selected, Selected::Attribute(path) if path.attribute.name == name);
        match self {
            Self::All => true,
            Self::Only(selected) => selected.iter().any(|one| is(&one)),
            Self::Without(selected) => !selected
                .iter()
                .filter(is)
                .any(|one| matches!(one, Selected::Attribute(path) if path.sub.is_none())),
        }
    }

    /// Returns the selected part of a resource in the form of [`crate::User::into_json`].
    #[must_use]
    pub fn of(&self, resource: Value) -> Value {
        let Value::Object(members) = resource else { return resource };
        Value::Object(match self {
            Self::All => members,
            Self::Only(selected) => only(members, selected),
            Self::Without(selected) => selected.iter().fold(members, without),
        })
    }
}

impl Projection {
    /// Serializes the selected attributes of a user.
    pub fn write_user(&self, user: User, base: &str, out: &mut String) {
        match self {
            Self::All => user.write_json(base, out),
            _ => out.push_str(&self.of(user.into_json(base)).to_string()),
        }
    }

    /// Serializes the selected attributes of a group.
    pub fn write_group(&self, group: &Group, members: &[UserId], base: &str, out: &mut String) {
        match self {
            Self::All => group.write_json(members, base, out),
            _ => out.push_str(&self.of(group.to_json(members, base)).to_string()),
        }
    }
}

fn is_always_answered(name: &str) -> bool {
    name == "schemas" || name == "id"
}

fn only(members: Map<String, Value>, selected: &[Selected]) -> Map<String, Value> {
    let keep = |(name, value): (String, Value)| {
        if is_always_answered(&name) {
            return Some((name, value));
        }
        let mut parts = Vec::new();
        let mut extension = Vec::new();
        for one in selected {
            match one {
                Selected::Extension(schema) if schema.id == name => return Some((name, value)),
                Selected::Attribute(path) if path.extension == Some(name.as_str()) => {
                    extension.push(Selected::Attribute(AttrPath { extension: None, ..*path }));
                }
                Selected::Attribute(path) if path.extension.is_none() && path.attribute.name == name => {
                    match path.sub {
                        None => return Some((name, value)),
                        Some(sub) => parts.push(sub.name),
                    }
                }
                _ => {}
            }
        }
        let left = match value {
            Value::Object(inner) if !extension.is_empty() => Value::Object(only(inner, &extension)),
            value if !parts.is_empty() => {
                each(value, &|inner| inner.retain(|name, _| parts.contains(&name.as_str())))
            }
            _ => Value::Null,
        };
        (!is_empty(&left)).then_some((name, left))
    };
    members.into_iter().filter_map(keep).collect()
}

fn without(mut members: Map<String, Value>, selected: &Selected) -> Map<String, Value> {
    match selected {
        Selected::Extension(schema) => {
            remove(&mut members, schema.id);
        }
        Selected::Attribute(path) if path.attribute.returned == Returned::Always => {}
        Selected::Attribute(path) => match path.extension {
            Some(urn) => {
                if let Some(Value::Object(inner)) = remove(&mut members, urn) {
                    let rest = without(inner, &Selected::Attribute(AttrPath { extension: None, ..*path }));
                    if !rest.is_empty() {
                        members.insert(urn.into(), Value::Object(rest));
                    }
                }
            }
            None => match (path.sub, members.get_mut(path.attribute.name)) {
                (None, _) => {
                    remove(&mut members, path.attribute.name);
                }
                (Some(sub), Some(value)) => {
                    *value = each(value.take(), &|inner| {
                        remove(inner, sub.name);
                    });
                    if is_empty(value) {
                        remove(&mut members, path.attribute.name);
                    }
                }
                _ => {}
            },
        },
    }
    members
}

/// Returns whether a value is null or an empty object or array.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(values) => values.is_empty(),
        _ => false,
    }
}

/// Applies `change` to the object, or to each object of an array. Objects that become empty are removed.
fn each(value: Value, change: &dyn Fn(&mut Map<String, Value>)) -> Value {
    match value {
        Value::Array(values) => {
            values.into_iter().map(|value| each(value, change)).filter(|value| !is_empty(value)).collect()
        }
        Value::Object(mut inner) => {
            change(&mut inner);
            Value::Object(inner)
        }
        other => other,
    }
}
