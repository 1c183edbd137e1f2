//! Validates and normalizes resources sent by clients.

use serde_json::{Map, Value};

use crate::json::remove;
use crate::{
    Error,
    schema::{Attribute, ENTERPRISE_USER, EXTERNAL_ID, Mutability, Type, USER},
};

/// Maximum number of values of a multi-valued attribute.
pub(crate) const MAX_VALUES: usize = 100;
/// Maximum size of all attributes of a user in bytes, so that a page of users stays small.
pub(crate) const MAX_SIZE: usize = 64 * 1024;

/// A user as sent by a client: validated against the schemas, with canonical names, and without unknown and read-only
/// attributes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserDraft {
    /// `userName`, if it was sent; never blank.
    pub user_name: Option<String>,
    /// `externalId`, if it was sent.
    pub external_id: Option<String>,
    /// `active`, if it was sent.
    pub active: Option<bool>,
    /// All other attributes, in schema order.
    pub attributes: Map<String, Value>,
}

impl UserDraft {
    /// Parses and validates the JSON of a user.
    pub fn read(body: &Value) -> Result<Self, Error> {
        let Some(body) = body.as_object() else {
            return Err(Error::InvalidSyntax("the body must be a JSON object that describes a user".into()));
        };
        let mut attributes = object(USER.attributes, body, "")?;
        let extension = ENTERPRISE_USER.id;
        match only(body, extension)? {
            None | Some(Value::Null) => {}
            Some(Value::Object(members)) => {
                let members = object(ENTERPRISE_USER.attributes, members, &format!("{extension}:"))?;
                if !members.is_empty() {
                    attributes.insert(extension.into(), Value::Object(members));
                }
            }
            Some(_) => return Err(Error::invalid(extension, "must be an object")),
        }
        refuse_large(&attributes, MAX_SIZE)?;
        let user_name = match remove(&mut attributes, "userName") {
            Some(Value::String(name)) if !name.trim().is_empty() => Some(name),
            Some(_) => return Err(Error::invalid("userName", "must not be blank")),
            None => None,
        };
        let active = remove(&mut attributes, "active").and_then(|active| active.as_bool());
        Ok(Self { user_name, external_id: external_id(body)?, active, attributes })
    }

    /// Returns `userName`, or an error if it is missing. Needs no store access.
    pub fn require_user_name(&self) -> Result<&str, Error> {
        self.user_name.as_deref().ok_or_else(|| Error::invalid("userName", "is required"))
    }
}

/// Reads `externalId`, which is common to all resources and therefore in no schema (RFC 7643 §3.1).
pub(crate) fn external_id(body: &Map<String, Value>) -> Result<Option<String>, Error> {
    let found = only(body, EXTERNAL_ID.name)?;
    match found.map(|value| single(&EXTERNAL_ID, value, EXTERNAL_ID.name)).transpose()?.flatten() {
        Some(Value::String(id)) => Ok(Some(id)),
        _ => Ok(None),
    }
}

/// Returns the first member with this name, ignoring case.
pub(crate) fn member<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    object.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Returns the member with this name, ignoring case. Fails if there are two.
pub(crate) fn only<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Option<&'a Value>, Error> {
    let mut found = body.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let first = found.next();
    match found.next() {
        Some(_) => Err(Error::InvalidSyntax(format!("{name}: given more than once"))),
        None => Ok(first),
    }
}

/// Returns an error if the attributes take more than `most` bytes.
pub(crate) fn refuse_large(attributes: &Map<String, Value>, most: usize) -> Result<(), Error> {
    let size: usize = attributes.values().map(size).sum();
    if size > most {
        return Err(Error::invalid("user", format!("send at most {MAX_SIZE} bytes of attributes")));
    }
    Ok(())
}

/// Estimates the size of a value as JSON, in bytes.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|value| size(value) + 1).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + size(value) + 4).sum(),
        _ => 5,
    }
}

/// Reads the known, writable members of an object. `prefix` precedes the names in errors.
fn object(
    attributes: &[Attribute],
    members: &Map<String, Value>,
    prefix: &str,
) -> Result<Map<String, Value>, Error> {
    let mut sent: Vec<Option<&Value>> = vec![None; attributes.len()];
    for (name, value) in members {
        let place = attributes.iter().zip(&mut sent).find(|(known, _)| known.name.eq_ignore_ascii_case(name));
        match place {
            Some((attribute, Some(_))) => {
                return Err(Error::InvalidSyntax(format!(
                    "{prefix}{}: given more than once",
                    attribute.name
                )));
            }
            Some((_, place)) => *place = Some(value),
            None => {}
        }
    }
    let mut read = Map::new();
    for (attribute, value) in attributes.iter().zip(sent) {
        let Some(value) = value else { continue };
        if attribute.mutability != Mutability::ReadWrite {
            continue;
        }
        let path = format!("{prefix}{}", attribute.name);
        let value = if attribute.multi_valued {
            multiple(attribute, value, &path)?
        } else {
            single(attribute, value, &path)?
        };
        if let Some(value) = value {
            read.insert(attribute.name.into(), value);
        }
    }
    Ok(read)
}

