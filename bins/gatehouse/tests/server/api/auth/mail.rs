//! Links by mail.

use std::time::Duration;

use directory::Role;
use serde_json::json;
use store::testing::Kind;

use crate::support::{MailServer, Server};

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
