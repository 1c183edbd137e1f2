use serde_json::{Value, json};

use crate::support::{Caller, ada, on_both};

const SEARCH: &str = "/api/scim/v2/.search";
const USERS: &str = "/api/scim/v2/Users";
const GROUPS: &str = "/api/scim/v2/Groups";

fn ids(list: &Value) -> Vec<String> {
    list["Resources"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn search_lists_users_by_the_parameters_in_its_body() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let made = scim.post(USERS, &ada()).json();
        let search = |body: &Value| scim.post(&format!("{USERS}/.search"), body);
        let found = search(&json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
            "Filter": "userName eq \"ada@example.com\"",
            "startIndex": 1, "count": 10, "sortBy": "userName",
        }));
        assert_eq!(found.json()["Resources"], json!([made]));
        let chosen = search(&json!({ "attributes": ["userName"], "count": "5" })).json();
        assert_eq!(chosen["Resources"][0].as_object().unwrap().len(), 3);
        for (body, scim_type) in [
            (json!([]), "invalidSyntax"),
            (json!({ "filter": 7 }), "invalidValue"),
            (json!({ "filter": "x" }), "invalidFilter"),
            (json!({ "count": 1.5 }), "invalidValue"),
            (json!({ "attributes": 7 }), "invalidValue"),
            (json!({ "cursor": "x" }), "invalidCursor"),
        ] {
            let answer = search(&body);
            assert_eq!((answer.status, &answer.json()["scimType"]), (400, &json!(scim_type)), "{body}");
        }
        assert_eq!(scim.get(&format!("{USERS}/.search")).status, 405);
    });
}

#[test]
fn root_search_covers_users_and_groups() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let users: Vec<_> = (0..5)
            .map(|n| scim.post(USERS, &json!({ "userName": format!("u{n}"), "displayName": "x" })).json())
            .collect();
        for n in 0..3 {
            let body = json!({ "displayName": format!("x{n}"), "members": [{ "value": users[0]["id"] }] });
            assert_eq!(scim.post(GROUPS, &body).status, 201);
        }
        let search = |body: &Value| scim.post(SEARCH, body).json();
        let all = search(&json!({}));
        assert_eq!((&all["totalResults"], ids(&all).len()), (&json!(8), 8));
        assert_eq!(all["Resources"][0]["meta"]["resourceType"], "Group");
        assert_eq!(all["Resources"][0]["members"][0]["value"], users[0]["id"]);
        assert_eq!(all["Resources"][7]["meta"]["resourceType"], "User");

        let total = |filter: &str| search(&json!({ "filter": filter }))["totalResults"].clone();
        assert_eq!(total("displayName sw \"X\""), 8);
        assert_eq!(total("displayName sw \"X\" and meta.resourceType eq \"Group\""), 3);
        assert_eq!(total("userName eq \"u1\" or displayName eq \"x1\""), 2);
        assert_eq!(total("not (userName pr)"), 3);
        assert_eq!(scim.post(SEARCH, &json!({ "filter": "shoeSize pr" })).status, 400);

        // A page filled only by groups is the last one if no user follows, and has a cursor if one does.
        let cursor = |filter: &str| {
            let page = scim.post(SEARCH, &json!({ "filter": filter, "cursor": "", "count": 1 })).json();
            let body = json!({ "filter": filter, "cursor": page["nextCursor"], "count": 2 });
            (scim.post(SEARCH, &body).json(), page["nextCursor"].clone())
        };
        let (second, first) = cursor("not (userName pr)");
        assert_eq!((ids(&second).len(), &second["nextCursor"]), (2, &Value::Null));
        assert_ne!(cursor("displayName pr").0["nextCursor"], Value::Null);
        let other = scim.post(SEARCH, &json!({ "filter": "displayName pr", "cursor": first }));
        assert_eq!((other.status, &other.json()["scimType"]), (400, &json!("invalidCursor")));

        assert_eq!(walk_by_position(&scim), ids(&all));
        assert_eq!(walk_by_cursor(&scim), ids(&all));
    });
}

fn walk_by_position(scim: &Caller) -> Vec<String> {
    let page = |start| scim.post(SEARCH, &json!({ "startIndex": start, "count": 2 })).json();
    (1..=9).step_by(2).flat_map(|start| ids(&page(start))).collect()
}

fn walk_by_cursor(scim: &Caller) -> Vec<String> {
    let (mut walked, mut cursor) = (Vec::new(), json!(""));
    while !cursor.is_null() {
        let page = scim.post(SEARCH, &json!({ "cursor": cursor, "count": 3 })).json();
        assert_eq!(page["totalResults"], 8);
        walked.extend(ids(&page));
        cursor = page["nextCursor"].clone();
        assert!(walked.len() <= 8);
    }
    walked
}
