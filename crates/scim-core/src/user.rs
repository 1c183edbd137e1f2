//! Users as stored and as returned to clients.

use kernel::{Ctx, Email, GroupId, Timestamp, UserId};
use serde_json::{Map, Value, json};

use crate::{
    Attributes, Error, UserDraft, fold,
    json::{write_head, write_meta, write_text},
    location::location,
    schema::{Attribute, ENTERPRISE_USER, USER},
};

/// A user of one tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// ID of the user.
    pub id: UserId,
    /// Unique within the tenant by [`User::user_name_key`].
    pub user_name: String,
    /// ID assigned by the identity provider. Case-sensitive.
    pub external_id: Option<String>,
    /// Whether the user may sign in.
    pub active: bool,
    /// All other attributes by canonical name, extensions under their URN.
    pub attributes: Attributes,
    /// Creation time.
    pub created: Timestamp,
    /// Time of the last change.
    pub last_modified: Timestamp,
    /// The user's groups. Read-only here: memberships are changed through groups.
    pub groups: Vec<Membership>,
}

/// A group that a user belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Membership {
    /// ID of the group.
    pub group: GroupId,
    /// Display name of the group.
    pub display: String,
}

impl User {
    /// Creates a user with a new id from a draft; `active` unless the draft says otherwise.
    pub fn new(ctx: &Ctx, draft: UserDraft) -> Result<Self, Error> {
        Ok(Self {
            id: UserId::new(&*ctx.env),
            user_name: draft.require_user_name()?.to_owned(),
            external_id: draft.external_id,
            active: draft.active.unwrap_or(true),
            attributes: draft.attributes.into(),
            created: ctx.now,
            last_modified: ctx.now,
            groups: Vec::new(),
        })
    }

    /// Returns this user with all attributes replaced by the draft's. `active` is kept if the draft omits it.
    pub fn replaced(&self, draft: UserDraft) -> Result<Self, Error> {
        Ok(Self {
            id: self.id.clone(),
            user_name: draft.require_user_name()?.to_owned(),
            external_id: draft.external_id,
            active: draft.active.unwrap_or(self.active),
            attributes: draft.attributes.into(),
            created: self.created,
            last_modified: self.last_modified,
            groups: self.groups.clone(),
        })
    }

    /// Returns the key that user names are compared by: the case-folded `userName`.
    pub fn user_name_key(&self) -> String {
        fold(&self.user_name)
    }

    /// Returns [`User::attributes`] with all case-insensitive texts folded, for a store to filter by.
    pub fn folded(&self) -> Map<String, Value> {
        let mut folded = fold_members(USER.attributes, self.attributes.map());
        if let Some(Value::Object(members)) = self.attributes.get(ENTERPRISE_USER.id) {
            let members = fold_members(ENTERPRISE_USER.attributes, members);
            folded.insert(ENTERPRISE_USER.id.into(), Value::Object(members));
        }
        folded
    }

