//! An attacker received a link through a mistaken address, and opens it after the user's address, role or state was
//! corrected.

use directory::{LinkStore, Role};
use serde_json::{Value, json};
use tokens::RawToken;

use crate::{
    api::auth::enrolment::enrol_totp,
    support::{Answer, Browser, Server, Tenant, code, on_both},
};

const NEW: &str = "chosen by the holder of the link";

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn redeem(server: &Server, link: &str) -> Answer {
    server.browser().post("/api/auth/links/redeem", &json!({ "token": link, "password": NEW }))
}

fn token_of(answer: &Answer) -> String {
    let link = answer.json()["link"].as_str().unwrap_or_else(|| panic!("{}", answer.text)).to_owned();
    link.split_once("#link=").unwrap().1.to_owned()
}

/// Invites a user. Returns the ID and the link.
fn invite(admin: &Browser, email: &str) -> (String, String) {
    let invited = admin.post("/api/settings/users", &json!({ "email": email }));
    assert_eq!(invited.status, 200, "{}", invited.text);
    (invited.json()["id"].as_str().unwrap().to_owned(), token_of(&invited))
}

/// Returns the changes of a user; each voids everything issued before it.
fn corrections<'a>(
    server: &'a Server,
    tenant: &Tenant,
    admin: &'a Browser,
) -> Vec<(&'static str, Vec<Change<'a>>)> {
    let settings = |body: Value| -> Change<'a> {
        Box::new(move |id| {
            let proved = server.proved(admin, "USER_ADMIN_CHANGE");
            proved.send("PATCH", &format!("/api/settings/users/{id}"), Some(&body))
        })
    };
    let patch = |operations: Value| -> Change<'a> {
        let scim = tenant.scim.clone();
        Box::new(move |id| scim.operations(&format!("/api/scim/v2/Users/{id}"), &operations))
    };
    let put = |user: Value| -> Change<'a> {
        let scim = tenant.scim.clone();
        Box::new(move |id| scim.put(&format!("/api/scim/v2/Users/{id}"), &user))
    };
    let off_and_on = |value: bool| json!([{ "op": "replace", "path": "active", "value": value }]);
    let address = json!([{ "op": "replace", "path": "emails[type eq \"work\"].value", "value": "by.patch@example.com" }]);
    let replaced = json!({
        "userName": "somebody",
        "emails": [{ "value": "by.put@example.com", "type": "work", "primary": true }],
    });
    vec![
        ("another address, by the API", vec![settings(json!({ "email": "by.api@example.com" }))]),
        ("another address, by SCIM's PATCH", vec![patch(address)]),
        ("another address, by SCIM's PUT", vec![put(replaced)]),
        ("another role", vec![settings(json!({ "role": "ADMIN" }))]),
        (
            "disabled and enabled by the API",
            vec![settings(json!({ "active": false })), settings(json!({ "active": true }))],
        ),
        ("disabled and enabled by SCIM", vec![patch(off_and_on(false)), patch(off_and_on(true))]),
    ]
}

type Change<'a> = Box<dyn Fn(&str) -> Answer + 'a>;

#[test]
fn invitation_is_void_once_the_user_was_corrected() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        for (number, (what, changes)) in corrections(server, &tenant, &admin).into_iter().enumerate() {
            let (id, link) = invite(&admin, &format!("mistaken{number}@example.com"));
            for change in changes {
                let changed = change(&id);
                assert_eq!(changed.status, 200, "{what}: {}", changed.text);
            }
            is(&redeem(server, &link), 401, "LINK_INVALID");
            let entered = server.entries(&tenant);
            assert!(!entered.iter().any(|entry| entry.action == "ACCOUNT_PASSWORD_CHANGED"), "{what}");
        }
    });
}

#[test]
fn reset_link_and_ticket_are_void_once_the_user_was_corrected() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        for (number, (what, changes)) in corrections(server, &tenant, &admin).into_iter().enumerate() {
            server.env.advance(std::time::Duration::from_mins(5));
            let (user, browser) =
                server.signed_in(&tenant, &format!("user{number}@example.com"), Role::Member);
            let secret = enrol_totp(server, &browser);
            let path = format!("/api/settings/users/{}/reset-password", user.id);
            let first = token_of(&server.proved(&admin, "USER_ADMIN_CHANGE").post(&path, &json!({})));
            let asked = redeem(server, &first).json();
            assert_eq!(asked["status"], "MFA_REQUIRED", "{what}: {asked}");
            let second = token_of(&server.proved(&admin, "USER_ADMIN_CHANGE").post(&path, &json!({})));
            let between = server.browser().sign_in(&user.email, NEW).json()["ticket"].clone();
            for change in changes {
                assert_eq!(change(user.id.as_str()).status, 200, "{what}");
            }
            is(&redeem(server, &second), 401, "LINK_INVALID");
            for ticket in [&asked["ticket"], &between] {
                if ticket.is_string() {
                    let late = server.browser().verify(ticket, "TOTP", &code(&secret, server, 1));
                    is(&late, 401, "TICKET_INVALID");
                }
            }
        }
    });
}

/// The link is compared with the user when it is redeemed, so a change that fails to delete the link is harmless.
#[test]
fn leftover_link_is_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        for body in [json!({ "email": "corrected@example.com" }), json!({ "role": "ADMIN" })] {
            let (id, link) = invite(&admin, &format!("mistaken{}@example.com", body.to_string().len()));
            let hash = *RawToken::parse(&link).unwrap().hash().as_bytes();
            let kept = server.write(&tenant.id, async move |_, tx| tx.link(&hash).await).unwrap();
            let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
            let changed = proved.send("PATCH", &format!("/api/settings/users/{id}"), Some(&body));
            assert_eq!(changed.status, 200, "{}", changed.text);
            server.write(&tenant.id, async move |_, tx| tx.replace_links(&kept).await);
            is(&redeem(server, &link), 401, "LINK_INVALID");
        }
    });
}

#[test]
fn tenant_choice_is_void_after_the_account_was_changed() {
    on_both(|server| {
        let (acme, globex) = (server.tenant("acme"), server.tenant("globex"));
        let ada = server.person(&acme, "ada@example.com", Role::Member);
        let there = server.person(&globex, "ada@example.com", Role::Member);
        let (_, admin) = server.signed_in(&globex, "root@example.com", Role::Admin);
        let path = format!("/api/settings/users/{}", there.id);
        for changes in [
            vec![json!({ "role": "ADMIN" })],
            vec![json!({ "active": false }), json!({ "active": true })],
            vec![json!({ "email": "ida@example.com" }), json!({ "email": "ada@example.com" })],
        ] {
            let browser = server.browser();
            let offered = browser.sign_in(&ada.email, ada.password).json();
            assert_eq!(offered["status"], "TENANT_CHOICE", "{offered}");
            for change in &changes {
                server.env.advance(std::time::Duration::from_secs(1));
                let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
                let changed = proved.send("PATCH", &path, Some(change));
                assert_eq!(changed.status, 200, "{}", changed.text);
            }
            let body = json!({ "ticket": offered["ticket"], "tenant": "globex" });
            is(&browser.post("/api/auth/sign-in/tenant", &body), 401, "TICKET_INVALID");
        }
    });
}
