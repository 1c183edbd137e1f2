//! Lists of users that administrators filter, and the pages of people and groups.

use directory::Role;
use serde_json::{Value, json};

use crate::support::{Browser, eventually, on_both};

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
        for wrong in [
            "role=OWNER",
            "active=1",
            "source=SSO",
            "group=usr_1",
            "q=a%00",
            &format!("q={}", "x".repeat(201)),
        ] {
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

#[test]
fn sign_in_test_names_the_rule_that_a_sign_in_meets() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, admin) = server.signed_in(&acme, "admin@example.com", Role::Admin);
        let ada = server.person(&acme, "ada@example.com", Role::Member);
        let stranger = server.person(&other, "stranger@example.com", Role::Member);
        let path = format!("{USERS}/{}/sign-in-test", ada.id);
        let test = |body: Value| {
            let tested = admin.post(&path, &body).json();
            (
                tested["result"].as_str().unwrap().to_owned(),
                tested["refusal"]["code"].as_str().map(str::to_owned),
            )
        };
        let refused = |code: &str| ("REFUSED".to_owned(), Some(code.to_owned()));
        let password = || json!({ "first": "PASSWORD", "ip": "127.0.0.1" });
        assert_eq!(test(password()), ("SIGNED_IN".into(), None));
        assert_eq!(server.browser().sign_in("ada@example.com", ada.password).status, 200);
        assert_eq!(test(json!({ "first": "PASSKEY" })), refused("NO_PASSKEY"));
        assert_eq!(test(json!({ "first": "SSO" })), refused("NO_SSO_CONNECTION"));

        // The page explains refusals that happened. They are recorded after the response.
        let page = || admin.get(&format!("/settings/people?id={}", ada.id)).text;
        assert!(page().contains("No refused sign-in was recorded."));
        assert_eq!(server.browser().sign_in("ada@example.com", "not the password").status, 401);
        eventually(|| page().contains("<b>The password was wrong.</b> Reset the password"));
        assert_eq!(
            admin.send("PATCH", &format!("{USERS}/{}", ada.id), Some(&json!({ "active": false }))).status,
            200
        );
        assert_eq!(test(password()), refused("ACCOUNT_DISABLED"));
        let answer = server.browser().sign_in("ada@example.com", ada.password);
        assert_eq!(answer.json()["code"], "ACCOUNT_DISABLED");
        eventually(|| page().contains("<b>The account is disabled.</b> Enable the account."));

        for wrong in [json!({}), json!({ "first": "LINK" }), json!({ "first": "SSO", "ip": "here" })] {
            assert_eq!(admin.post(&path, &wrong).json()["code"], "INVALID_REQUEST", "{wrong}");
        }
        let foreign = format!("{USERS}/{}/sign-in-test", stranger.id);
        assert_eq!(admin.post(&foreign, &password()).status, 404);
    });
}

#[test]
fn sign_in_test_applies_the_network_policy() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let proved = server.proved(&admin, "NETWORK_POLICY_CHANGE");
        let rule = json!({ "cidr": "203.0.113.0/24", "label": "Office" });
        assert_eq!(proved.post("/api/settings/network-policy/rules", &rule).status, 200);
        let proved = server.proved(&admin, "NETWORK_POLICY_CHANGE");
        let policy = json!({
            "mode": "ALLOWLIST", "adminBypass": true,
            "enforcement": { "SIGN_IN": true, "DASHBOARD": false, "API": false },
        });
        assert_eq!(proved.send("PUT", "/api/settings/network-policy", Some(&policy)).status, 200);
        let path = format!("{USERS}/{}/sign-in-test", ada.id);
        for (ip, expected) in [("203.0.113.9", "SIGNED_IN"), ("198.51.100.1", "REFUSED")] {
            let tested = admin.post(&path, &json!({ "first": "PASSWORD", "ip": ip })).json();
            assert_eq!(tested["result"], expected, "{ip}: {tested}");
        }
        assert_eq!(
            server.browser().sign_in("ada@example.com", ada.password).json()["code"],
            "NETWORK_POLICY_BLOCKED"
        );
        let page = || admin.get(&format!("/settings/people?id={}", ada.id)).text;
        eventually(|| page().contains("<b>The network policy blocks the address.</b>"));
    });
}
