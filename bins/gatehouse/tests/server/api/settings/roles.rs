//! Roles: what each permits, those of a tenant's own, and rules that give them to groups.

use std::collections::BTreeSet;

use directory::Role;
use serde_json::{Value, json};

use crate::{
    operations::{World, operations, request},
    support::{Answer, Browser, Server, Tenant, on_both},
};

const USERS: &str = "/api/settings/users";
const ROLES: &str = "/api/settings/roles";
const RULES: &str = "/api/settings/role-rules";

/// The operations that each built-in role permits besides those of every user: by the beginning of their paths, or one by
/// method and path.
const PERMITTED: [(Role, &[&str]); 5] = [
    (
        Role::Security,
        &[
            "/api/settings/sign-in-policy",
            "/api/settings/network-policy",
            "/api/settings/attestation-policy",
            "/api/settings/saml-providers",
            "/api/settings/oidc-providers",
            "GET /api/settings/signals/transmitters",
            "GET /api/settings/signals/transmitters/{id}",
            "/api/settings/sso-connections",
            "/api/settings/domains",
            "/api/settings/scim-tokens",
            "/api/settings/removal-limit",
            "/api/settings/users/{id}/saml-subjects",
        ],
    ),
    (
        Role::Support,
        &[
            "GET /api/settings/users",
            "GET /api/settings/users/{id}",
            "/api/settings/users/{id}/reset-",
            "/api/settings/users/{id}/sessions",
            "/api/settings/users/{id}/tokens",
            "/api/settings/users/{id}/sign-in-test",
        ],
    ),
    (Role::Auditor, &["/api/settings/audit-log"]),
    (Role::Developer, &["/api/settings/webhooks"]),
    (Role::Member, &[]),
];

/// What everybody with any permission for the settings may read.
const ANY: [&str; 2] = ["GET /api/settings/tenant", "GET /api/settings/roles"];
/// What every user may read.
const EVERYBODY: [&str; 4] = [
    "GET /api/settings/network-policy",
    "POST /api/settings/network-policy/test",
    "GET /api/settings/attestation-policy",
    "POST /api/settings/attestation-policy/test",
];

fn reason(answer: &Answer) -> (u16, String) {
    let reason = if answer.status < 400 { Value::Null } else { answer.json()["reason"].clone() };
    (answer.status, reason.as_str().unwrap_or_default().to_owned())
}

fn proved(server: &Server, browser: &Browser) -> Browser {
    server.proved(browser, "USER_ADMIN_CHANGE")
}

fn patch(browser: &Browser, user: &kernel::UserId, body: &Value) -> Answer {
    browser.send("PATCH", &format!("{USERS}/{user}"), Some(body))
}

#[test]
fn each_role_permits_its_operations_and_no_others() {
    on_both(|server| {
        let world = World::new(server, "acme");
        for (role, permitted) in PERMITTED {
            let email = format!("{}@example.com", role.as_str().to_lowercase());
            let (_, browser) = server.signed_in(&world.tenant, &email, role.clone());
            let mut refused = BTreeSet::new();
            for operation in operations().iter().filter(|one| one.path.starts_with("/api/settings/")) {
                let name = format!("{} {}", operation.method, operation.path);
                let is_in =
                    |list: &[&str]| list.iter().any(|one| name == *one || operation.path.starts_with(one));
                let any = role != Role::Member && ANY.contains(&name.as_str());
                let may = is_in(permitted) || any || EVERYBODY.contains(&name.as_str());
                let (path, body) = request(operation, &crate::operations::nobody());
                let answer = browser.send(&operation.method, &path, body.as_ref());
                let is_refused = reason(&answer) == (403, "ROLE_REQUIRED".into());
                assert_eq!(is_refused, !may, "{role}: {name}: {} {}", answer.status, answer.text);
                if is_refused {
                    refused.insert(name);
                }
            }
            assert!(!refused.is_empty(), "{role}");
        }
    });
}

