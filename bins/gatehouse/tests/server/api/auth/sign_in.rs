//! `POST /api/auth/sign-in`: email and password.

use credentials::SignInMode;
use directory::Role;
use serde_json::json;

use crate::support::{ORIGIN, on_both};

#[test]
fn password_sign_in_sets_cookies_and_records_audit_entries() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let person = server.person(&tenant, "Ada@Example.com", Role::Member);
        let browser = server.browser().with(
            "User-Agent",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        );
        let answer = browser.sign_in("ada@example.COM", person.password);
        assert_eq!((answer.status, answer.text.as_str()), (200, r#"{"status":"SIGNED_IN"}"#));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.cookies().len(), 2);
        for name in ["authjs.session-token", "as_sid"] {
            let attributes = answer.cookie_attributes(name);
            assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax", "{name}");
        }
        let sessions = browser.get("/api/me/sessions").json();
        let session = &sessions["sessions"][0];
        assert_eq!(session["id"], browser.cookie("as_sid"));
        assert_eq!(session["current"], true);
        assert_eq!(session["deviceLabel"], "Chrome on macOS");
        assert_eq!(session["ipPrefix"], "127.0.0.0/24");
        assert_eq!(session["location"], json!(null));
        let me = browser.get("/api/me").json();
        assert_eq!(me["id"], person.id.as_str());
        assert_eq!((&me["email"], &me["role"]), (&json!("Ada@Example.com"), &json!("MEMBER")));
        assert_eq!(me["tenant"], json!({ "id": tenant.id, "slug": "acme", "name": "acme" }));
        let started = server.entry(&tenant, "ACCOUNT_SESSION_STARTED");
        assert_eq!(started.resource_id, browser.cookie("as_sid"));
        let entry = server.entry(&tenant, "ACCOUNT_SIGN_IN_SUCCEEDED");
        assert!(entry.metadata.contains(r#""methods":["pwd"]"#), "{}", entry.metadata);
        assert_eq!((entry.actor_id.as_str(), entry.ip.as_deref()), (person.id.as_str(), Some("127.0.0.1")));

        let out = browser.post("/api/auth/sign-out", &json!({}));
        assert_eq!((out.status, out.text.as_str()), (200, r#"{"revoked":true,"signOut":true}"#));
        assert_eq!(browser.cookies.borrow().len(), 0);
    });
}

#[test]
fn refusals_are_identical_until_the_password_is_correct() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let bob = server.person(&tenant, "bob@example.com", Role::Member);
        server.disable(&tenant, &bob.id);
        let browser = server.browser();
        let unknown = browser.sign_in("nobody@example.com", "whatever it may be");
        assert_eq!(unknown.status, 401);
        assert_eq!(unknown.json()["code"], "INVALID_CREDENTIALS");
        for email in [&ada.email, &bob.email] {
            let wrong = browser.sign_in(email, "whatever it may be");
            assert_eq!((wrong.status, &wrong.text), (401, &unknown.text));
        }
        let elsewhere = json!({ "tenant": "globex", "email": ada.email, "password": ada.password });
        assert_eq!(browser.post("/api/auth/sign-in", &elsewhere).text, unknown.text);
        let disabled = browser.sign_in(&bob.email, bob.password);
        assert_eq!((disabled.status, &disabled.json()["code"]), (401, &json!("ACCOUNT_DISABLED")));

        server.policy(&tenant, |policy| policy.sign_in_mode = SignInMode::SsoRequired);
        let refused = browser.sign_in(&ada.email, ada.password);
        assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("SSO_REQUIRED")));
        assert_eq!(browser.sign_in(&ada.email, "whatever it may be").text, unknown.text);
        let id = ada.id.clone();
        server.write(&tenant.id, async move |ctx, tx| {
            let before = directory::PeopleStore::person(tx, &id).await?.unwrap();
            let after = directory::Person { break_glass: true, updated_at: ctx.now, ..before.clone() };
            directory::PeopleStore::update_person(tx, &before, &after).await
        });
        assert_eq!(browser.sign_in(&ada.email, ada.password).status, 200, "break-glass");
        crate::support::eventually(|| {
            let failed: Vec<_> = server
                .entries(&tenant)
                .into_iter()
                .filter(|entry| entry.action == "ACCOUNT_SIGN_IN_FAILED")
                .collect();
            failed.len() == 5
        });
    });
}