    /// Returns the values of `emails`, in order.
    pub fn emails(&self) -> impl Iterator<Item = EmailValue<'_>> {
        let values = self.attributes.get("emails").and_then(Value::as_array);
        values.into_iter().flatten().filter_map(|email| {
            Some(EmailValue {
                value: email.get("value")?.as_str()?,
                kind: email.get("type").and_then(Value::as_str),
                primary: email.get("primary") == Some(&Value::Bool(true)),
            })
        })
    }

    /// Returns the sign-in address: the primary email, else the first of type `work`, else the first, else the user
    /// name if it is an email address.
    pub fn sign_in_email(&self) -> Option<Email> {
        let work = |email: &EmailValue<'_>| email.kind.is_some_and(|kind| kind.eq_ignore_ascii_case("work"));
        let chosen = self
            .emails()
            .find(|email| email.primary)
            .or_else(|| self.emails().find(work))
            .or_else(|| self.emails().next());
        chosen.map_or(self.user_name.as_str(), |email| email.value).parse().ok()
    }

    /// Returns the names of the attributes that have a value, except `active`.
    pub fn fields(&self) -> Vec<String> {
        let external = self.external_id.as_ref().map(|_| "externalId");
        let given = ["userName"].into_iter().chain(external).map(str::to_owned);
        given.chain(self.attributes.map().keys().cloned()).collect()
    }

    /// Returns the names of the attributes in which `other` differs, except `active`.
    pub fn changes(&self, other: &Self) -> Vec<String> {
        let mut changed = Vec::new();
        if self.user_name != other.user_name {
            changed.push(String::from("userName"));
        }
        if self.external_id != other.external_id {
            changed.push(String::from("externalId"));
        }
        if self.attributes == other.attributes {
            return changed;
        }
        let new = other.attributes.map().keys().filter(|name| self.attributes.get(name).is_none());
        for name in self.attributes.map().keys().chain(new) {
            if self.attributes.get(name) != other.attributes.get(name) {
                changed.push(name.clone());
            }
        }
        changed
    }

    /// Returns the writable attributes as JSON.
    pub(crate) fn document(&self) -> Map<String, Value> {
        let mut document = self.attributes.map().clone();
        document.insert("userName".into(), self.user_name.as_str().into());
        document.insert("active".into(), self.active.into());
        if let Some(external_id) = &self.external_id {
            document.insert("externalId".into(), external_id.as_str().into());
        }
        document
    }

    /// Returns the user as a SCIM resource; `base` is the URL of the SCIM root without a trailing slash.
    pub fn into_json(self, base: &str) -> Value {
        let location = self.location(base);
        let attributes = self.attributes.into_map();
        let mut members = Map::with_capacity(attributes.len() + 7);
        let mut schemas = vec![Value::from(USER.id)];
        if attributes.contains_key(ENTERPRISE_USER.id) {
            schemas.push(ENTERPRISE_USER.id.into());
        }
        members.insert("schemas".into(), schemas.into());
        members.insert("id".into(), self.id.as_str().into());
        if let Some(external_id) = self.external_id {
            members.insert("externalId".into(), external_id.into());
        }
        members.insert("userName".into(), self.user_name.into());
        members.insert("active".into(), self.active.into());
        members.extend(attributes);
        if !self.groups.is_empty() {
            members.insert("groups".into(), groups_json(self.groups, base));
        }
        let mut meta = Map::with_capacity(4);
        meta.insert("resourceType".into(), "User".into());
        meta.insert("created".into(), self.created.to_string().into());
        meta.insert("lastModified".into(), self.last_modified.to_string().into());
        meta.insert("location".into(), location.into());
        members.insert("meta".into(), Value::Object(meta));
        Value::Object(members)
    }

    /// Writes the JSON of [`User::into_json`] directly as text, without parsing the stored attributes.
    pub fn write_json(&self, base: &str, out: &mut String) {
        let attributes = self.attributes.text();
        // Quotes inside texts are escaped, so this match can only be a member's name.
        let is_extended = attributes.contains(EXTENSION_MEMBER);
        let schemas: &[_] = if is_extended { &[USER.id, ENTERPRISE_USER.id] } else { &[USER.id] };
        write_head(schemas, self.id.as_str(), self.external_id.as_deref(), out);
        out.push_str(",\"userName\":");
        write_text(&self.user_name, out);
        out.push_str(if self.active { ",\"active\":true" } else { ",\"active\":false" });
        let inner = attributes.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        if !inner.is_empty() {
            out.push(',');
            out.push_str(inner);
        }
        if !self.groups.is_empty() {
            out.push_str(",\"groups\":");
            out.push_str(&groups_json(self.groups.clone(), base).to_string());
        }
        write_meta("User", self.created, self.last_modified, &self.location(base), out);
        out.push('}');
    }

    /// Returns the resource's URL.
    pub fn location(&self, base: &str) -> String {
        location(base, "Users", self.id.as_str())
    }
}

/// The start of the extension's member in the text of attributes.
const EXTENSION_MEMBER: &str = "\"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User\":{";

