//! The whole SAML sign-in, to the identity provider and back.

use std::time::Duration;

use credentials::SignInMode;
use directory::Role;
use kernel::Env;
use serde_json::json;

use super::{Site, add, body};
use crate::support::{Idp, Server, on_both};

#[test]
fn a_whole_sign_in() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let ada = server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let page = browser.get(&site.path("login?relayState=%2Faccount%2Fsecurity%3Fa%3Db"));
        assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
        let policy = page.header("content-security-policy");
        assert!(policy.contains("form-action https://idp.acme.example;"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.contains("script-src 'self'"), "{policy}");
        let place = format!("Path=/api/saml/{}/acs; Max-Age=600; HttpOnly; SameSite=Lax", site.id);
        assert_eq!(page.cookie_attributes("saml_"), place);

        let sent = crate::support::sent(&page);
        assert_eq!(sent.action, "https://idp.acme.example/saml/sso");
        assert!(sent.request.contains("<ds:SignatureValue>") && !sent.request.contains("ForceAuthn"));
        let base = format!("http://localhost:8080/api/saml/{}", site.id);
        assert!(sent.request.contains(&format!("<saml:Issuer>{base}/metadata</saml:Issuer>")));
        assert_eq!(sent.attribute("Destination"), Some("https://idp.acme.example/saml/sso"));
        assert_eq!(sent.attribute("AssertionConsumerServiceURL"), Some(&*format!("{base}/acs")));

        let says = sent.says("Ada@CORP.example", server.env.now());
        let answer = site.post(&browser, &site.idp.response(&says), &sent.relay_state);
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, "/account/security?a=b"),
            "{} {:?}",
            answer.text,
            site.refusals(server)
        );
        let me = browser.get("/api/me").json();
        assert_eq!(me["id"], ada.id.as_str());
        assert!(
            !browser.cookies.borrow().keys().any(|name| name.starts_with("saml_")),
            "the server removes the cookie"
        );
        let entries = server.entries(&site.tenant);
        let theirs: Vec<_> = entries.iter().filter(|entry| entry.actor_id == site.id).collect();
        assert!(theirs.iter().all(|entry| entry.actor_type == "SAML"));
        for action in ["ACCOUNT_SESSION_STARTED", "ACCOUNT_SIGN_IN_SUCCEEDED"] {
            assert!(theirs.iter().any(|entry| entry.action == action), "{action}");
        }
    });
}

#[test]
fn relay_state_cannot_redirect_to_other_origins() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let to = |query: &str, relay: Option<&str>| {
            let browser = server.browser();
            let sent = site.begin(&browser, query);
            let says = sent.says("ada@corp.example", server.env.now());
            let relay = relay.unwrap_or(&sent.relay_state);
            site.post(&browser, &site.idp.response(&says), relay).header("location").to_owned()
        };
        assert_eq!(to("?relayState=%2Fsettings%2Fsso", None), "/settings/sso");
        for elsewhere in [
            "https%3A%2F%2Fevil.example%2F",
            "%2F%2Fevil.example",
            "%2F%5Cevil.example",
            "javascript%3Aalert(1)",
        ] {
            assert_eq!(to(&format!("?relayState={elsewhere}"), None), "/", "{elsewhere}");
        }
        assert_eq!(
            to("?relayState=%2Fsettings%2Fsso", Some("https://evil.example/")),
            "/",
            "no key has this name"
        );
        assert_eq!(to("?relayState=%2Fsettings%2Fsso", Some("")), "/");
    });
}

#[test]
fn configured_return_origins_are_allowed_and_cookies_are_cross_site_with_https() {
    for kind in store::testing::Kind::ALL {
        let settings = [("return_origins", "https://app.example"), ("base_url", "https://gate.example")];
        let server = &Server::start(kind, &settings);
        let tenant = server.tenant("acme");
        let idp = Idp::new("idp.acme.example");
        // Session cookies are the same here; only the SAML cookies are checked.
        let (_, admin) = server.signed_in(&tenant, "admin@acme.example", Role::Admin);
        let id = add(server, &admin, &body(&idp, &["corp.example"]))["id"].as_str().unwrap().to_owned();
        let site = Site { tenant, admin, idp, id };
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let page = browser.get(&site.path("login?relayState=https%3A%2F%2Fapp.example%2Fa%3Fb"));
        let attributes = page.cookie_attributes("saml_");
        assert!(attributes.ends_with("HttpOnly; SameSite=None; Secure"), "{attributes}");
        let sent = crate::support::sent(&page);
        let says = sent.says("ada@corp.example", server.env.now());
        let answer = site.post(&browser, &site.idp.response(&says), &sent.relay_state);
        assert_eq!((answer.status, answer.header("location")), (303, "https://app.example/a?b"));
        for name in ["as_sid", "authjs"] {
            let attributes = answer.cookie_attributes(name);
            assert!(attributes.ends_with("SameSite=Lax; Secure"), "{attributes}");
        }
    }
}

