use serde_json::json;

use super::USERS;
use crate::support::{ada, on_both};

#[test]
fn new_user_is_returned_in_full() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let answer = tenant.scim.post(USERS, &ada());
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer.shown(), @r#"201 {"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"[id]","externalId":"00u1","userName":"Ada@Example.com","active":true,"name":{"familyName":"Lovelace","givenName":"Ada"},"emails":[{"value":"ada@example.com","type":"work","primary":true}],"meta":{"resourceType":"User","created":[time],"lastModified":[time],"location":"[base]/api/scim/v2/Users/[id]"}}"#);
        }
        assert_eq!(answer.header("content-type"), "application/scim+json");
        assert_eq!(answer.header("location"), answer.json()["meta"]["location"].as_str().unwrap());
        assert_eq!(answer.header("cache-control"), "no-store");

        let entry = server.entry(&tenant, "ACCOUNT_USER_CREATED");
        assert_eq!(entry.resource_id, answer.json()["id"].as_str().unwrap());
        assert_eq!((entry.actor_type.as_str(), &entry.actor_id), ("SCIM", &tenant.token_id.to_string()));
        assert_eq!(entry.ip.as_deref(), Some("127.0.0.1"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(entry.metadata, @r#"{"active":true,"role":"MEMBER","fields":["userName","externalId","name","emails"]}"#);
        }
    });
}

#[test]
fn existing_user_is_returned_unchanged() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let first = tenant.scim.post(USERS, &ada());
        let entries = server.entries(&tenant).len();
        let again = tenant.scim.post(USERS, &json!({ "userName": "ADA@EXAMPLE.COM", "title": "Countess" }));
        assert_eq!((again.status, again.json()), (200, first.json()));
        assert_eq!(server.entries(&tenant).len(), entries, "an existing user adds no audit entry");
    });
}

#[test]
fn token_can_request_a_conflict_for_existing_users() {
    on_both(|server| {
        let tenant = server.tenant_with("acme", true);
        assert_eq!(tenant.scim.post(USERS, &ada()).status, 201);
        insta::allow_duplicates! {
            insta::assert_snapshot!(tenant.scim.post(USERS, &ada()).shown(), @r#"409 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"409","detail":"userName: this value is already taken","scimType":"uniqueness"}"#);
        }
    });
}

#[test]
fn a_sign_in_address_belongs_to_one_user() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        assert_eq!(scim.post(USERS, &ada()).status, 201);
        let other = json!({ "userName": "other", "emails": [{ "value": "ADA@example.com" }] });
        insta::allow_duplicates! {
            insta::assert_snapshot!(scim.post(USERS, &other).shown(), @r#"409 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"409","detail":"emails: this value is already taken","scimType":"uniqueness"}"#);
        }
    });
}

#[test]
fn user_names_are_unique_only_within_a_tenant() {
    on_both(|server| {
        assert_eq!(server.tenant("acme").scim.post(USERS, &ada()).status, 201);
        assert_eq!(server.tenant("globex").scim.post(USERS, &ada()).status, 201);
    });
}

#[test]
fn errors_name_the_attribute() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let problem = |body| scim.post(USERS, &body).shown();
        insta::allow_duplicates! {
            insta::assert_snapshot!(problem(json!({})), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"userName: is required","scimType":"invalidValue"}"#);
            insta::assert_snapshot!(problem(json!({ "userName": "" })), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"userName: must not be blank","scimType":"invalidValue"}"#);
            insta::assert_snapshot!(problem(json!({ "userName": "a", "emails": [{ "value": "b" }] })), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"emails[0].value: must be an email address such as ada@example.com","scimType":"invalidValue"}"#);
            insta::assert_snapshot!(problem(json!({ "userName": "a", "name": { "givenName": 1 } })), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"name.givenName: must be a string","scimType":"invalidValue"}"#);
            insta::assert_snapshot!(problem(json!(["userName"])), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"the body must be a JSON object that describes a user","scimType":"invalidSyntax"}"#);
        }
    });
}

#[test]
fn password_is_accepted_and_not_stored() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let answer = scim.post(USERS, &json!({ "userName": "ada", "password": "hunter2hunter2" }));
        assert_eq!(answer.status, 201);
        assert!(!answer.text.contains("hunter2") && !answer.text.contains("password"));
    });
}

#[test]
fn unusual_text_survives_the_round_trip() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        for name in ["Ægir 🦀", "李", "a\"b\\c", "%_*()", "' OR 1=1 --", "\u{202e}abc", "İstanbul", "ß"]
        {
            let made = scim.post(USERS, &json!({ "userName": name, "title": name }));
            assert_eq!(made.status, 201, "{name}");
            let read = scim.get(&format!("{USERS}/{}", made.json()["id"].as_str().unwrap())).json();
            assert_eq!((&read["userName"], &read["title"]), (&json!(name), &json!(name)));
        }
    });
}