#[test]
fn nobody_acts_on_users_with_more_permissions() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (admin, _) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (auditor, auditors) = server.signed_in(&tenant, "audit@example.com", Role::Auditor);
        let (member, members) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let (_, support) = server.signed_in(&tenant, "support@example.com", Role::Support);
        for above in [&admin, &auditor] {
            for (method, rest) in [
                ("POST", "/reset-password"),
                ("POST", "/reset-factors"),
                ("DELETE", "/sessions"),
                ("DELETE", "/sessions/ses_06gzkadrwwt5d9z93ens6801xc"),
                ("DELETE", "/tokens/ptk_06gzkadrwwt5d9z93ens6801xc"),
            ] {
                let path = format!("{USERS}/{}{rest}", above.id);
                let answer = proved(server, &support).send(method, &path, None);
                assert_eq!(reason(&answer), (403, "ROLE_REQUIRED".into()), "{method} {path}");
            }
        }
        assert_eq!(auditors.get("/api/me").status, 200);
        let path = format!("{USERS}/{}/reset-password", member.id);
        assert_eq!(proved(server, &support).send("POST", &path, None).status, 200);
        assert_eq!(members.get("/api/me").status, 401);
        // The permission to reset does not include changes of the account.
        let changed = patch(&proved(server, &support), &member.id, &json!({ "active": false }));
        assert_eq!(reason(&changed), (403, "ROLE_REQUIRED".into()));
    });
}

#[test]
fn roles_of_the_tenants_own_are_assigned_and_changed_at_once() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (bob, browser) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let body = json!({ "name": "Help desk", "permissions": ["support:users"] });
        let refused = admin.post(ROLES, &body);
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("STEP_UP_REQUIRED")));
        let made = proved(server, &admin).post(ROLES, &body);
        assert_eq!(made.status, 200, "{}", made.text);
        let role = made.json();
        assert_eq!(role["permissions"], json!(["support:users", "read:users"]));
        assert_eq!(role["builtIn"], json!(false));
        let id = role["id"].as_str().unwrap();
        let same_name = json!({ "name": "HELP DESK", "permissions": ["read:audit"] });
        let taken = proved(server, &admin).post(ROLES, &same_name);
        assert_eq!((taken.status, &taken.json()["code"]), (409, &json!("uniqueness")), "{}", taken.text);

        assert_eq!(reason(&browser.get(USERS)), (403, "ROLE_REQUIRED".into()));
        let assigned = patch(&proved(server, &admin), &bob.id, &json!({ "role": id }));
        assert_eq!((assigned.status, &assigned.json()["role"]), (200, &json!(id)), "{}", assigned.text);
        assert_eq!(browser.get("/api/me").json()["role"], json!(id));
        assert_eq!(browser.get(USERS).status, 200);
        assert_eq!(admin.get(&format!("{USERS}?role={id}")).json()["users"].as_array().unwrap().len(), 1);
        assert_eq!(admin.get(&format!("{USERS}?role=MEMBER")).json()["users"], json!([]));

        let path = format!("{ROLES}/{id}");
        let narrower = json!({ "name": "Auditors", "permissions": ["read:audit"] });
        let changed = proved(server, &admin).put(&path, &narrower);
        assert_eq!((changed.status, &changed.json()["name"]), (200, &json!("Auditors")), "{}", changed.text);
        assert_eq!(reason(&browser.get(USERS)), (403, "ROLE_REQUIRED".into()));
        assert_eq!(browser.get("/api/settings/audit-log").status, 200);
        let entry = server.entry(&tenant, "ACCOUNT_ROLE_UPDATED");
        assert!(entry.metadata.contains("\"added\":[\"read:audit\"]"), "{}", entry.metadata);

        let used = proved(server, &admin).send("DELETE", &path, None);
        assert_eq!(reason(&used), (409, "ROLE_USED".into()));
        assert_eq!(patch(&proved(server, &admin), &bob.id, &json!({ "role": "MEMBER" })).status, 200);
        assert_eq!(proved(server, &admin).send("DELETE", &path, None).status, 200);
        let gone = patch(&proved(server, &admin), &bob.id, &json!({ "role": id }));
        assert_eq!(gone.status, 400, "{}", gone.text);
    });
}

