//! Events, without actor and time.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An event type: the implementor holds its code, description, typed payload and example.
///
/// The payload contains ids and names of changed fields, but never personal values, because it is sent to webhooks
/// and stays in the audit log after a user's data is erased.
pub trait EventData: Serialize {
    /// The audit code, such as `INVOICE_PAID`; never renamed.
    const CODE: &'static str;
    /// The type of the affected resource, such as `user`.
    const RESOURCE_TYPE: &'static str;
    /// A description in one sentence, for the catalog.
    const DESCRIPTION: &'static str = "";
    /// A resource id for examples.
    const EXAMPLE_ID: &'static str = "1";

    /// An actor's id and type for examples.
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("sct_01jz1111111111111111111111", "SCIM");

    /// Returns an example payload, for the catalog.
    fn example() -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Returns the JSON Schema of the payload, for the catalog.
    fn schema() -> Value {
        json!({ "type": "object" })
    }
}

/// An event about a resource, ready to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The audit code.
    pub code: &'static str,
    /// The type of the resource.
    pub resource_type: &'static str,
    /// ID of the resource.
    pub resource_id: String,
    /// The payload as JSON text, exactly as it is stored and hashed.
    pub data: String,
}

impl Event {
    /// Creates an event about the resource with this id.
    pub fn new<D: EventData>(resource_id: impl Into<String>, data: &D) -> Self {
        Self {
            code: D::CODE,
            resource_type: D::RESOURCE_TYPE,
            resource_id: resource_id.into(),
            // Serialization cannot fail: payloads consist of strings, numbers and flags.
            data: serde_json::to_string(data).unwrap_or_else(|_| String::from("{}")),
        }
    }

    /// Returns what the event is about, such as `user:usr_…`: the user that the payload names in `user`, else the
    /// resource. Consumers apply the events of one subject in order.
    pub fn subject(&self) -> String {
        subject((self.resource_type, &self.resource_id), &self.data)
    }
}

/// Returns what an event with this resource and payload is about. See [`Event::subject`].
pub fn subject((resource_type, resource_id): (&str, &str), data: &str) -> String {
    match serde_json::from_str(data) {
        Ok(OfUser { user: Some(user) }) => format!("user:{user}"),
        _ => format!("{resource_type}:{resource_id}"),
    }
}

/// The user in the payload of an event about a session, factor or token.
#[derive(Deserialize)]
struct OfUser {
    user: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{pats::PatRevoked, users::UserDeactivated};

    #[test]
    fn subject_is_the_user_of_the_resource() {
        assert_eq!(Event::new("usr_1", &UserDeactivated {}).subject(), "user:usr_1");
        assert_eq!(Event::new("ptk_1", &PatRevoked { user: "usr_1".into() }).subject(), "user:usr_1");
        let event = Event { data: "[1]".into(), ..Event::new("usr_1", &UserDeactivated {}) };
        assert_eq!(event.subject(), "user:usr_1");
    }

    #[derive(Serialize)]
    struct InvoicePaid {}

    impl EventData for InvoicePaid {
        const CODE: &'static str = "INVOICE_PAID";
        const RESOURCE_TYPE: &'static str = "invoice";
    }

    #[test]
    fn event_type_needs_only_a_code_and_a_resource_type() {
        assert_eq!(Event::new("1", &InvoicePaid {}).data, "{}");
        assert_eq!(InvoicePaid::schema(), json!({ "type": "object" }));
        assert!(InvoicePaid::example().is_none());
    }
}
