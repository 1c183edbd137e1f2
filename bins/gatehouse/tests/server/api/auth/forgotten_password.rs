//! Links by mail for users who forgot the password.

use std::time::Duration;

use credentials::SignInMode;
use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{MailServer, PASSWORD, Server, Tenant, eventually};

const PATH: &str = "/api/auth/forgotten-password";
const NEW: &str = "a new and longer one";

fn server(kind: Kind, mail: &MailServer) -> Server {
    Server::start(kind, &[("smtp_url", &format!("smtp://{}", mail.address))])
}

fn ask(server: &Server, body: &Value) -> u16 {
    let answer = server.browser().post(PATH, body);
    if answer.status == 202 {
        assert_eq!(answer.json(), json!({ "accepted": true }), "the same answer for everybody");
    }
    answer.status
}

/// Decodes the next message (quoted-printable) and returns it with the token of its link.
fn received(mail: &MailServer) -> (String, String) {
    let message = mail.mail.recv_timeout(Duration::from_secs(10)).unwrap();
    let message = message.replace("=\r\n", "").replace("=\n", "").replace("=3D", "=");
    let (_, link) = message.split_once("/auth/login#link=").unwrap();
    let token = link.split_whitespace().next().unwrap().to_owned();
    (message, token)
}

#[test]
fn link_arrives_and_sets_a_password() {
    let mail = MailServer::start();
    for kind in Kind::ALL {
        let server = server(kind, &mail);
        let tenant = server.tenant("acme");
        let (ada, session) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        assert_eq!(ask(&server, &json!({ "email": " Ada@Example.com ", "tenant": "acme" })), 202);
        let (message, token) = received(&mail);
        for expected in ["To: ada@example.com", "Subject: Choose a new password", "acme", "within one hour"] {
            assert!(message.contains(expected), "{expected}\n{message}");
        }
        // Until the link is used, nothing has changed.
        assert_eq!(session.get("/api/me").status, 200);
        assert_eq!(server.browser().sign_in(&ada.email, PASSWORD).status, 200);
        let browser = server.browser();
        let done = browser.post("/api/auth/links/redeem", &json!({ "token": token, "password": NEW }));
        assert_eq!(done.json()["status"], "SIGNED_IN", "{}", done.text);
        assert_eq!(session.get("/api/me").status, 401, "the link ends other sessions");
        assert_eq!(server.browser().sign_in(&ada.email, PASSWORD).status, 401);
        let entry = server.entry(&tenant, "ACCOUNT_PASSWORD_RESET_STARTED");
        assert!(entry.metadata.contains(r#""sent":true"#), "{}", entry.metadata);
    }
}

#[test]
fn only_users_who_may_use_a_password_get_a_link() {
    let mail = MailServer::start();
    for kind in Kind::ALL {
        let server = server(kind, &mail);
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (disabled, _) = server.signed_in(&acme, "disabled@example.com", Role::Member);
        let (_, admin) = server.signed_in(&acme, "admin@example.com", Role::Admin);
        let invitation = json!({ "email": "invited@example.com" });
        assert_eq!(admin.post("/api/settings/users", &invitation).status, 200);
        let (_, invited) = received(&mail);
        let sso = server.tenant("sso");
        server.person(&sso, "sso@example.com", Role::Member);
        server.policy(&sso, |policy| policy.sign_in_mode = SignInMode::SsoRequired);
        let path = format!("/api/settings/users/{}", disabled.id);
        assert_eq!(admin.send("PATCH", &path, Some(&json!({ "active": false }))).status, 200);
        server.person(&other, "both@example.com", Role::Member);
        server.person(&acme, "both@example.com", Role::Member);
        for body in [
            json!({ "email": "nobody@example.com" }),
            json!({ "email": "disabled@example.com" }),
            json!({ "email": "invited@example.com" }),
            json!({ "email": "sso@example.com" }),
            json!({ "email": "both@example.com", "tenant": "unknown" }),
        ] {
            assert_eq!(ask(&server, &body), 202, "{body}");
        }
        // The next message is the first that is sent: those above send none.
        assert_eq!(ask(&server, &json!({ "email": "both@example.com", "tenant": "other" })), 202);
        assert!(received(&mail).0.contains("your account at other"));
        // Without a tenant, each tenant sends its own.
        assert_eq!(ask(&server, &json!({ "email": "both@example.com" })), 202);
        let mut texts = [received(&mail).0, received(&mail).0];
        texts.sort_by_key(|text| text.contains("your account at other"));
        assert!(texts[0].contains("your account at acme") && texts[1].contains("your account at other"));
        let count = |tenant: &Tenant| {
            let entries = server.entries(tenant);
            entries.iter().filter(|entry| entry.action == "ACCOUNT_PASSWORD_RESET_STARTED").count()
        };
        eventually(|| (count(&acme), count(&other)) == (1, 2));
        // Nobody can end an invitation by asking for a link.
        let body = json!({ "token": invited, "password": NEW });
        let redeemed = server.browser().post("/api/auth/links/redeem", &body);
        assert_eq!(redeemed.json()["status"], "SIGNED_IN", "{}", redeemed.text);
    }
}

#[test]
fn requests_are_limited_and_need_mail() {
    let mail = MailServer::start();
    for kind in Kind::ALL {
        let server = server(kind, &mail);
        // The limit does not depend on whether the address exists.
        for email in ["nobody@example.com", "ada@example.com"] {
            let statuses: Vec<_> = (0..6).map(|_| ask(&server, &json!({ "email": email }))).collect();
            assert_eq!(statuses, [202, 202, 202, 202, 202, 429], "{email}");
        }
        server.env.advance(Duration::from_hours(1));
        assert_eq!(ask(&server, &json!({ "email": "nobody@example.com" })), 202);
        assert_eq!(ask(&server, &json!({ "email": "nobody" })), 400);
        let without = Server::start(kind, &[]);
        assert_eq!(ask(&without, &json!({ "email": "ada@example.com" })), 409);
        assert!(without.browser().get("/auth/login").text.contains("Ask an administrator"));
        assert!(server.browser().get("/auth/login").text.contains("data-act=\"forgot\""));
    }
}
