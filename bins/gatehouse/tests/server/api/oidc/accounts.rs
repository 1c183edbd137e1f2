//! Groups that sign-ins name give roles, and first sign-ins create users.

use directory::Role;
use serde_json::{Value, json};

use super::Site;
use crate::support::{Answer, Browser, PASSWORD, Server, on_both};

const RULES: &str = "/api/settings/role-rules";
const USERS: &str = "/api/settings/users";

impl Site {
    fn accounts(&self) -> String {
        format!("/api/settings/sso-connections/{}/accounts", self.id)
    }

    fn set_accounts(&self, server: &Server, body: &Value) {
        let changed = server.proved(&self.admin, "SSO_PROVIDER_CHANGE").put(&self.accounts(), body);
        assert_eq!((changed.status, &changed.json()), (200, body), "{}", changed.text);
    }

    fn rule(&self, server: &Server, value: &str, role: &str) -> Answer {
        let body = json!({ "providerId": self.id, "value": value, "role": role });
        server.proved(&self.admin, "USER_ADMIN_CHANGE").post(RULES, &body)
    }

    /// Signs in with these groups.
    fn in_groups(&self, server: &Server, browser: &Browser, groups: &Value) {
        let answer = self.sign_in_with(server, browser, "ada@corp.example", |claims| {
            claims.insert("groups".into(), groups.clone());
        });
        assert_eq!(answer.status, 303, "{:?}", self.refusals(server));
    }
}

#[test]
fn groups_that_sign_ins_name_give_roles() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        assert_eq!(site.rule(server, "helpdesk", "SUPPORT").status, 200);
        let browser = server.browser();
        site.in_groups(server, &browser, &json!(["helpdesk"]));
        assert_eq!(browser.get(USERS).status, 403, "the connection names no claim");

        site.set_accounts(server, &json!({ "groupsClaim": "groups", "createUsers": null }));
        let first = server.browser();
        site.in_groups(server, &first, &json!(["staff", "helpdesk"]));
        assert_eq!(
            (first.get(USERS).status, browser.get(USERS).status),
            (200, 200),
            "all sessions of the user"
        );
        let entry = server.entry(&site.tenant, "ACCOUNT_ROLE_GIVEN");
        assert_eq!((entry.actor_type.as_str(), entry.actor_id.as_str()), ("OIDC", site.id.as_str()));

        // Not in sessions and tokens that somebody else may have.
        let by_password = server.browser();
        assert_eq!(by_password.sign_in("ada@corp.example", PASSWORD).json()["status"], "SIGNED_IN");
        assert_eq!(by_password.get(USERS).status, 403);
        let token = json!({ "name": "CI", "scopes": ["admin:tenant"] });
        let minted = server.proved(&first, "PAT_MINT_ADMIN").post("/api/me/tokens", &token).json();
        let program = server.anonymous().bearer(minted["token"].as_str().unwrap());
        assert_eq!(program.get(USERS).json()["reason"], "ROLE_REQUIRED");

        // A new rule applies to groups that were named before.
        let preview = json!({ "rule": { "providerId": site.id, "value": "staff", "role": "AUDITOR" } });
        let preview = site.admin.post(&format!("{RULES}/preview"), &preview).json();
        assert_eq!(preview["gain"]["count"], 1, "{preview}");
        assert_eq!(site.rule(server, "staff", "AUDITOR").status, 200);
        assert_eq!(first.get("/api/settings/audit-log").status, 200);

        // The next sign-in names other groups, and one as a single text.
        site.in_groups(server, &server.browser(), &json!("staff"));
        assert_eq!((first.get(USERS).status, first.get("/api/settings/audit-log").status), (403, 200));
        site.in_groups(server, &server.browser(), &json!(["Staff", 7, null, { "a": "staff" }]));
        assert_eq!(first.get("/api/settings/audit-log").status, 403, "names are compared exactly");

        // Another claim: the groups of earlier sign-ins count no longer.
        site.in_groups(server, &server.browser(), &json!(["staff"]));
        site.set_accounts(server, &json!({ "groupsClaim": "roles", "createUsers": null }));
        assert_eq!(first.get("/api/settings/audit-log").status, 403);
        let removed = server.proved(&site.admin, "SSO_PROVIDER_CHANGE").delete(&site.settings());
        assert_eq!(removed.status, 200, "{}", removed.text);
        assert_eq!(site.admin.get(RULES).json()["roleRules"], json!([]));
    });
}