#[test]
fn metadata_has_both_certificates_during_a_rotation() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let metadata = || server.anonymous().get(&site.path("metadata"));
        let first = metadata();
        assert_eq!((first.status, first.header("content-type")), (200, "application/samlmetadata+xml"));
        let certificates = |text: &str| {
            let mut found: Vec<String> = text
                .split("<ds:X509Certificate>")
                .skip(1)
                .map(|rest| rest.split('<').next().unwrap().to_owned())
                .collect();
            found.sort();
            found.dedup();
            found
        };
        let before = certificates(&first.text);
        assert_eq!(before.len(), 1);
        let rotate = |rest: &str| {
            let path = format!("/api/settings/saml-providers/{}/rotate-certificate{rest}", site.id);
            let done = server.proved(&site.admin, "SSO_PROVIDER_CHANGE").post(&path, &json!({}));
            assert_eq!(done.status, 200, "{}", done.text);
        };
        rotate("");
        let during = certificates(&metadata().text);
        assert!(during.len() == 2 && during.contains(&before[0]));
        rotate("/complete");
        let after = certificates(&metadata().text);
        assert!(after.len() == 1 && after != before && during.contains(&after[0]));
        for unknown in ["sso_1", "sso_01jz000000000000000000000001jz4444444444444444444444", "%00"] {
            for (method, rest) in [("GET", "metadata"), ("GET", "login"), ("POST", "acs")] {
                let kind = (method == "POST").then_some("application/x-www-form-urlencoded");
                let answer =
                    server.anonymous().send(method, &format!("/api/saml/{unknown}/{rest}"), kind, "");
                assert_eq!(answer.status, 404, "{unknown} {rest}: {}", answer.text);
            }
        }
    });
}

#[test]
fn session_ends_at_session_not_on_or_after() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let sent = site.begin(&browser, "");
        let mut says = sent.says("ada@corp.example", server.env.now());
        says.session_ends = Some(server.env.now().plus_millis(20 * 60_000));
        let answer = site.post(&browser, &site.idp.response(&says), "");
        let cookies = answer.cookies();
        let mirror = cookies.iter().find(|cookie| cookie.name() == "as_sid").unwrap();
        let age = mirror.max_age().unwrap().whole_seconds();
        assert!((1100..=1200).contains(&age), "{cookies:?}");
        assert_eq!(browser.get("/api/me").status, 200);
        server.env.advance(Duration::from_mins(21));
        let over = browser.get("/api/me");
        assert_eq!((over.status, &over.json()["code"]), (401, &json!("UNAUTHENTICATED")));
    });
}

#[test]
fn providers_are_found_by_address_or_tenant() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let ask = |body| server.browser().post("/api/auth/sign-in/providers", &body);
        let none = json!({ "providers": [] });
        assert_eq!(ask(json!({ "email": "x@corp.example" })).json(), none, "nobody has verified the domain");
        let url = format!("http://localhost:8080/api/saml/{}/login", site.id);
        let found = json!({ "providers": [{ "name": "Corp", "loginUrl": url }] });
        assert_eq!(ask(json!({ "tenant": "acme" })).json(), found);
        assert_eq!(ask(json!({ "tenant": "nobody" })).json(), none);
        server.write(&site.tenant.id, async |ctx, tx| {
            let domain = saml_sp::VerifiedDomain {
                domain: "corp.example".parse().unwrap(),
                method: saml_sp::Method::Operator,
                verified_at: ctx.now,
                token: None,
            };
            saml_sp::DomainStore::insert_verified_domain(tx, &domain).await
        });
        assert_eq!(ask(json!({ "email": "Anybody@Corp.example" })).json(), found);
        for other in ["x@sub.corp.example", "x@corp.example.evil", "corp.example", "@", "x@corp.example@y"] {
            assert_eq!(ask(json!({ "email": other })).json(), none, "{other}");
        }
        assert_eq!(ask(json!({})).status, 400);
        server.policy(&site.tenant, |policy| policy.sign_in_mode = SignInMode::CredentialsOnly);
        assert_eq!(ask(json!({ "tenant": "acme" })).json(), none);
        assert_eq!(ask(json!({ "email": "x@corp.example" })).json(), none);
    });
}
