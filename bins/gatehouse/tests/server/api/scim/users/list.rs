use serde_json::{Value, json};

use super::USERS;
use crate::support::{Answer, Caller, ada, on_both};

fn find(scim: &Caller, filter: &str) -> Answer {
    scim.get(&format!("{USERS}?filter={}", filter.replace(' ', "+").replace('"', "%22")))
}

fn names(list: &Value) -> Vec<&str> {
    list["Resources"].as_array().unwrap().iter().map(|user| user["userName"].as_str().unwrap()).collect()
}

#[test]
fn an_empty_tenant_has_an_empty_list() {
    on_both(|server| {
        let answer = server.tenant("acme").scim.get(USERS);
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer.shown(), @r#"200 {"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"startIndex":1,"itemsPerPage":0,"Resources":[]}"#);
        }
    });
}

#[test]
fn user_is_found_by_the_filters_of_identity_providers() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let made = scim.post(USERS, &ada()).json();
        scim.post(USERS, &json!({ "userName": "bob", "externalId": "00U1" }));
        for filter in [
            r#"userName eq "ada@example.com""#,
            r#"USERNAME Eq "ADA@EXAMPLE.COM""#,
            r#"externalId eq "00u1""#,
            r#"emails.value eq "Ada@example.com""#,
        ] {
            let found = find(&scim, filter).json();
            assert_eq!(
                (&found["totalResults"], &found["Resources"]),
                (&json!(1), &json!([made])),
                "{filter}"
            );
        }
        let none = find(&scim, r#"userName eq "nobody""#);
        assert_eq!((none.status, none.json()["totalResults"].clone()), (200, json!(0)));
        let okta = scim.get(&format!("{USERS}?filter=userName%20eq%20%22bob%22&startIndex=1&count=100"));
        assert_eq!(names(&okta.json()), ["bob"]);
    });
}

#[test]
fn another_tenants_users_are_not_found() {
    on_both(|server| {
        let (acme, globex) = (server.tenant("acme").scim, server.tenant("globex").scim);
        acme.post(USERS, &ada());
        assert_eq!(globex.get(USERS).json()["totalResults"], 0);
        assert_eq!(find(&globex, r#"userName eq "ada@example.com""#).json()["totalResults"], 0);
    });
}

#[test]
fn unsupported_filter_is_refused_instead_of_matching_nothing() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        insta::allow_duplicates! {
            insta::assert_snapshot!(find(&scim, r#"shoeSize eq "x""#).shown(), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"filter: unknown attribute shoeSize, before position 8","scimType":"invalidFilter"}"#);
            insta::assert_snapshot!(find(&scim, "userName").shown(), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"filter: expected an operator after userName, before position 8","scimType":"invalidFilter"}"#);
        }
        for filter in ["", "userName xx \"a\"", "userName eq \"\\ud800\"", "userName eq \"a%00\"", "%ff"] {
            let answer = find(&scim, filter);
            assert_eq!(
                (answer.status, &answer.json()["scimType"]),
                (400, &json!("invalidFilter")),
                "{filter}"
            );
        }
    });
}

#[test]
fn pages_follow_rfc_7644() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        for number in 0..205 {
            assert_eq!(scim.post(USERS, &json!({ "userName": format!("u{number:03}") })).status, 201);
        }
        let page = |query: &str| scim.get(&format!("{USERS}?{query}")).json();
        let shape = |query: &str| {
            let page = page(query);
            let numbers =
                ["totalResults", "startIndex", "itemsPerPage"].map(|name| page[name].as_u64().unwrap());
            (numbers, page["Resources"].as_array().unwrap().len())
        };
        assert_eq!(shape(""), ([205, 1, 100], 100), "100 by default");
        assert_eq!(shape("count=500"), ([205, 1, 200], 200), "200 at most");
        assert_eq!(shape("count=0"), ([205, 1, 0], 0));
        assert_eq!(shape("count=-1"), ([205, 1, 0], 0));
        assert_eq!(shape("startIndex=0&count=1"), ([205, 1, 1], 1));
        assert_eq!(shape("startIndex=-5&count=1"), ([205, 1, 1], 1));
        assert_eq!(shape("startIndex=204&count=10"), ([205, 204, 2], 2));
        assert_eq!(shape("startIndex=206"), ([205, 206, 0], 0), "past the end");
        let big = i64::MAX.unsigned_abs();
        assert_eq!(shape("startIndex=99999999999999999999"), ([205, big, 0], 0));
        let mut seen = Vec::new();
        for start in (1..=205).step_by(50) {
            seen.extend(
                names(&page(&format!("startIndex={start}&count=50"))).iter().map(ToString::to_string),
            );
        }
        let whole = [page("count=200"), page("startIndex=201")];
        let whole: Vec<_> = whole.iter().flat_map(names).collect();
        assert_eq!(seen, whole, "small pages have the same users in the same order");
        // Entries of the same millisecond have no defined order.
        seen.sort();
        assert_eq!(seen, (0..205).map(|number| format!("u{number:03}")).collect::<Vec<_>>(), "once each");
        insta::allow_duplicates! {
            insta::assert_snapshot!(scim.get(&format!("{USERS}?count=ten")).shown(), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"count: must be an integer","scimType":"invalidValue"}"#);
            insta::assert_snapshot!(scim.get(&format!("{USERS}?startIndex=1.5")).shown(), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"startIndex: must be an integer","scimType":"invalidValue"}"#);
        }
    });
}
