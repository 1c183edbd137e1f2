//! The schemas of the OpenAPI description accept what the parsers accept.

use attestation::{Aaguid, RefusedPasskey};
use regex::Regex;
use serde_json::to_value;
use utoipa::{PartialSchema, ToSchema};

#[test]
fn models_match_the_pattern() {
    assert_eq!(Aaguid::name(), "AuthenticatorMake");
    let schema = to_value(Aaguid::schema()).unwrap();
    assert_eq!((&schema["type"], &schema["format"]), (&"string".into(), &"uuid".into()));
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    for text in [
        "73bb0cd4-e502-49b8-9c6f-b59445bf720b",
        "73BB0CD4-E502-49B8-9C6F-B59445BF720B",
        "73bb0cd4e50249b89c6fb59445bf720b",
        "73bb0cd4-e502-49b8-9c6f-b59445bf720",
        "73bb0cd4-e502-49b8-9c6f-b59445bf720b0",
        "73bb0cd4-e50249b8-9c6f-b59445bf720b",
        "{73bb0cd4-e502-49b8-9c6f-b59445bf720b}",
        "73bb0cd4-e502-49b8-9c6f-b59445bf720g",
        "",
    ] {
        assert_eq!(pattern.is_match(text), text.parse::<Aaguid>().is_ok(), "{text}");
    }
}

#[test]
fn values_of_trust_are_described_where_they_are_defined() {
    let schema = to_value(RefusedPasskey::schema()).unwrap();
    let trust = &schema["properties"]["trust"];
    assert_eq!(trust["$ref"], "#/components/schemas/AuthenticatorTrust");
    assert!(trust["description"].as_str().unwrap().contains("`trusted`"));
}
