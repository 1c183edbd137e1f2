//! Groups in assertions give roles, and first sign-ins create users.

use directory::Role;
use serde_json::{Value, json};

use super::{Site, give};
use crate::support::{Browser, Server, on_both};

const USERS: &str = "/api/settings/users";

fn set_accounts(server: &Server, site: &Site, body: &Value) {
    let path = format!("/api/settings/sso-connections/{}/accounts", site.id);
    let changed = server.proved(&site.admin, "SSO_PROVIDER_CHANGE").put(&path, body);
    assert_eq!(changed.status, 200, "{}", changed.text);
}

#[test]
fn groups_in_assertions_give_roles() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        set_accounts(server, &site, &json!({ "groupsClaim": "groups", "createUsers": null }));
        let rule = json!({ "providerId": site.id, "value": "group-1", "role": "SUPPORT" });
        let made = server.proved(&site.admin, "USER_ADMIN_CHANGE").post("/api/settings/role-rules", &rule);
        assert_eq!(made.status, 200, "{}", made.text);
        let browser = server.browser();
        for (groups, status) in [(2, 200), (1, 403), (3, 200), (0, 403)] {
            let sent = site.begin(&browser, "");
            let mut says = sent.says("ada@corp.example", kernel::Env::now(&*server.env));
            says.groups = groups;
            let answer = site.post(&browser, &site.idp.response(&says), &sent.relay_state);
            assert_eq!(answer.status, 303, "{:?}", site.refusals(server));
            assert_eq!(browser.get(USERS).status, status, "{groups} groups");
        }
    });
}

#[test]
fn concurrent_first_sign_ins_create_one_user() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let creation = json!({ "role": "MEMBER", "emailDomains": [] });
        set_accounts(server, &site, &json!({ "groupsClaim": null, "createUsers": creation }));
        let users = || site.admin.get(USERS).json()["users"].as_array().unwrap().len();
        for round in 0..4 {
            let (email, before) = (format!("user{round}@corp.example"), users());
            let begun: Vec<_> = (0..4)
                .map(|_| {
                    let browser = server.browser();
                    let sent = site.begin(&browser, "");
                    let response = site.idp.response(&sent.says(&email, kernel::Env::now(&*server.env)));
                    (browser.cookies.into_inner(), response, sent.relay_state)
                })
                .collect();
            let (path, address) = (site.path("acs"), server.address);
            let statuses = std::thread::scope(|scope| {
                let post = |(cookies, response, relay_state): &(_, String, String)| {
                    let browser = Browser::new(address);
                    browser.cookies.replace(std::clone::Clone::clone(cookies));
                    give(&browser, &path, response, relay_state).status
                };
                let running: Vec<_> = begun.iter().map(|one| scope.spawn(move || post(one))).collect();
                running.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
            });
            assert!(statuses.contains(&303), "{statuses:?}");
            assert_eq!(users(), before + 1, "{statuses:?}");
        }
    });
}
