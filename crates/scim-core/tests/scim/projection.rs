//! Selection of attributes (RFC 7644 §3.9).

use scim_core::{
    Group, GroupDraft, Projection, User, UserDraft, UserId,
    schema::{ENTERPRISE_USER, GROUPS, USERS},
};
use serde_json::{Value, json};

use crate::ctx;

const ENTERPRISE: &str = ENTERPRISE_USER.id;

fn ada() -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "id": "1",
        "userName": "ada",
        "active": true,
        "name": { "givenName": "Ada", "familyName": "Lovelace" },
        "emails": [{ "value": "ada@example.com", "type": "work" }, { "type": "home" }],
        ENTERPRISE: { "department": "Engines", "manager": { "value": "2", "displayName": "Bob" } },
    })
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns what is selected from the user, without `schemas` and `id`, which always are.
fn selected(attributes: &[&str], excluded: &[&str]) -> Value {
    let mut selected = Projection::new(&USERS, &names(attributes), &names(excluded)).of(ada());
    let members = selected.as_object_mut().unwrap();
    assert!(members.remove("schemas").is_some() && members.remove("id").is_some());
    selected
}

#[test]
fn only_these_attributes_are_selected() {
    let extension = format!("{ENTERPRISE}:");
    let of = |name: &str| format!("{extension}{name}");
    for (attributes, expected) in [
        (vec!["USERNAME"], json!({ "userName": "ada" })),
        (vec!["unknown"], json!({})),
        (vec!["title"], json!({})),
        (vec!["name.givenName"], json!({ "name": { "givenName": "Ada" } })),
        (vec!["name.honorificPrefix"], json!({})),
        (vec!["name.givenName", "name"], json!({ "name": ada()["name"] })),
        (vec!["emails.value"], json!({ "emails": [{ "value": "ada@example.com" }] })),
        (vec!["emails.type", "emails.value"], json!({ "emails": ada()["emails"] })),
        (vec!["emails.display"], json!({})),
        (vec![ENTERPRISE], json!({ ENTERPRISE: ada()[ENTERPRISE] })),
        (vec![&of("department")], json!({ ENTERPRISE: { "department": "Engines" } })),
        (vec![&of("manager.value")], json!({ ENTERPRISE: { "manager": { "value": "2" } } })),
        (vec![&of("division")], json!({})),
        (
            vec![&of("department"), "active"],
            json!({ "active": true, ENTERPRISE: { "department": "Engines" } }),
        ),
    ] {
        assert_eq!(selected(&attributes, &[]), expected, "{attributes:?}");
    }
}

#[test]
fn these_attributes_are_left_out() {
    let all = || {
        let Value::Object(mut members) = ada() else { unreachable!() };
        members.retain(|name, _| name != "schemas" && name != "id");
        members
    };
    let [department, manager] = ["department", "manager"].map(|name| format!("{ENTERPRISE}:{name}"));
    let manager_value = format!("{manager}.value");
    for (excluded, name, expected) in [
        (vec!["id"], "id", Value::Null),
        (vec!["unknown"], "unknown", Value::Null),
        (vec!["userName"], "userName", Value::Null),
        (vec!["name"], "name", Value::Null),
        (vec!["name.givenName"], "name", json!({ "familyName": "Lovelace" })),
        (vec!["name.givenName", "name.familyName"], "name", Value::Null),
        (vec!["emails.type"], "emails", json!([{ "value": "ada@example.com" }])),
        (vec!["emails.type", "emails.value"], "emails", Value::Null),
        (vec!["active.value"], "active.value", Value::Null),
        (vec![ENTERPRISE], ENTERPRISE, Value::Null),
        (vec![&*department], ENTERPRISE, json!({ "manager": ada()[ENTERPRISE]["manager"] })),
        (vec![&*department, &*manager], ENTERPRISE, Value::Null),
        (
            vec![&*manager_value],
            ENTERPRISE,
            json!({ "department": "Engines", "manager": { "displayName": "Bob" } }),
        ),
    ] {
        let mut expected_members = all();
        expected_members.remove(name);
        if !expected.is_null() {
            expected_members.insert(name.to_owned(), expected);
        }
        assert_eq!(selected(&[], &excluded), Value::Object(expected_members), "{excluded:?}");
    }
    assert_eq!(selected(&["userName"], &["userName"]), json!({ "userName": "ada" }), "attributes precede");
}

#[test]
fn attribute_is_wanted_if_a_part_of_it_is() {
    let wants = |attributes: &[&str], excluded: &[&str]| {
        Projection::new(&USERS, &names(attributes), &names(excluded)).wants("groups")
    };
    assert!(wants(&[], &[]));
    assert!(wants(&["groups"], &[]) && wants(&["groups.value"], &[]) && !wants(&["userName"], &[]));
    assert!(!wants(&[], &["groups"]) && wants(&[], &["groups.value"]) && wants(&[], &["userName"]));
    assert!(!wants(&[], &["groups.value", "groups"]));
}

#[test]
fn repeated_names_count_once() {
    let projection = Projection::new(&USERS, &names(&["title", "TITLE", "title"]), &[]);
    assert!(matches!(projection, Projection::Only(selected) if selected.len() == 1));
}

#[test]
fn resources_are_written_as_selected() {
    let ctx = ctx();
    let user = User::new(&ctx, UserDraft::read(&ada()).unwrap()).unwrap();
    let group = GroupDraft::read(&json!({ "displayName": "Engines" })).unwrap();
    let (group, members) = (Group::new(&ctx, &group).unwrap(), [UserId::from(1)]);
    for selection in [&[][..], &["externalId", "active", "displayName"]] {
        let (mut written, base) = (String::new(), "https://host.example");
        let users = Projection::new(&USERS, &names(selection), &[]);
        users.write_user(user.clone(), base, &mut written);
        let written_user: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written_user, users.of(user.clone().into_json(base)));
        assert_eq!(written_user["active"], true);

        written.clear();
        let groups = Projection::new(&GROUPS, &names(selection), &[]);
        groups.write_group(&group, &members, base, &mut written);
        let written_group: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written_group, groups.of(group.to_json(&members, base)));
        assert_eq!(written_group["displayName"], "Engines");
    }
}
