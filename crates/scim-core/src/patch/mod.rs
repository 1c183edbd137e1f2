//! PATCH (RFC 7644 §3.5.2): parsed and validated before the store is read.
//!
//! Deviations of common clients are accepted: names of members and operations in any case, members in any order,
//! paths as keys of a value without path (`"name.givenName"`, `"emails[type eq \"work\"].value"`), null for nothing,
//! a plain value wrapped as `[{"value": "x"}]`, and values to remove listed in `value`. Unknown attributes are
//! ignored, as in any other body.

mod apply;
mod members;
mod path;

use serde_json::Value;

use crate::{
    Error,
    filter::Filter,
    input::member,
    schema::{AttrPath, ResourceType, Schema, USERS},
};

pub use members::MemberChanges;
pub(crate) use members::member_ids;
pub use path::Target;

/// Maximum number of changes to a user per request. A group may need one change per member, so only the body limit
/// applies to it.
const MAX_CHANGES: usize = 256;
/// Maximum number of comparisons in all paths of one request. Each runs on every value of its attribute while the
/// user is locked.
const MAX_COMPARISONS: usize = 256;

/// A validated PATCH request, applied completely or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    changes: Vec<Change>,
}

/// A change to one attribute.
#[derive(Debug, Clone, PartialEq)]
struct Change {
    verb: Verb,
    path: AttrPath,
    /// For a multi-valued attribute: selects the values to change.
    filter: Option<Filter>,
    /// The new value; `None` for null.
    value: Option<Value>,
    /// Whether the client named the attribute in a path. If so, changing a read-only attribute is an error;
    /// otherwise, such as `id` in a whole resource, it is ignored.
    named: bool,
    /// The index of the operation, for errors.
    number: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    Replace,
    Remove,
}

impl Patch {
    /// Parses the body of a PATCH of a resource of this kind.
    pub fn read(kind: &'static ResourceType, body: &Value) -> Result<Self, Error> {
        let syntax = |what: &str| Error::InvalidSyntax(what.to_owned());
        let body =
            body.as_object().ok_or_else(|| syntax("the body must be a JSON object with Operations"))?;
        let Some(Value::Array(sent)) = member(body, "Operations") else {
            return Err(syntax("Operations: must be an array of operations"));
        };
        if sent.is_empty() {
            return Err(syntax("Operations: must not be empty"));
        }
        let mut changes = Vec::new();
        for (number, operation) in sent.iter().enumerate() {
            changes.extend(Operation::read(number, operation)?.changes(kind)?);
            if changes.len() > MAX_CHANGES && *kind == USERS {
                return Err(syntax(&format!(
                    "Operations: send at most {MAX_CHANGES} changes in one request"
                )));
            }
        }
        let filters = changes.iter().filter_map(|change: &Change| change.filter.as_ref());
        if *kind == USERS && filters.map(Filter::terms).sum::<usize>() > MAX_COMPARISONS {
            let problem = format!("Operations: send at most {MAX_COMPARISONS} comparisons in one request");
            return Err(Error::InvalidFilter(problem));
        }
        Ok(Self { changes })
    }

    /// Returns whether the request sets `active` of a user to true, even if the user is active.
    pub fn activates(&self) -> bool {
        let active = USERS.resolve("active");
        let last = self.changes.iter().rev().find(|change| Some(change.path) == active);
        last.is_some_and(|change| change.value == Some(Value::Bool(true)))
    }
}

/// An element of `Operations`.
struct Operation<'v> {
    verb: Verb,
    path: Option<&'v str>,
    value: Option<&'v Value>,
    number: usize,
}

impl<'v> Operation<'v> {
    fn read(number: usize, sent: &'v Value) -> Result<Self, Error> {
        let syntax = |what: &str| Error::InvalidSyntax(format!("Operations[{number}]{what}"));
        let sent = sent.as_object().ok_or_else(|| syntax(": must be an object"))?;
        let verb = match member(sent, "op").and_then(Value::as_str) {
            Some(op) if op.eq_ignore_ascii_case("add") => Verb::Add,
            Some(op) if op.eq_ignore_ascii_case("replace") => Verb::Replace,
            Some(op) if op.eq_ignore_ascii_case("remove") => Verb::Remove,
            _ => return Err(syntax(".op: must be add, replace or remove")),
        };
        let path = match member(sent, "path") {
            None | Some(Value::Null) => None,
            Some(Value::String(path)) => Some(path.as_str()),
            Some(_) => {
                return Err(Error::InvalidPath(format!("Operations[{number}].path: must be a string")));
            }
        };
        let value = member(sent, "value");
        if verb != Verb::Remove && value.is_none() {
            return Err(Error::invalid(format!("Operations[{number}].value"), "is required"));
        }
        Ok(Self { verb, path, value: value.filter(|value| !value.is_null()), number })
    }

    fn changes(&self, kind: &'static ResourceType) -> Result<Vec<Change>, Error> {
        let number = self.number;
        match (self.path, self.verb, self.value) {
            (Some(path), _, value) => Ok(match Target::parse(kind, path)? {
                Some(target) => self.at(kind, target, value, true)?,
                None => Vec::new(),
            }),
            (None, Verb::Remove, _) => {
                Err(Error::NoTarget(format!("Operations[{number}].path: is required with remove")))
            }
            (None, _, Some(Value::Object(members))) => {
                let mut changes = Vec::new();
                for (name, value) in members {
                    // A name that is not a valid path is an unknown attribute.
                    if let Ok(Some(target)) = Target::parse(kind, name) {
                        changes.extend(self.at(kind, target, known(value), false)?);
                    }
                }
                Ok(changes)
            }
            (None, ..) => {
                let place = format!("Operations[{number}].value");
                Err(Error::invalid(place, "must be an object of attributes if there is no path"))
            }
        }
    }

    fn at(
        &self,
        kind: &'static ResourceType,
        target: Target,
        value: Option<&Value>,
        named: bool,
    ) -> Result<Vec<Change>, Error> {
        match target {
            Target::Attribute { path, filter } => Ok(vec![self.change(path, filter, value, named)]),
            Target::Extension(schema) => self.of_extension(kind, schema, value),
        }
    }

    /// Returns changes of all attributes of an extension, or of those in the value.
    fn of_extension(
        &self,
        kind: &'static ResourceType,
        schema: &'static Schema,
        value: Option<&Value>,
    ) -> Result<Vec<Change>, Error> {
        let path = |name: &str| kind.resolve(&format!("{}:{name}", schema.id));
        let value = match value {
            Some(Value::Array(values)) if values.len() == 1 => values.first(),
            other => other,
        };
        match (self.verb, value) {
            (Verb::Remove, _) | (_, None) => {
                let all = schema.attributes.iter().filter_map(|attribute| path(attribute.name));
                Ok(all.map(|path| self.change(path, None, None, false)).collect())
            }
            (_, Some(Value::Object(members))) => {
                let change = |(name, value): (&String, &Value)| {
                    Some(self.change(path(name)?, None, known(value), false))
                };
                Ok(members.iter().filter_map(change).collect())
            }
            (_, Some(_)) => Err(Error::invalid(schema.id, "must be an object")),
        }
    }

    fn change(&self, path: AttrPath, filter: Option<Filter>, value: Option<&Value>, named: bool) -> Change {
        Change { verb: self.verb, path, filter, value: value.cloned(), named, number: self.number }
    }
}

/// Returns the value unless it is null.
fn known(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null())
}
