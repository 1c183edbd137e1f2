//! Groups as stored and as returned to clients.

use std::collections::BTreeSet;

use kernel::{Ctx, GroupId, Timestamp, UserId};
use serde_json::{Map, Value, json};

use crate::{
    Error, fold,
    input::{external_id, only, single},
    json::{write_head, write_meta, write_text},
    location::location,
    patch::member_ids,
    schema::{Attribute, GROUP},
};

/// A group of one tenant, without its members.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Id of the group.
    pub id: GroupId,
    /// Unique within the tenant by [`Group::key`].
    pub display_name: String,
    /// ID assigned by the identity provider. Case-sensitive.
    pub external_id: Option<String>,
    /// Creation time.
    pub created: Timestamp,
    /// When an attribute or a membership last changed.
    pub last_modified: Timestamp,
}

/// A group as sent by a client, validated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupDraft {
    /// `displayName`, if it was sent; never blank.
    pub display_name: Option<String>,
    /// `externalId`, if it was sent.
    pub external_id: Option<String>,
    /// `members`; empty if it was not sent.
    pub members: BTreeSet<UserId>,
}

impl GroupDraft {
    /// Parses and validates the JSON of a group.
    pub fn read(body: &Value) -> Result<Self, Error> {
        let Some(body) = body.as_object() else {
            return Err(Error::InvalidSyntax("the body must be a JSON object that describes a group".into()));
        };
        let display_name =
            match (only(body, "displayName")?, Attribute::find(GROUP.attributes, "displayName")) {
                (Some(sent), Some(attribute)) => single(attribute, sent, "displayName")?,
                _ => None,
            };
        let display_name = match display_name {
            Some(Value::String(name)) if !name.trim().is_empty() => Some(name),
            Some(_) => return Err(Error::invalid("displayName", "must not be blank")),
            None => None,
        };
        let members = only(body, "members")?.map(member_ids).transpose()?.unwrap_or_default();
        Ok(Self { display_name, external_id: external_id(body)?, members })
    }

    /// Returns `displayName`, or an error if it is missing. Needs no store access.
    pub fn require_display_name(&self) -> Result<&str, Error> {
        self.display_name.as_deref().ok_or_else(|| Error::invalid("displayName", "is required"))
    }
}

impl Group {
    /// Creates a group with a new id from a draft. Fails without `displayName`.
    pub fn new(ctx: &Ctx, draft: &GroupDraft) -> Result<Self, Error> {
        Ok(Self {
            id: GroupId::new(&*ctx.env),
            display_name: draft.require_display_name()?.to_owned(),
            external_id: draft.external_id.clone(),
            created: ctx.now,
            last_modified: ctx.now,
        })
    }

    /// Returns this group with all attributes but `members` replaced by the draft's.
    pub fn replaced(&self, draft: GroupDraft) -> Result<Self, Error> {
        draft.require_display_name()?;
        let display_name = draft.display_name.unwrap_or_default();
        Ok(Self { display_name, external_id: draft.external_id, ..self.clone() })
    }

    /// Returns the key that group names are compared by: the case-folded `displayName`.
    pub fn key(&self) -> String {
        fold(&self.display_name)
    }

    /// Returns the names of the attributes in which `other` differs.
    pub fn changes(&self, other: &Self) -> Vec<String> {
        let name = (self.display_name != other.display_name).then_some("displayName");
        let external = (self.external_id != other.external_id).then_some("externalId");
        [name, external].into_iter().flatten().map(str::to_owned).collect()
    }

    /// Returns the group as a SCIM resource with these members; `base` is the URL of the SCIM root without a trailing
    /// slash.
    pub fn to_json(&self, members: &[UserId], base: &str) -> Value {
        let mut group = Map::new();
        group.insert("schemas".into(), json!([GROUP.id]));
        group.insert("id".into(), json!(self.id));
        if let Some(external_id) = &self.external_id {
            group.insert("externalId".into(), json!(external_id));
        }
        group.insert("displayName".into(), json!(self.display_name));
        if !members.is_empty() {
            let member = |id: &UserId| json!({ "value": id, "type": "User", "$ref": location(base, "Users", id.as_str()) });
            group.insert("members".into(), members.iter().map(member).collect());
        }
        let meta = json!({
            "resourceType": "Group",
            "created": self.created,
            "lastModified": self.last_modified,
            "location": self.location(base),
        });
        group.insert("meta".into(), meta);
        Value::Object(group)
    }

    /// Writes the JSON of [`Group::to_json`] directly as text, which is cheaper for thousands of members.
    pub fn write_json(&self, members: &[UserId], base: &str, out: &mut String) {
        write_head(&[GROUP.id], self.id.as_str(), self.external_id.as_deref(), out);
        out.push_str(",\"displayName\":");
        write_text(&self.display_name, out);
        if !members.is_empty() {
            out.push_str(",\"members\":[");
            for (number, id) in members.iter().enumerate() {
                out.push_str(if number > 0 { ",{\"value\":" } else { "{\"value\":" });
                write_text(id.as_str(), out);
                out.push_str(",\"type\":\"User\",\"$ref\":");
                write_text(&location(base, "Users", id.as_str()), out);
                out.push('}');
            }
            out.push(']');
        }
        write_meta("Group", self.created, self.last_modified, &self.location(base), out);
        out.push('}');
    }

    /// Returns the resource's URL.
    pub fn location(&self, base: &str) -> String {
        location(base, "Groups", self.id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{Actor, SystemEnv, TenantId};
    use std::sync::Arc;

    #[test]
    fn written_text_equals_the_json_value() {
        let env = Arc::new(SystemEnv::default());
        let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"));
        for (body, members) in [
            (json!({ "displayName": "Engines" }), 0),
            (json!({ "displayName": "\"é\\", "externalId": "\n" }), 1),
            (json!({ "displayName": "Looms" }), 3),
        ] {
            let group = Group::new(&ctx, &GroupDraft::read(&body).unwrap()).unwrap();
            let mut members: Vec<_> = (0..members).map(|_| UserId::new(&*env)).collect();
            members.push("a\"/b".parse().unwrap());
            let mut text = String::new();
            group.write_json(&members, "http://x\"y", &mut text);
            let written: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(written, group.to_json(&members, "http://x\"y"));
        }
    }
}
