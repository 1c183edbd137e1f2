use serde_json::json;

use super::USERS;
use crate::support::{ada, on_both};

#[test]
fn replace_removes_absent_attributes_except_active() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let made = tenant.scim.post(USERS, &ada()).json();
        let path = format!("{USERS}/{}", made["id"].as_str().unwrap());
        tenant.scim.put(&path, &json!({ "userName": "ada", "active": false }));
        let answer = tenant.scim.put(&path, &json!({ "userName": "ada", "title": "Countess" }));
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer.shown(), @r#"200 {"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"[id]","userName":"ada","active":false,"title":"Countess","meta":{"resourceType":"User","created":[time],"lastModified":[time],"location":"[base]/api/scim/v2/Users/[id]"}}"#);
        }
        assert_eq!(tenant.scim.get(&path).json(), answer.json());
        assert!(answer.json()["meta"]["lastModified"].as_str() >= made["meta"]["lastModified"].as_str());
        assert_eq!(answer.json()["meta"]["created"], made["meta"]["created"]);

        let entries = server.entries(&tenant);
        let mut recorded: Vec<_> =
            entries.iter().map(|entry| format!("{} {}", entry.action, entry.metadata)).collect();
        // Entries of the same millisecond have no defined order.
        recorded.sort();
        insta::allow_duplicates! {
            insta::assert_debug_snapshot!(recorded, @r#"
[
    "ACCOUNT_TENANT_CREATED {\"slug\":\"acme\",\"tier\":\"STANDARD\"}",
    "ACCOUNT_USER_CREATED {\"active\":true,\"role\":\"MEMBER\",\"fields\":[\"userName\",\"externalId\",\"name\",\"emails\"]}",
    "ACCOUNT_USER_DEACTIVATED {}",
    "ACCOUNT_USER_UPDATED {\"changed\":[\"title\"]}",
    "ACCOUNT_USER_UPDATED {\"changed\":[\"userName\",\"externalId\",\"name\",\"emails\"]}",
]
"#);
        }
    });
}

#[test]
fn replace_without_changes_records_nothing() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let made = tenant.scim.post(USERS, &ada()).json();
        let entries = server.entries(&tenant).len();
        // Okta sends back what it read, including read-only and unknown members.
        let mut echo = made.clone();
        echo["groups"] = json!([]);
        echo["password"] = json!("ignored");
        let answer = tenant.scim.put(&format!("{USERS}/{}", made["id"].as_str().unwrap()), &echo);
        assert_eq!((answer.status, answer.json()), (200, made));
        assert_eq!(server.entries(&tenant).len(), entries);
    });
}

#[test]
fn replace_refuses_unique_values_of_other_users() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        scim.post(USERS, &ada());
        let bob = scim.post(USERS, &json!({ "userName": "bob" })).json();
        let path = format!("{USERS}/{}", bob["id"].as_str().unwrap());
        insta::allow_duplicates! {
            insta::assert_snapshot!(scim.put(&path, &json!({ "userName": "ADA@example.com" })).shown(), @r#"409 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"409","detail":"userName: this value is already taken","scimType":"uniqueness"}"#);
            insta::assert_snapshot!(scim.put(&path, &json!({ "userName": "bob", "emails": ["ada@example.com"] })).shown(), @r#"409 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"409","detail":"emails: this value is already taken","scimType":"uniqueness"}"#);
        }
        assert_eq!(scim.get(&path).json(), bob);
        assert_eq!(
            scim.put(&path, &json!({ "userName": "BOB" })).status,
            200,
            "the user's own name in another case"
        );
    });
}

#[test]
fn errors_are_checked_in_order() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let foreign = server.tenant("globex").scim.post(USERS, &ada()).json();
        let path = format!("{USERS}/{}", foreign["id"].as_str().unwrap());
        insta::allow_duplicates! {
            // 400 before 404: an invalid body must not reveal what exists.
            insta::assert_snapshot!(scim.put(&path, &json!({})).shown(), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"userName: is required","scimType":"invalidValue"}"#);
            insta::assert_snapshot!(scim.put(&path, &json!({ "userName": "x" })).shown(), @r#"404 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404","detail":"There is no resource with this ID."}"#);
        }
    });
}