/// Reads an array of values; `None` if it is empty.
///
/// Elements without `value` are ignored if the attribute has a `value` sub-attribute: an email with only a `type` is
/// not an email.
pub(crate) fn multiple(attribute: &Attribute, value: &Value, path: &str) -> Result<Option<Value>, Error> {
    let mut read = elements(attribute, value, path)?;
    if Attribute::find(attribute.sub_attributes, "value").is_some() {
        read.retain(|element| element.get("value").is_some());
    }
    if read.iter().filter(|value| value.get("primary") == Some(&Value::Bool(true))).count() > 1 {
        return Err(Error::invalid(path, "mark at most one value as primary"));
    }
    Ok((!read.is_empty()).then_some(Value::Array(read)))
}

/// Reads the elements of an array, including those without `value`: a PATCH may name values to remove by any part.
pub(crate) fn elements(attribute: &Attribute, value: &Value, path: &str) -> Result<Vec<Value>, Error> {
    let values = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(values) => values,
        _ => return Err(Error::invalid(path, "must be an array")),
    };
    if values.len() > MAX_VALUES {
        return Err(Error::invalid(path, format!("send at most {MAX_VALUES} values")));
    }
    let mut read = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        read.extend(single(attribute, value, &format!("{path}[{index}]"))?);
    }
    Ok(read)
}

/// Reads one value; `None` if it is null or an empty object.
pub(crate) fn single(attribute: &Attribute, value: &Value, path: &str) -> Result<Option<Value>, Error> {
    if value.is_null() {
        return Ok(None);
    }
    match attribute.kind {
        Type::String | Type::Reference | Type::DateTime => text(attribute, value, path).map(Some),
        Type::Boolean => boolean(value, path).map(Some),
        Type::Complex => {
            let read = match value {
                Value::Object(members) => object(attribute.sub_attributes, members, &format!("{path}."))?,
                // Entra sends a manager as a bare string; other clients send email addresses that way.
                Value::String(_) => match Attribute::find(attribute.sub_attributes, "value") {
                    Some(sub) => {
                        let value = text(sub, value, path)?;
                        Map::from_iter([(String::from(sub.name), value)])
                    }
                    None => return Err(Error::invalid(path, "must be an object")),
                },
                _ => return Err(Error::invalid(path, "must be an object")),
            };
            if attribute.name == "emails" {
                address(&read, path)?;
            }
            Ok((!read.is_empty()).then_some(Value::Object(read)))
        }
    }
}

fn text(attribute: &Attribute, value: &Value, path: &str) -> Result<Value, Error> {
    let Value::String(text) = value else { return Err(Error::invalid(path, "must be a string")) };
    if text.chars().count() > attribute.max_length {
        return Err(Error::invalid(path, format!("send at most {} characters", attribute.max_length)));
    }
    if text.contains('\0') {
        return Err(Error::invalid(path, "must not contain the character U+0000"));
    }
    Ok(value.clone())
}

/// Reads a JSON boolean, or Entra's `"True"` and `"False"`.
fn boolean(value: &Value, path: &str) -> Result<Value, Error> {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(Value::Bool(true)),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(Value::Bool(false)),
        _ => Err(Error::invalid(path, "must be true or false")),
    }
}

