//! The claims of security event tokens (SET, RFC 8417).

use audit::subject;
use kernel::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{EventType, SubjectFormat, event_type::VERIFICATION};

/// Where a token comes from and goes to.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'e> {
    /// The issuer of the tenant.
    pub issuer: &'e str,
    /// The audience of the receiver.
    pub audience: &'e str,
    /// How accounts are named.
    pub format: SubjectFormat,
}

/// An audit event that a token is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceEvent {
    /// ID of the token.
    pub jti: String,
    /// ID of the audit entry, the same in all tokens about it.
    pub entry: String,
    /// The type of the event.
    pub event_type: EventType,
    /// When it happened.
    pub at: Timestamp,
    /// Type and ID of the actor.
    pub actor: (String, String),
    /// Type and ID of the resource.
    pub resource: (String, String),
    /// The payload as JSON.
    pub data: String,
    /// Email address of the account now, if it has one.
    pub email: Option<String>,
    /// Email address of the account before the event, if the event changed or deleted it.
    pub former_email: Option<String>,
    /// Email address of the account after an event that changed it.
    pub new_email: Option<String>,
}

/// An event about a stream itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlEvent {
    /// The URI of its type.
    pub event_type: String,
    /// Its payload.
    pub payload: Map<String, Value>,
}

impl ControlEvent {
    /// Confirms that a stream works.
    pub fn verification(state: Option<String>) -> Self {
        let payload = state.map(|state| ("state".to_owned(), state.into())).into_iter().collect();
        Self { event_type: VERIFICATION.to_owned(), payload }
    }

    /// Returns the claims of the token.
    pub fn claims(&self, envelope: &Envelope<'_>, (jti, stream): (&str, &str), at: Timestamp) -> Value {
        let subject = json!({ "format": "opaque", "id": stream });
        let event = Value::Object(self.payload.clone());
        claims(envelope, (jti, None), at, (subject, &self.event_type, event))
    }
}

impl SourceEvent {
    /// Returns the claims of the token. `None` if there is nothing to say: for example, the email address of the account
    /// did not change, or no session was revoked.
    pub fn claims(&self, envelope: &Envelope<'_>) -> Option<Value> {
        let data: Value = serde_json::from_str(&self.data).unwrap_or_default();
        let subject = self.subject_of(envelope, &data)?;
        let event = self.event(&data)?;
        let uri = self.event_type.uri();
        Some(claims(envelope, (&self.jti, Some(&self.entry)), self.at, (subject, uri, event)))
    }

    /// Returns the ID of the user that it is about; `None` if it is about a group.
    pub fn user(&self) -> Option<String> {
        let subject = subject((&self.resource.0, &self.resource.1), &self.data);
        subject.strip_prefix("user:").map(str::to_owned)
    }

    fn subject_of(&self, envelope: &Envelope<'_>, data: &Value) -> Option<Value> {
        if self.event_type.is_scim() {
            let place = if self.resource.0 == "group" { "Groups" } else { "Users" };
            let id = &self.resource.1;
            return Some(json!({ "format": "scim", "uri": format!("/{place}/{id}"), "id": id }));
        }
        let user = self.user()?;
        if self.event_type == EventType::IdentifierChanged {
            // RISC 1.0, section 2.5: the subject is the former identifier.
            let former = self.former_email.as_ref()?;
            return Some(json!({ "format": "email", "email": former }));
        }
        let email = self.former_email.as_ref().or(self.email.as_ref());
        let account = match (envelope.format, email) {
            (SubjectFormat::Email, Some(email)) => json!({ "format": "email", "email": email }),
            _ => json!({ "format": "iss_sub", "iss": envelope.issuer, "sub": user }),
        };
        match self.session(data) {
            Some(session) => {
                let session = json!({ "format": "opaque", "id": session });
                Some(json!({ "format": "complex", "user": account, "session": session }))
            }
            None => Some(account),
        }
    }

    /// Returns the session that the event is about, if it is about only one.
    fn session(&self, data: &Value) -> Option<String> {
        let of_data = data.get("session").and_then(Value::as_str);
        let of_resource = (self.resource.0 == "session").then_some(self.resource.1.as_str());
        of_resource.or(of_data).map(str::to_owned)
    }