fn groups_json(groups: Vec<Membership>, base: &str) -> Value {
    let group = |one: Membership| {
        json!({
            "value": one.group,
            "$ref": location(base, "Groups", one.group.as_str()),
            "display": one.display,
            "type": "direct",
        })
    };
    groups.into_iter().map(group).collect()
}

fn fold_members(attributes: &[Attribute], members: &Map<String, Value>) -> Map<String, Value> {
    let known = |(name, value): (&String, &Value)| {
        let attribute = Attribute::find(attributes, name)?;
        Some((name.clone(), fold_value(attribute, value)))
    };
    members.iter().filter_map(known).collect()
}

fn fold_value(attribute: &Attribute, value: &Value) -> Value {
    match value {
        Value::String(text) if !attribute.case_exact => fold(text).into(),
        Value::Array(values) => values.iter().map(|value| fold_value(attribute, value)).collect(),
        Value::Object(members) => Value::Object(fold_members(attribute.sub_attributes, members)),
        other => other.clone(),
    }
}

/// A value of `emails`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmailValue<'a> {
    /// Email address.
    pub value: &'a str,
    /// `work`, `home`, …
    pub kind: Option<&'a str>,
    /// Whether it is the preferred address.
    pub primary: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{Actor, Env, ManualEnv, TenantId};
    use std::sync::Arc;

    fn user(body: &Value) -> User {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let ctx = Ctx::new(env.clone() as Arc<dyn Env>, TenantId::new(&*env), Actor::system("test"));
        User::new(&ctx, UserDraft::read(body).unwrap()).unwrap()
    }

    #[test]
    fn sign_in_address_is_primary_then_work_then_first_then_user_name() {
        let address = |emails: Value| {
            let user = user(&json!({ "userName": "ada@name.example", "emails": emails }));
            user.sign_in_email().unwrap().to_string()
        };
        let home = json!({ "value": "h@x", "type": "home" });
        let work = json!({ "value": "w@x", "type": "Work" });
        let primary = json!({ "value": "p@x", "primary": true });
        assert_eq!(address(json!([home, work, primary])), "p@x");
        assert_eq!(address(json!([home, work])), "w@x");
        assert_eq!(address(json!([home])), "h@x");
        assert_eq!(address(json!([])), "ada@name.example");
        assert_eq!(user(&json!({ "userName": "ada" })).sign_in_email(), None);
    }

    #[test]
    fn written_text_equals_the_json_value() {
        for body in [
            json!({ "userName": "ada" }),
            json!({ "userName": "a\"\\\u{1}é", "externalId": "\n", "active": false, "title": "\"urn:x\":{" }),
            json!({ "userName": "ada", "title": format!("\"{}\":{{", ENTERPRISE_USER.id), "emails": ["a@b"] }),
            json!({ "userName": "ada", "name": { "givenName": "A" }, ENTERPRISE_USER.id: { "department": "x" } }),
        ] {
            let mut user = user(&body);
            for again in [false, true] {
                if again {
                    user.attributes = Attributes::read(user.attributes.text().into_owned()).unwrap();
                    let group = GroupId::new(&kernel::SystemEnv::default());
                    user.groups = vec![Membership { group, display: "\"".into() }];
                }
                let mut text = String::new();
                user.write_json("http://x\"y", &mut text);
                let written: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(written, user.clone().into_json("http://x\"y"));
            }
        }
        assert!(EXTENSION_MEMBER.contains(ENTERPRISE_USER.id));
        for odd in ["", "[]", "{", "{}x", "7"] {
            assert!(Attributes::read(odd.into()).is_err(), "{odd}");
        }
    }

    #[test]
    fn changes_name_the_changed_attributes() {
        let before = user(&json!({ "userName": "ada", "title": "a", "nickName": "b" }));
        let draft = UserDraft::read(&json!({ "userName": "ada", "title": "c", "locale": "en" })).unwrap();
        assert_eq!(before.changes(&before.replaced(draft).unwrap()), ["nickName", "title", "locale"]);
    }
}