#[test]
fn address_in_several_tenants_is_offered_those_with_matching_password() {
    on_both(|server| {
        let (acme, globex, other) = (server.tenant("acme"), server.tenant("globex"), server.tenant("other"));
        let ada = server.person(&acme, "ada@example.com", Role::Member);
        server.person(&globex, "ada@example.com", Role::Member);
        let third = server.person(&other, "ada@example.com", Role::Member);
        let id = third.id.clone();
        server.write(&other.id, async move |ctx, tx| {
            credentials::SignInStore::set_password(tx, &id, "$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ctx.now).await
        });
        let browser = server.browser();
        let answer = browser.sign_in(&ada.email, ada.password).json();
        assert_eq!(answer["status"], "TENANT_CHOICE");
        assert_eq!(
            answer["tenants"],
            json!([{ "slug": "acme", "name": "acme" }, { "slug": "globex", "name": "globex" }])
        );
        let choose = |ticket: &serde_json::Value, tenant: &str| {
            browser.post("/api/auth/sign-in/tenant", &json!({ "ticket": ticket, "tenant": tenant }))
        };
        assert_eq!(choose(&answer["ticket"], "other").status, 400);
        assert_eq!(choose(&answer["ticket"], "globex").json()["status"], "SIGNED_IN");
        assert_eq!(browser.get("/api/me").json()["tenant"]["slug"], "globex");
        let again = choose(&answer["ticket"], "acme");
        assert_eq!((again.status, &again.json()["code"]), (401, &json!("TICKET_INVALID")));
        let named = json!({ "tenant": acme.id, "email": ada.email, "password": ada.password });
        assert_eq!(browser.post("/api/auth/sign-in", &named).json()["status"], "SIGNED_IN");
        assert_eq!(browser.get("/api/me").json()["tenant"]["slug"], "acme");
    });
}

#[test]
fn cross_site_requests_and_malformed_bodies_are_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, signed) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let crossing = [
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Site", "same-site"),
            ("Origin", "https://evil.example"),
            ("Origin", "null"),
        ];
        for (name, value) in crossing {
            for browser in [server.browser().with(name, value), signed.with(name, value)] {
                for path in ["/api/auth/sign-in", "/api/auth/sign-out"] {
                    let answer = browser.post(path, &json!({ "email": ada.email, "password": ada.password }));
                    assert_eq!((answer.status, &answer.json()["reason"]), (403, &json!("CROSS_SITE")));
                }
            }
        }
        let ours = server.browser().with("Origin", ORIGIN).with("Sec-Fetch-Site", "same-origin");
        assert_eq!(ours.sign_in(&ada.email, ada.password).status, 200);
        assert_eq!(signed.with("Sec-Fetch-Site", "cross-site").get("/api/me").status, 200, "reading is safe");
        let browser = server.browser();
        let bodies = [
            (json!({ "email": "ada@example.com" }), "password: is required"),
            (json!({ "email": 1, "password": "x" }), "email: invalid type"),
            (json!({ "email": "ada", "password": "x" }), "email: write an email address"),
            (json!({ "email": "a@b", "password": "x", "more": 1 }), "more: unknown field"),
            (json!([]), "body: "),
        ];
        for (body, expected) in bodies {
            let answer = browser.post("/api/auth/sign-in", &body);
            assert_eq!(answer.status, 400, "{body}: {}", answer.text);
            let error = answer.json();
            assert!(error["error"].as_str().unwrap().contains(expected), "{body}: {error}");
            assert_eq!(error.get("reason"), None);
        }
    });
}