#[test]
fn first_sign_in_creates_a_user_and_scim_gets_the_same_one() {
    on_both(|server| {
        let site = Site::new(server);
        let email = "grace@corp.example";
        let refused = site.sign_in(server, &server.browser(), email);
        assert_eq!(refused.status, 401, "{}", refused.text);
        assert_eq!(site.refusals(server)[0]["reason"], "NOT_PROVISIONED");
        let body = json!({ "groupsClaim": null, "createUsers": { "role": "DEVELOPER", "emailDomains": ["corp.example"] } });
        site.set_accounts(server, &body);
        let browser = server.browser();
        let answer = site.sign_in_with(server, &browser, email, |claims| {
            claims.insert("name".into(), json!("Grace Hopper"));
        });
        assert_eq!(answer.status, 303, "{:?}", site.refusals(server));
        let me = browser.get("/api/me").json();
        assert_eq!((&me["displayName"], &me["role"]), (&json!("Grace Hopper"), &json!("DEVELOPER")));
        let entry = server.entry(&site.tenant, "ACCOUNT_USER_CREATED");
        assert_eq!((entry.actor_id.as_str(), &json!(entry.resource_id)), (site.id.as_str(), &me["id"]));

        // The directory provisions her later.
        let user =
            json!({ "userName": email, "externalId": "e1", "emails": [{ "value": email, "primary": true }] });
        let found = site.tenant.scim.post("/api/scim/v2/Users", &user);
        assert_eq!((found.status, &found.json()["id"]), (200, &me["id"]), "{}", found.text);
        let all = site.tenant.scim.get("/api/scim/v2/Users?filter=userName%20sw%20%22grace%22").json();
        assert_eq!(all["totalResults"], 1);
        assert_eq!(site.sign_in(server, &server.browser(), email).status, 303);
    });
}

#[test]
fn settings_for_accounts_are_checked() {
    on_both(|server| {
        let site = Site::new(server);
        let usual = json!({ "groupsClaim": null, "createUsers": null });
        assert_eq!(site.admin.get(&site.accounts()).json(), usual);
        let put = |browser: &Browser, body: &Value| {
            server.proved(browser, "SSO_PROVIDER_CHANGE").put(&site.accounts(), body)
        };
        let creating = |role: &str, domains: &[&str]| json!({ "groupsClaim": null, "createUsers": { "role": role, "emailDomains": domains } });
        for (body, field) in [
            (json!({ "groupsClaim": " groups", "createUsers": null }), "groupsClaim"),
            (creating("MEMBER", &["other.example"]), "createUsers.emailDomains"),
            (creating("role_06gzkadrwwt5d9z93ens6801xc", &[]), "role"),
            (creating("ROOT", &[]), "createUsers.role"),
        ] {
            let refused = put(&site.admin, &body);
            assert_eq!(refused.status, 400, "{}", refused.text);
            assert!(refused.json()["error"].as_str().unwrap().starts_with(field), "{}", refused.text);
        }
        // Who manages connections alone gives new users no role.
        let (_, security) = server.signed_in(&site.tenant, "sec@corp.example", Role::Security);
        let refused = put(&security, &creating("SECURITY", &[]));
        assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("ROLE_REQUIRED")));
        assert_eq!(put(&security, &creating("MEMBER", &[])).status, 200);
        let unknown = "/api/settings/sso-connections/oidc_06gzkadrwwt5d9z93ens6801xc06gzkadrwwt5d9z93ens6801xc/accounts";
        assert_eq!(site.admin.get(unknown).status, 404);
    });
}
