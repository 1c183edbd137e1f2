//! The API description and the event catalog, built once per process.

use std::{collections::HashMap, sync::OnceLock};

use serde_json::{Value, json};

use gate::document::Document;

const JSON: &str = "application/json";

/// The two documents.
pub(crate) struct Documents {
    value: Value,
    pub(crate) openapi: Document,
    pub(crate) events: Document,
    spec_version: String,
    /// The pages that show them by path, built for the first request.
    pub(crate) reference: OnceLock<HashMap<String, Document>>,
}

impl Documents {
    /// Builds both documents. `value` is the OpenAPI description.
    pub(crate) fn new(value: Value) -> Self {
        let (openapi, hash) = Document::new(JSON, value.to_string());
        let (events, _) = Document::new(JSON, events().to_string());
        Self { value, openapi, events, spec_version: format!("1.0.0+{hash}"), reference: OnceLock::new() }
    }

    pub(crate) fn openapi_json(&self) -> &Value {
        &self.value
    }

    pub(crate) fn spec_version(&self) -> &str {
        &self.spec_version
    }
}

/// Returns the event catalog: `{version, events: [{type, description, resourceType, schema, example}]}`.
pub fn events() -> Value {
    let events = json!(audit::events::catalog().specs());
    let (_, hash) = Document::new(JSON, events.to_string());
    json!({ "version": format!("1.0.0+{hash}"), "events": events })
}
