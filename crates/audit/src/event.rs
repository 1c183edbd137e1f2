//! What happened, before it is known who did it and when.

use serde::Serialize;
use utoipa::PartialSchema;

/// One kind of event: its code, words, typed payload and example stand in one place, the implementor.
///
/// The payload holds ids and names of changed fields, never personal values: it goes to webhooks and
/// stays in the ledger when a person is erased.
pub trait EventData: Serialize + PartialSchema {
    /// `ACCOUNT_<THING>_<PAST PARTICIPLE>`; never renamed.
    const CODE: &'static str;
    /// One sentence for the catalog.
    const DESCRIPTION: &'static str;
    /// The type of the resource it is about, such as `user`.
    const RESOURCE_TYPE: &'static str;
    /// A resource id as it stands in examples.
    const EXAMPLE_ID: &'static str;

    /// Id and type of an actor as they stand in examples.
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("sct_01jz1111111111111111111111", "SCIM");

    /// A payload as a subscriber would see it.
    fn example() -> Self;
}

/// Something that happened to a resource, ready to be entered.
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
    /// An event about the resource of this id.
    pub fn new<D: EventData>(resource_id: impl Into<String>, data: &D) -> Self {
        Self {
            code: D::CODE,
            resource_type: D::RESOURCE_TYPE,
            resource_id: resource_id.into(),
            // A payload is a struct of strings, numbers and flags: it always has a JSON form.
            data: serde_json::to_string(data).unwrap_or_else(|_| String::from("{}")),
        }
    }
}
