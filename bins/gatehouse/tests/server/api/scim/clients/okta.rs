//! Okta: looks up, creates, replaces with the attributes it read, deactivates, and never deletes.

use serde_json::{Value, json};

use super::{GROUPS, USERS};
use crate::support::{Caller, on_both};

fn okta(scim: &Caller) -> Caller {
    scim.with("User-Agent", "Okta SCIM Client 1.0.0").with("Accept", "application/scim+json")
}

fn send(scim: &Caller, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let answer = scim.send(method, path, Some("application/scim+json; charset=utf-8"), &body.to_string());
    (answer.status, answer.json())
}

#[test]
fn okta_creates_updates_and_deactivates_a_user() {
    on_both(|server| {
        let scim = okta(&server.tenant_with("acme", true).scim);
        let find = || {
            scim.get(&format!(
                "{USERS}?filter=userName%20eq%20%22test.user%40okta.local%22&startIndex=1&count=100"
            ))
            .json()
        };
        let none = find();
        assert_eq!((&none["totalResults"], &none["Resources"]), (&json!(0), &json!([])));
        let (status, made) = send(
            &scim,
            "POST",
            USERS,
            &json!({
                "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
                "userName": "test.user@okta.local",
                "name": { "givenName": "Test", "familyName": "User" },
                "emails": [{ "primary": true, "value": "test.user@okta.local", "type": "work", "display": "test.user@okta.local" }],
                "displayName": "Test User", "locale": "en-US", "externalId": "00ujl29u0le5T6Aj10h7",
                "groups": [], "password": "1mz050nq", "active": true,
            }),
        );
        assert_eq!(status, 201);
        assert_eq!(find()["Resources"], json!([made]));
        let (status, again) = send(&scim, "POST", USERS, &json!({ "userName": "test.user@okta.local" }));
        assert_eq!(
            (status, &again["status"], &again["scimType"]),
            (409, &json!("409"), &json!("uniqueness"))
        );

        // A profile update sends all attributes that were read, with the changes.
        let path = format!("{USERS}/{}", made["id"].as_str().unwrap());
        let mut whole = scim.get(&path).json();
        whole["name"]["familyName"] = json!("Changed");
        whole["groups"] = json!([]);
        let (status, changed) = send(&scim, "PUT", &path, &whole);
        assert_eq!(
            (status, &changed["name"]["familyName"], &changed["id"]),
            (200, &json!("Changed"), &made["id"])
        );
        assert_eq!(changed["emails"], made["emails"]);

        let off = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
            "Operations": [{ "op": "replace", "value": { "active": false } }],
        });
        let (status, inactive) = send(&scim, "PATCH", &path, &off);
        assert_eq!((status, &inactive["active"]), (200, &json!(false)));
        assert_eq!(find()["Resources"][0]["active"], false, "deactivated users are still listed");
        whole["active"] = json!(true);
        assert_eq!(send(&scim, "PUT", &path, &whole).1["active"], true);
    });
}

#[test]
fn pages_match_oktas_published_test_suite() {
    on_both(|server| {
        let scim = okta(&server.tenant("acme").scim);
        for n in 0..3 {
            send(&scim, "POST", USERS, &json!({ "userName": format!("u{n}@okta.local") }));
        }
        let page = |query: &str| scim.get(&format!("{USERS}?{query}")).json();
        let past = page("startIndex=100&count=10");
        assert_eq!((&past["totalResults"], &past["Resources"]), (&json!(3), &json!([])));
        assert_eq!(page("startIndex=0&count=2")["startIndex"], 1);
        assert_eq!(page("startIndex=1&count=-1")["Resources"], json!([]));
        let totals = page("count=0");
        assert_eq!((&totals["totalResults"], &totals["itemsPerPage"]), (&json!(3), &json!(0)));
        let unknown = scim.get(&format!("{USERS}/010101001010101011001010101011"));
        assert_eq!(
            (unknown.status, &unknown.json()["schemas"][0]),
            (404, &json!("urn:ietf:params:scim:api:messages:2.0:Error"))
        );
    });
}

#[test]
fn okta_pushes_links_and_empties_a_group() {
    on_both(|server| {
        let scim = okta(&server.tenant("acme").scim);
        let id = |name: &str| send(&scim, "POST", USERS, &json!({ "userName": name })).1["id"].clone();
        let (ada, bob) = (id("ada@okta.local"), id("bob@okta.local"));
        assert_eq!(
            scim.get(&format!("{GROUPS}?filter=displayName%20eq%20%22Sales%22&startIndex=1&count=100"))
                .json()["totalResults"],
            0
        );
        let (status, made) = send(
            &scim,
            "POST",
            GROUPS,
            &json!({
                "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": "Sales", "members": [],
            }),
        );
        assert_eq!(status, 201);
        let path = format!("{GROUPS}/{}", made["id"].as_str().unwrap());
        let patch = |operations: Value| {
            let body = json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations });
            send(&scim, "PATCH", &path, &body)
        };
        let (status, full) = patch(json!([{ "op": "add", "path": "members", "value": [
            { "value": ada, "display": "ada@okta.local" }, { "value": bob, "display": "bob@okta.local" },
        ] }]));
        assert_eq!((status, full["members"].as_array().unwrap().len()), (200, 2));
        let (_, renamed) =
            patch(json!([{ "op": "replace", "value": { "id": made["id"], "displayName": "Sales EMEA" } }]));
        assert_eq!(renamed["displayName"], "Sales EMEA");
        let selected = format!("members[value eq {bob}]");
        let (_, one) = patch(json!([{ "op": "remove", "path": selected }]));
        assert_eq!((one["members"].as_array().unwrap().len(), &one["members"][0]["value"]), (1, &ada));
        let (_, other) = patch(
            json!([{ "op": "replace", "path": "members", "value": [{ "value": bob, "display": "x" }] }]),
        );
        assert_eq!(other["members"][0]["value"], bob);
        let whole = json!({ "schemas": [], "id": made["id"], "displayName": "Sales", "members": [] });
        let (status, empty) = send(&scim, "PUT", &path, &whole);
        assert_eq!((status, &empty["members"]), (200, &Value::Null));
        assert_eq!(scim.delete(&path).status, 204);
    });
}
