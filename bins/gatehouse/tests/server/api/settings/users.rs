//! Lists of users that administrators filter, and the pages of people and groups.

use directory::Role;
use serde_json::{Value, json};

use crate::support::{Browser, on_both};

const USERS: &str = "/api/settings/users";

/// Returns the user names on this page, sorted, and the page.
fn names(browser: &Browser, query: &str) -> (Vec<String>, Value) {
    let answer = browser.get(&format!("{USERS}?{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    let page = answer.json();
    let users = page["users"].as_array().unwrap().iter();
    let mut names: Vec<_> = users.map(|user| user["userName"].as_str().unwrap().to_owned()).collect();
    names.sort();
    (names, page)
}

#[test]
fn users_are_filtered_and_a_filtered_list_is_paged() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let mut members = Vec::new();
        for name in ["nora", "noel", "zoe"] {
            let user = json!({ "userName": name, "externalId": name, "active": name != "noel" });
            members.push(json!({ "value": tenant.scim.post("/api/scim/v2/Users", &user).json()["id"] }));
        }
        members.pop();
        let group = json!({ "displayName": "N <b>", "members": members });
        let group = tenant.scim.post("/api/scim/v2/Groups", &group).json()["id"].as_str().unwrap().to_owned();
        for (query, expected) in [
            ("q=NO", vec!["noel", "nora"]),
            ("q=+nora+", vec!["nora"]),
            ("q=&role=&active=&factor=", vec!["admin@example.com", "noel", "nora", "zoe"]),
            ("role=ADMIN", vec!["admin@example.com"]),
            ("active=false", vec!["noel"]),
            ("source=SCIM&active=true", vec!["nora", "zoe"]),
            ("source=INVITED", vec!["admin@example.com"]),
            ("factor=true", vec![]),
            ("sso=true", vec![]),
            (&format!("group={group}"), vec!["noel", "nora"]),
        ] {
            assert_eq!(names(&admin, query).0, expected, "{query}");
        }
        let (first, page) = names(&admin, "source=SCIM&limit=2");
        let cursor = page["nextCursor"].as_str().unwrap();
        let (rest, last) = names(&admin, &format!("source=SCIM&limit=2&cursor={cursor}"));
        let mut all = [first, rest].concat();
        all.sort();
        assert_eq!(
            (all, last.get("nextCursor")),
            (vec!["noel".to_owned(), "nora".into(), "zoe".into()], None)
        );
        for wrong in
            ["role=OWNER", "active=1", "source=SSO", "group=usr_1", &format!("q={}", "x".repeat(201))]
        {
            let answer = admin.get(&format!("{USERS}?{wrong}"));
            let name = wrong.split('=').next().unwrap();
            assert_eq!(
                (answer.status, answer.json()["code"].as_str()),
                (400, Some("INVALID_REQUEST")),
                "{wrong}"
            );
            assert!(
                answer.json()["error"].as_str().unwrap().starts_with(&format!("{name}: ")),
                "{}",
                answer.text
            );
        }
        let page = admin.get("/settings/groups?q=n").text;
        assert!(page.contains("N &#60;b&#62;") && page.contains("2 members"), "{page}");
        let page = admin.get(&format!("/settings/people?group={group}&limit=1")).text;
        assert!(page.contains("Members of the group <b>N &#60;b&#62;</b>"), "{page}");
        assert!(page.contains(&format!("?group={group}&#38;limit=1&#38;cursor=")), "{page}");
    });
}

#[test]
fn users_and_groups_of_another_tenant_have_no_page() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, admin) = server.signed_in(&acme, "admin@example.com", Role::Admin);
        let stranger = server.person(&other, "stranger@example.com", Role::Member);
        let group = other.scim.post("/api/scim/v2/Groups", &json!({ "displayName": "G" })).json();
        let group = group["id"].as_str().unwrap();
        for path in [
            format!("/settings/people?id={}", stranger.id),
            format!("/settings/people?group={group}"),
            "/settings/people?id=nobody".to_owned(),
        ] {
            assert_eq!(admin.get(&path).status, 404, "{path}");
        }
        assert_eq!(names(&admin, &format!("group={group}")).0, [] as [&str; 0]);
        let (_, member) = server.signed_in(&acme, "member@example.com", Role::Member);
        for path in ["/settings/people", "/settings/groups", &format!("/settings/people?id={}", stranger.id)]
        {
            assert_eq!(member.get(path).status, 403, "{path}");
        }
    });
}
