//! Users and groups: what a store filters by, and names of attributes.

use scim_core::{
    Group, GroupDraft, MembersChanged, User, UserDraft, UserId,
    schema::{ENTERPRISE_USER, Schema, USERS},
};
use serde_json::{Value, json};

use crate::ctx;

const ENTERPRISE: &str = ENTERPRISE_USER.id;

fn user(body: &Value) -> User {
    User::new(&ctx(), UserDraft::read(body).unwrap()).unwrap()
}

fn group(body: &Value) -> Group {
    Group::new(&ctx(), &GroupDraft::read(body).unwrap()).unwrap()
}

#[test]
fn texts_are_folded_unless_they_are_case_exact() {
    let ada = user(&json!({
        "userName": "Ada",
        "title": "COUNTESS",
        "profileUrl": "https://Example.com/Ada",
        "emails": [{ "value": "Ada@Example.com", "primary": true }],
        ENTERPRISE: { "department": "ENGINES", "manager": { "value": "Usr_2" } },
    }));
    assert_eq!(ada.user_name_key(), "ada");
    let folded = ada.folded();
    assert_eq!(folded["title"], "countess");
    assert_eq!(folded["profileUrl"], "https://Example.com/Ada");
    assert_eq!(folded["emails"], json!([{ "value": "ada@example.com", "primary": true }]));
    assert_eq!(folded[ENTERPRISE], json!({ "department": "engines", "manager": { "value": "Usr_2" } }));
    assert_eq!(folded.get("userName"), None);
}

#[test]
fn fields_and_changes_list_attribute_names() {
    let ada = user(
        &json!({ "userName": "ada", "externalId": "x", "title": "Countess", ENTERPRISE: { "division": "x" } }),
    );
    assert_eq!(ada.fields(), ["userName", "externalId", "title", ENTERPRISE]);
    assert_eq!(user(&json!({ "userName": "ada" })).fields(), ["userName"]);
    let mut other = user(&json!({ "userName": "bob", "title": "Countess", "nickName": "b" }));
    assert_eq!(ada.changes(&other), ["userName", "externalId", ENTERPRISE, "nickName"]);
    other = User { active: false, ..ada.clone() };
    assert_eq!(ada.changes(&other), [""; 0]);

    let looms = group(&json!({ "displayName": "Looms" }));
    let engines = group(&json!({ "displayName": "Engines", "externalId": "x" }));
    assert_eq!(looms.changes(&engines), ["displayName", "externalId"]);
    assert_eq!(looms.changes(&Group { external_id: Some("x".into()), ..looms.clone() }), ["externalId"]);
    assert_eq!(looms.changes(&looms), [""; 0]);
}

#[test]
fn changes_of_members_are_empty_only_without_any() {
    let one = || vec![UserId::from(1)];
    for (joined, left, is_empty) in
        [(vec![], vec![], true), (one(), vec![], false), (vec![], one(), false), (one(), one(), false)]
    {
        assert_eq!(MembersChanged { joined, left }.is_empty(), is_empty);
    }
}

#[test]
fn schemas_are_found_by_urn_in_any_case() {
    for schema in USERS.schemas() {
        assert_eq!(Schema::of(&schema.id.to_uppercase()).map(|found| found.id), Some(schema.id));
    }
    assert!(Schema::of("urn:x").is_none());
}