fn address(email: &Map<String, Value>, path: &str) -> Result<(), Error> {
    match email.get("value").and_then(Value::as_str) {
        Some(value) if value.parse::<kernel::Email>().is_err() => {
            Err(Error::invalid(format!("{path}.value"), "must be an email address such as ada@example.com"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(body: &Value) -> String {
        UserDraft::read(body).unwrap_err().to_string()
    }

    #[test]
    fn deviations_of_common_clients_are_accepted() {
        let draft = UserDraft::read(&json!({
            "schemas": ["anything"],
            "USERNAME": "ada",
            "Active": "False",
            "externalid": "00u1",
            "name": { "GivenName": "Ada", "unknown": 1, "familyName": null },
            "emails": ["ada@example.com"],
            "phoneNumbers": [],
            "groups": [],
            "password": "hunter2",
            "id": 7,
            "meta": {},
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user": { "manager": "usr_1" },
        }))
        .unwrap();
        assert_eq!(draft.user_name.as_deref(), Some("ada"));
        assert_eq!(draft.active, Some(false));
        assert_eq!(draft.external_id.as_deref(), Some("00u1"));
        assert_eq!(
            Value::Object(draft.attributes),
            json!({
                "name": { "givenName": "Ada" },
                "emails": [{ "value": "ada@example.com" }],
                "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { "manager": { "value": "usr_1" } },
            })
        );
    }

    #[test]
    fn an_element_without_a_value_is_ignored() {
        let draft = UserDraft::read(&json!({
            "emails": [
                { "type": "home", "primary": true },
                { "value": "ada@example.com", "type": "work", "primary": true },
                { "value": null, "type": "other" },
                {},
            ],
            "phoneNumbers": [{ "type": "mobile" }],
            "roles": [{ "display": "Clerk" }, "x"],
            "addresses": [{ "type": "work", "country": "GB" }],
        }))
        .unwrap();
        assert_eq!(
            Value::Object(draft.attributes),
            json!({
                "emails": [{ "value": "ada@example.com", "type": "work", "primary": true }],
                "roles": [{ "value": "x" }],
                "addresses": [{ "type": "work", "country": "GB" }],
            })
        );
    }

    #[test]
    fn null_list_and_text_true_are_accepted() {
        let draft = UserDraft::read(&json!({ "active": "TRUE", "emails": null })).unwrap();
        assert_eq!((draft.active, draft.attributes), (Some(true), Map::new()));
    }

    #[test]
    fn size_is_estimated_with_quotes_and_separators() {
        let attributes = json!({ "ab": ["x", true], "c": { "d": "é" } });
        assert_eq!(size(&attributes), (2 + (3 + 1 + 5 + 1) + 4) + (1 + (1 + 4 + 4) + 4));
        let attributes = json!({ "title": "12345678" });
        let attributes = attributes.as_object().unwrap();
        assert!(refuse_large(attributes, 10).is_ok());
        assert!(refuse_large(attributes, 9).is_err());
    }

    #[test]
    fn problems_name_the_attribute() {
        assert_eq!(problem(&json!({ "userName": " " })), "userName: must not be blank");
        assert_eq!(problem(&json!({ "userName": 7 })), "userName: must be a string");
        assert_eq!(problem(&json!({ "active": "yes" })), "active: must be true or false");
        assert_eq!(problem(&json!({ "name": [] })), "name: must be an object");
        assert_eq!(problem(&json!({ "name": "Ada" })), "name: must be an object");
        assert_eq!(problem(&json!({ "emails": {} })), "emails: must be an array");
        assert_eq!(
            problem(&json!({ "emails": [{}, { "value": "ada" }] })),
            "emails[1].value: must be an email address such as ada@example.com"
        );
        assert_eq!(problem(&json!({ "externalId": true })), "externalId: must be a string");
        assert_eq!(problem(&json!({ "title": "a\u{0}b" })), "title: must not contain the character U+0000");
        assert_eq!(problem(&json!({ "title": "a", "TITLE": "b" })), "title: given more than once");
        assert_eq!(
            problem(&json!({ "externalId": "a", "EXTERNALID": "b" })),
            "externalId: given more than once"
        );
        let enterprise = ENTERPRISE_USER.id;
        assert_eq!(problem(&json!({ enterprise: "x" })), format!("{enterprise}: must be an object"));
        let twice = json!({ enterprise: {}, enterprise.to_uppercase(): {} });
        assert_eq!(problem(&twice), format!("{enterprise}: given more than once"));
        let long = "x".repeat(2048);
        let addresses = vec![json!({ "formatted": long, "streetAddress": long }); 20];
        assert_eq!(
            problem(&json!({ "addresses": addresses })),
            "user: send at most 65536 bytes of attributes"
        );
        let two =
            json!({ "emails": [{ "value": "a@b", "primary": true }, { "value": "c@d", "primary": true }] });
        assert_eq!(problem(&two), "emails: mark at most one value as primary");
        assert_eq!(problem(&json!({ "userName": "é".repeat(257) })), "userName: send at most 256 characters");
        assert_eq!(problem(&json!({ "roles": vec![json!("x"); 101] })), "roles: send at most 100 values");
        assert!(problem(&json!([])).starts_with("the body must be a JSON object"));
    }
}