#[test]
fn nobody_hands_out_more_than_they_have() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (bob, _) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let (eve, browser) = server.signed_in(&tenant, "eve@example.com", Role::Member);
        let body = json!({ "name": "HR", "permissions": ["manage:users", "manage:roles"] });
        let role = proved(server, &admin).post(ROLES, &body).json();
        assert_eq!(patch(&proved(server, &admin), &eve.id, &json!({ "role": role["id"] })).status, 200);
        let refused = (403, "ROLE_REQUIRED".to_owned());
        for wanted in ["ADMIN", "AUDITOR", "SECURITY"] {
            for user in [&bob.id, &eve.id] {
                let answer = patch(&proved(server, &browser), user, &json!({ "role": wanted }));
                assert_eq!(reason(&answer), refused, "{wanted}");
            }
            let invited = json!({ "email": "new@example.com", "role": wanted });
            assert_eq!(reason(&proved(server, &browser).post(USERS, &invited)), refused, "{wanted}");
        }
        let wider = json!({ "name": "HR", "permissions": ["manage:users", "manage:roles", "read:audit"] });
        let path = format!("{ROLES}/{}", role["id"].as_str().unwrap());
        assert_eq!(reason(&proved(server, &browser).put(&path, &wider)), refused);
        assert_eq!(
            reason(
                &proved(server, &browser)
                    .post(ROLES, &json!({ "name": "Log", "permissions": ["read:audit"] }))
            ),
            refused
        );
        let support = patch(&proved(server, &browser), &bob.id, &json!({ "role": "SUPPORT" }));
        assert_eq!(support.status, 200, "{}", support.text);
        // Without the permission for roles, users are managed as members only.
        let without = json!({ "name": "HR", "permissions": ["manage:users"] });
        assert_eq!(proved(server, &admin).put(&path, &without).status, 200);
        let answer = patch(&proved(server, &browser), &bob.id, &json!({ "role": "MEMBER" }));
        assert_eq!(reason(&answer), refused);
        assert_eq!(proved(server, &browser).post(USERS, &json!({ "email": "new@example.com" })).status, 200);
    });
}

/// A group with these members.
fn group(tenant: &Tenant, name: &str, members: &[&kernel::UserId]) -> String {
    let members: Vec<_> = members.iter().map(|id| json!({ "value": id.as_str() })).collect();
    let made = tenant.scim.post("/api/scim/v2/Groups", &json!({ "displayName": name, "members": members }));
    assert_eq!(made.status, 201, "{}", made.text);
    made.json()["id"].as_str().unwrap().to_owned()
}

fn change_members(tenant: &Tenant, group: &str, op: &str, user: &kernel::UserId) {
    let operation = match op {
        "add" => json!({ "op": "add", "path": "members", "value": [{ "value": user.as_str() }] }),
        _ => json!({ "op": "remove", "path": format!("members[value eq \"{user}\"]") }),
    };
    let changed =
        tenant.scim.patch(&format!("/api/scim/v2/Groups/{group}"), &json!({ "Operations": [operation] }));
    assert_eq!(changed.status, 200, "{}", changed.text);
}

#[test]
fn groups_give_and_take_roles_at_once() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (bob, browser) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let (eve, eves) = server.signed_in(&tenant, "eve@example.com", Role::Support);
        let log = "/api/settings/audit-log";
        let desk = group(&tenant, "Desk", &[&bob.id, &eve.id]);
        let rule = json!({ "groupId": desk, "role": "SUPPORT" });

        let preview = admin.post(&format!("{RULES}/preview"), &json!({ "rule": rule }));
        assert_eq!(preview.status, 200, "{}", preview.text);
        let preview = preview.json();
        assert_eq!((&preview["gain"]["count"], &preview["lose"]["count"]), (&json!(1), &json!(0)));
        assert_eq!(preview["gain"]["users"][0]["id"], json!(bob.id.as_str()), "Eve has the role already");
        assert_eq!(reason(&browser.get(USERS)), (403, "ROLE_REQUIRED".into()), "a preview changes nothing");

        let made = proved(server, &admin).post(RULES, &rule);
        assert_eq!(made.status, 200, "{}", made.text);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        assert_eq!(browser.get(USERS).status, 200);
        server.second(|address| assert_eq!(browser.at(address).get(USERS).status, 200));
        assert_eq!(browser.get("/api/me").json()["role"], "MEMBER", "the assigned role stays");
        let again = proved(server, &admin).post(RULES, &rule);
        assert_eq!((again.status, &again.json()["code"]), (409, &json!("uniqueness")));

        // Leaving the group takes the role, and the step-up tokens of it.
        let token = server.proof(&browser, "USER_ADMIN_CHANGE");
        change_members(&tenant, &desk, "remove", &bob.id);
        assert_eq!(reason(&browser.get(USERS)), (403, "ROLE_REQUIRED".into()));
        let entry = server.entry(&tenant, "ACCOUNT_ROLE_GIVEN");
        assert_eq!(entry.resource_id, id);
        assert!(entry.metadata.contains("\"lost\":1"), "{}", entry.metadata);
        change_members(&tenant, &desk, "add", &bob.id);
        assert_eq!(browser.get(USERS).status, 200);
        let path = format!("{USERS}/{}/reset-password", bob.id);
        let late = browser.with("X-StepUp-Token", &token).send("POST", &path, None);
        assert_eq!(late.status, 401, "{}", late.text);

        // Another role for the same group.
        let other = json!({ "groupId": desk, "role": "AUDITOR" });
        let change = json!({ "rule": other, "replaces": id });
        let preview = admin.post(&format!("{RULES}/preview"), &change).json();
        assert_eq!((&preview["gain"]["count"], &preview["lose"]["count"]), (&json!(2), &json!(1)));
        let rule_path = format!("{RULES}/{id}");
        assert_eq!(proved(server, &admin).put(&rule_path, &other).status, 200);
        assert_eq!((browser.get(log).status, eves.get(log).status), (200, 200));
        assert_eq!((browser.get(USERS).status, eves.get(USERS).status), (403, 200), "Eve's own role stays");

        assert_eq!(proved(server, &admin).send("DELETE", &rule_path, None).status, 200);
        assert_eq!((browser.get(log).status, eves.get(log).status), (403, 403));
        assert_eq!(proved(server, &admin).send("DELETE", &rule_path, None).status, 404);
    });
}

