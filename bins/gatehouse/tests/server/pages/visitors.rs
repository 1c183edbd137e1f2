//! Pages for visitors without a session, redirects and unknown paths.

use directory::Role;
use serde_json::json;

use super::{assert_redirect, page_client, visitor};
use crate::support::on_both;

#[test]
fn page_without_a_session_redirects_to_the_sign_in_page() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let page = "/account/security";
        assert_redirect(&visitor(server).get("/"), page);
        assert_redirect(&visitor(server).get(page), "/auth/login?next=%2Faccount%2Fsecurity");
        assert_redirect(
            &visitor(server).get("/auth/enrol?next=/a%20b"),
            "/auth/login?next=%2Fauth%2Fenrol%3Fnext%3D%2Fa%2520b",
        );
        // API clients get JSON as everywhere.
        let answer = server.anonymous().get(page);
        assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("UNAUTHENTICATED")));
        // A token opens no page.
        let minted =
            browser.post("/api/me/tokens", &json!({ "name": "x", "scopes": ["read:profile"] })).json();
        let bearer = format!("Bearer {}", minted["token"].as_str().unwrap());
        let refused = visitor(server).with("Authorization", &bearer).get(page);
        assert_eq!((refused.status, refused.header("content-type")), (403, "text/html; charset=utf-8"));
        // A revoked session, and a disabled user.
        let other = page_client(&server.browser());
        other.sign_in(&ada.email, ada.password);
        assert_eq!(other.get(page).status, 200);
        browser.delete(&format!("/api/me/sessions/{}", other.cookie("as_sid")));
        assert_redirect(&other.get(page), "/auth/login?next=%2Faccount%2Fsecurity&reason=SESSION_REVOKED");
        server.disable(&tenant, &ada.id);
        assert_redirect(
            &page_client(&browser).get(page),
            "/auth/login?next=%2Faccount%2Fsecurity&reason=ACCOUNT_DISABLED",
        );
    });
}

#[test]
fn sign_in_page_does_not_redirect_to_other_origins() {
    on_both(|server| {
        for (asked, next) in [
            ("", "/"),
            ("?next=/account/security", "/account/security"),
            ("?next=https://evil.example/", "/"),
            ("?next=//evil.example/", "/"),
            ("?next=/%5Cevil.example/", "/"),
            ("?next=%22%3E%3Cscript%3E", "/%22%3E%3Cscript%3E"),
        ] {
            let page = visitor(server).get(&format!("/auth/login{asked}"));
            assert!(page.text.contains(&format!("data-next=\"{next}\"")), "{asked}: {}", page.text);
        }
        let login_page = visitor(server).get("/auth/login?reason=SESSION_REVOKED&tenant=acme").text;
        assert!(login_page.contains("This session was ended.") && login_page.contains("to <b>acme</b>"));
        for (asked, how) in [("continue=1", "continue"), ("resume=1", "resume"), ("resume", "resume")] {
            let page = visitor(server).get(&format!("/auth/login?{asked}")).text;
            assert!(page.contains(&format!("data-goes-on=\"{how}\"")), "{asked}");
        }
        assert!(!login_page.contains("data-goes-on"));
        for words in ["%3Cb%3E", "Account+locked", ""] {
            let page = visitor(server).get(&format!("/auth/login?tenant={words}")).text;
            assert!(page.contains("data-tenant=\"\"") && !page.contains("locked"), "{words}");
        }
        assert!(!visitor(server).get("/auth/login?reason=Call+this+number").text.contains("number"));
        // If the script does not run, a form sent by the browser must not put the password into the URL.
        assert_eq!(login_page.matches("<form").count(), login_page.matches("<form method=\"post\"").count());
        let sent = visitor(server).send("POST", "/auth/login", None);
        assert_eq!((sent.status, sent.header("allow")), (405, "GET"));
        assert!(sent.text.contains("<h1>"));
    });
}

#[test]
fn unknown_path_is_a_page_for_browsers_and_json_for_clients() {
    on_both(|server| {
        let page = visitor(server).get("/no/such/page");
        assert_eq!((page.status, page.header("content-type")), (404, "text/html; charset=utf-8"));
        assert!(page.header("content-security-policy").contains("script-src 'self'"));
        assert_eq!(server.anonymous().get("/no/such/page").json()["code"], "NOT_FOUND");
        assert_eq!(visitor(server).get("/api/no/such").json()["code"], "NOT_FOUND");
    });
}