    fn event(&self, data: &Value) -> Option<Value> {
        Some(match self.event_type {
            EventType::SessionRevoked if data["count"] == 0 => return None,
            EventType::SessionRevoked => {
                let why = data["why"].as_str().unwrap_or("the account was disabled or deleted");
                self.caep(json!({ "reason_admin": { "en": format!("Session revoked: {why}") } }))
            }
            EventType::CredentialChange => self.caep(self.credential_change(data)),
            EventType::AssuranceLevelChange => {
                let proved = data["proved"].as_array()?;
                proved.iter().find(|method| *method == "otp" || *method == "pop")?;
                self.caep(json!({
                    "namespace": "NIST-AAL", "current_level": "nist-aal2", "change_direction": "increase",
                }))
            }
            EventType::IdentifierChanged => {
                let changed = attributes(data, "changed");
                changed.iter().find(|name| *name == "emails" || *name == "userName")?;
                match &self.new_email {
                    Some(email) => json!({ "new-value": email }),
                    None => json!({}),
                }
            }
            EventType::ScimCreated => json!({ "attributes": attributes(data, "fields") }),
            EventType::ScimPatched => {
                let changed = attributes(data, "changed");
                // Some settings of an account are not attributes of the SCIM API.
                changed.first()?;
                json!({ "attributes": changed })
            }
            EventType::AccountDisabled
            | EventType::AccountEnabled
            | EventType::AccountPurged
            | EventType::ScimDeleted
            | EventType::ScimActivated
            | EventType::ScimDeactivated => json!({}),
        })
    }

    fn credential_change(&self, data: &Value) -> Value {
        // Whether a passkey was on the device itself is not known. Passkeys that can be copied usually are.
        let kind = match (data["kind"].as_str(), data["backup_eligible"].as_bool()) {
            (None, _) => "password",
            (Some("TOTP"), _) => "app",
            (Some(_), Some(true)) => "fido2-platform",
            (Some(_), _) => "fido2-roaming",
        };
        let (change, reason) = match self.resource.0.as_str() {
            "factor" if data.get("aaguid").is_some() => ("create", "A factor was enrolled"),
            "factor" => ("delete", "A factor was removed"),
            _ => ("update", "The password was set"),
        };
        let mut event =
            json!({ "credential_type": kind, "change_type": change, "reason_admin": { "en": reason } });
        if let (Value::Object(members), Some(aaguid)) = (&mut event, data["aaguid"].as_str()) {
            members.insert("fido2_aaguid".into(), aaguid.into());
        }
        event
    }

    /// Adds the claims of all CAEP events (section 2).
    fn caep(&self, mut event: Value) -> Value {
        let by = match self.actor.0.as_str() {
            "USER" if self.user().as_ref() == Some(&self.actor.1) => "user",
            "SYSTEM" => "system",
            _ => "admin",
        };
        if let Value::Object(members) = &mut event {
            members.insert("event_timestamp".into(), seconds(self.at).into());
            members.insert("initiating_entity".into(), by.into());
        }
        event
    }
}

/// Returns names of attributes of the SCIM API.
fn attributes(data: &Value, member: &str) -> Vec<String> {
    let names = data.get(member).and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).filter(|name| *name != "breakGlass").map(str::to_owned).collect()
}

fn seconds(at: Timestamp) -> i64 {
    at.unix_millis().div_euclid(1_000)
}

/// Returns the claims of a token with one event.
fn claims(
    envelope: &Envelope<'_>,
    (jti, transaction): (&str, Option<&str>),
    at: Timestamp,
    (subject, event_type, event): (Value, &str, Value),
) -> Value {
    let mut claims = json!({
        "iss": envelope.issuer, "aud": envelope.audience, "jti": jti, "iat": seconds(at), "sub_id": subject,
        "events": { event_type: event },
    });
    if let (Value::Object(members), Some(transaction)) = (&mut claims, transaction) {
        members.insert("txn".into(), transaction.into());
        members.insert("toe".into(), seconds(at).into());
    }
    claims
}