#[test]
fn deleted_group_takes_its_rules_along() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (bob, browser) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let desk = group(&tenant, "Desk", &[&bob.id]);
        let rule = json!({ "groupId": desk, "role": "ADMIN" });
        assert_eq!(proved(server, &admin).post(RULES, &rule).status, 200);
        assert_eq!(browser.get(RULES).status, 200);
        assert_eq!(tenant.scim.send("DELETE", &format!("/api/scim/v2/Groups/{desk}"), None, "").status, 204);
        assert_eq!(reason(&browser.get(RULES)), (403, "ROLE_REQUIRED".into()));
        assert_eq!(admin.get(RULES).json()["roleRules"], json!([]));
        let entry = server.entry(&tenant, "ACCOUNT_ROLE_RULE_DELETED");
        assert!(entry.metadata.contains("\"lost\":1"), "{}", entry.metadata);
    });
}

#[test]
fn administrator_by_a_group_is_not_the_last_one() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (bob, browser) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let rule = json!({ "groupId": group(&tenant, "Admins", &[&bob.id]), "role": "ADMIN" });
        assert_eq!(proved(server, &admin).post(RULES, &rule).status, 200);
        // Bob is an administrator for every act but that one.
        let demoted = patch(&proved(server, &browser), &ada.id, &json!({ "role": "MEMBER" }));
        assert_eq!(reason(&demoted), (409, "LAST_ADMIN".into()), "{}", demoted.text);
        let promoted = patch(&proved(server, &browser), &bob.id, &json!({ "role": "ADMIN" }));
        assert_eq!(promoted.status, 200, "{}", promoted.text);
        let demoted = patch(&proved(server, &browser), &ada.id, &json!({ "role": "MEMBER" }));
        assert_eq!(demoted.status, 200, "{}", demoted.text);
        assert_eq!(reason(&admin.get(USERS)), (403, "ROLE_REQUIRED".into()));
    });
}

#[test]
fn link_issued_for_a_member_is_void_for_an_administrator() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (bob, _) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let (_, support) = server.signed_in(&tenant, "support@example.com", Role::Support);
        let path = format!("{USERS}/{}/reset-password", bob.id);
        let reset = proved(server, &support).send("POST", &path, None).json();
        let link = reset["link"].as_str().unwrap().split("#link=").nth(1).unwrap().to_owned();
        let rule = json!({ "groupId": group(&tenant, "Admins", &[&bob.id]), "role": "ADMIN" });
        assert_eq!(proved(server, &admin).post(RULES, &rule).status, 200);
        let body = json!({ "token": link, "password": "a password of some length" });
        let redeemed = server.browser().post("/api/auth/links/redeem", &body);
        assert_eq!(
            (redeemed.status, &redeemed.json()["code"]),
            (401, &json!("LINK_INVALID")),
            "{}",
            redeemed.text
        );
    });
}
