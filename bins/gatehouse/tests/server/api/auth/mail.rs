//! Links by mail.

use std::time::Duration;

use directory::Role;
use serde_json::json;
use store::testing::Kind;

use crate::support::{Answer, MailServer, Server};

/// Decodes the text of a mail.
fn decoded(message: &str) -> String {
    // Quoted-printable: soft line breaks and encoded characters.
    message.replace("=\n", "").replace("=3D", "=")
}

#[test]
fn invitation_is_sent_only_to_the_user() {
    let mail = MailServer::start();
    for kind in Kind::ALL {
        let url = format!("smtp://{}", mail.address);
        let server = Server::start(kind, &[("smtp_url", &url), ("smtp_from", "Gate <gate@example.com>")]);
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let invited = admin.post("/api/settings/users", &json!({ "email": "ada@example.com" }));
        assert_eq!((invited.status, invited.json().get("link")), (200, None), "{}", invited.text);
        assert!(server.entry(&tenant, "ACCOUNT_USER_INVITED").metadata.contains(r#""sent":true"#));
        let message = decoded(&mail.mail.recv_timeout(Duration::from_secs(10)).unwrap());
        for expected in
            ["To: ada@example.com", "From: Gate <gate@example.com>", "Subject: You are invited", "72 hours"]
        {
            assert!(message.contains(expected), "{expected}\n{message}");
        }
        let (_, link) = message.split_once("http://localhost:8080/auth/login#link=").unwrap();
        let token = link.split_whitespace().next().unwrap();
        let body = json!({ "token": token, "password": "a new and longer one" });
        let redeemed = server.browser().post("/api/auth/links/redeem", &body);
        assert_eq!(redeemed.json()["status"], "SIGNED_IN", "{}", redeemed.text);
    }
}

#[test]
fn unreachable_mail_server_is_reported() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start(Kind::Sqlite, &[("smtp_url", &format!("smtp://{gone}"))]);
    let tenant = server.tenant("acme");
    let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
    let answer = admin.post("/api/settings/users", &json!({ "email": "ada@example.com" }));
    assert_eq!((answer.status, &answer.json()["code"]), (503, &json!("UNAVAILABLE")), "{}", answer.text);
}

#[test]
fn mails_to_one_address_are_limited_and_a_refused_act_changes_nothing() {
    let mail = MailServer::start();
    for kind in Kind::ALL {
        let server = Server::start(kind, &[("smtp_url", &format!("smtp://{}", mail.address))]);
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, admin) = server.signed_in(&acme, "admin@example.com", Role::Admin);
        let (_, neighbor) = server.signed_in(&other, "admin@example.org", Role::Admin);
        let ada = json!({ "email": "ada@example.com" });
        let id = admin.post("/api/settings/users", &ada).json()["id"].as_str().unwrap().to_owned();
        let user = format!("/api/settings/users/{id}");
        let reset = format!("{user}/reset-password");
        for number in 2..=10 {
            let answer = server.proved(&admin, "USER_ADMIN_CHANGE").post(&reset, &json!({}));
            assert_eq!((answer.status, &answer.json()["sent"]), (200, &json!(true)), "{number}");
        }
        let started = || {
            let entries = server.entries(&acme);
            entries.iter().filter(|entry| entry.action == "ACCOUNT_PASSWORD_RESET_STARTED").count()
        };
        assert_eq!(started(), 9);
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        let refused = |answer: Answer| {
            assert_eq!(
                (answer.status, &answer.json()["code"]),
                (429, &json!("RATE_LIMITED")),
                "{}",
                answer.text
            );
            let seconds: u64 = answer.header("retry-after").parse().unwrap();
            assert!((3000..=3600).contains(&seconds), "{seconds}");
        };
        refused(proved.post(&reset, &json!({})));
        assert_eq!(started(), 9);
        // The refusal consumed no step-up. Factors can always be reset.
        assert_eq!(proved.post(&format!("{user}/reset-factors"), &json!({})).status, 200);

        // The address was used up by mails, not by the user.
        assert_eq!(server.proved(&admin, "USER_ADMIN_CHANGE").send("DELETE", &user, None).status, 200);
        let both = json!({ "emails": ["bob@example.com", "ADA@example.com"] });
        refused(admin.post("/api/settings/users", &ada));
        refused(admin.post("/api/settings/users/invitations", &both));
        assert_eq!(admin.get("/api/settings/users").json()["users"].as_array().map(Vec::len), Some(1));
        // Another tenant has mails of its own.
        let invited = neighbor.post("/api/settings/users/invitations", &both).json();
        let sent = invited["invitations"].as_array().unwrap();
        assert!(sent.iter().all(|one| one["userId"].is_string() && one.get("error").is_none()), "{invited}");
    }
}

#[test]
fn links_in_responses_are_not_limited() {
    let server = Server::start(Kind::Sqlite, &[]);
    let tenant = server.tenant("acme");
    let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
    let (ada, _) = server.signed_in(&tenant, "ada@example.com", Role::Member);
    for _ in 0..11 {
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        let answer = proved.post(&format!("/api/settings/users/{}/reset-password", ada.id), &json!({}));
        assert!(answer.json()["link"].is_string(), "{}", answer.text);
    }
}
