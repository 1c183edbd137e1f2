//! Refused sign-ins. Before the user is known, all refusals look the same; the audit log has the reason.

use std::time::Duration;

use credentials::SignInMode;
use directory::Role;
use kernel::Env;
use oidc_rp::conformance::Signer;
use serde_json::{Map, Value, json};

use super::Site;
use crate::support::{Answer, Browser, Responds, Server, on_both};

/// Asserts that a sign-in is refused, for this reason in the audit log only.
fn refused(server: &Server, site: &Site, answer: &Answer, reason: &str) {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (401, &json!("OIDC_REFUSED")), "{reason}: {}", answer.text);
    assert!(body.get("reason").is_none(), "an attacker learns nothing: {body}");
    assert!(answer.cookies().iter().all(|cookie| cookie.name() != "as_sid"));
    assert_eq!(site.refusals(server)[0]["reason"], reason);
}

fn json_browser(server: &Server) -> Browser {
    server.browser().with("Accept", "application/json")
}

#[test]
fn bent_claims_are_refused() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let now = server.env.now().unix_millis() / 1000;
        // Null removes the claim.
        let cases = [
            ("WRONG_ISSUER", "iss", json!("https://evil.example")),
            ("WRONG_AUDIENCE", "aud", json!("other")),
            ("WRONG_AUTHORIZED_PARTY", "azp", json!("other")),
            ("WRONG_NONCE", "nonce", json!("other")),
            ("WRONG_NONCE", "nonce", Value::Null),
            ("EXPIRED", "exp", json!(now - 120)),
            ("WRONG_ISSUED_AT", "iat", json!(now + 600)),
            ("HASH_MISMATCH", "at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA")),
            ("CLAIM_MISSING", "sub", Value::Null),
            ("EMAIL_NOT_VERIFIED", "email_verified", json!(false)),
            ("EMAIL_MISSING", "email", Value::Null),
            ("EMAIL_DOMAIN_NOT_ALLOWED", "email", json!("ada@else.example")),
        ];
        for (reason, name, value) in cases {
            let bend = |claims: &mut Map<String, Value>| {
                claims.insert(name.into(), value);
                claims.retain(|_, value| !value.is_null());
            };
            let answer = site.sign_in_with(server, &json_browser(server), "ada@corp.example", bend);
            refused(server, &site, &answer, reason);
        }
        let answer = site.sign_in(server, &json_browser(server), "ada@corp.example");
        assert_eq!(answer.status, 303, "{:?}", site.refusals(server));
    });
}

#[test]
fn unsigned_and_wrongly_signed_tokens_are_refused() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let signer = &site.provider.signer;
        let secret = signer.key_set();
        for (header, by, reason) in [
            (r#"{"alg":"none"}"#, Signer::Nobody, "ALGORITHM_NOT_ALLOWED"),
            (r#"{"alg":"HS256","kid":"rsa"}"#, Signer::Hmac(secret.as_bytes()), "ALGORITHM_NOT_ALLOWED"),
            (r#"{"alg":"RS256","kid":"rsa"}"#, Signer::Foreign, "SIGNATURE_INVALID"),
            (r#"{"alg":"RS256","kid":"other"}"#, Signer::Foreign, "KEY_UNKNOWN"),
        ] {
            let browser = json_browser(server);
            let request = site.begin(&browser, "");
            let claims = site.provider.claims(&request, "ada@corp.example", server.env.now());
            let payload = Value::Object(claims).to_string();
            site.provider.issue_token(&signer.sign(by, header.as_bytes(), payload.as_bytes()));
            let answer = site.come_back(&browser, &request.redirect(&site.provider.issuer));
            refused(server, &site, &answer, reason);
        }
    });
}

#[test]
fn token_endpoint_that_fails_is_reported() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let failed = |response: Responds, reason: &str| {
            let browser = json_browser(server);
            let request = site.begin(&browser, "");
            site.provider.respond("/token", response);
            let answer = site.come_back(&browser, &request.redirect(&site.provider.issuer));
            refused(server, &site, &answer, reason);
        };
        let error = json!({ "error": "invalid_client", "error_description": "who are you" });
        failed(Responds { status: 401, ..Responds::json(&error) }, "TOKEN_REQUEST_REFUSED");
        let detail = site.refusals(server)[0]["detail"].to_string();
        assert!(detail.contains("invalid_client: who are you"), "{detail}");
        failed(Responds::json(&json!([])), "TOKEN_RESPONSE_MALFORMED");
        let body = json!({ "access_token": "x", "token_type": "Bearer" });
        failed(Responds::json(&body), "ID_TOKEN_MISSING");
        let large = Responds { body: " ".repeat(300_000), ..Responds::json(&json!({})) };
        failed(large, "TOKEN_ENDPOINT_UNREACHABLE");
        let redirect = Responds { status: 302, ..Responds::json(&json!({})) };
        failed(redirect, "TOKEN_REQUEST_REFUSED");
    });
}

#[test]
fn answer_counts_once_and_in_the_browser_that_started_it() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = json_browser(server);
        let request = site.begin(&browser, "");
        site.provider.issue(&site.provider.claims(&request, "ada@corp.example", server.env.now()));
        let query = request.redirect(&site.provider.issuer);
        refused(server, &site, &site.come_back(&json_browser(server), &query), "OTHER_BROWSER");
        let forged = json_browser(server);
        let cookies = browser.cookies.borrow().clone();
        let name = cookies.keys().find(|name| name.starts_with("oidc_")).unwrap();
        forged.set(name, "0123456789012345678901234567890123456789");
        refused(server, &site, &site.come_back(&forged, &query), "OTHER_BROWSER");
        assert!(site.provider.received("/token").is_empty(), "only the right browser's code is exchanged");

        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let attempts: Vec<_> = (0..16)
                .map(|_| {
                    let (browser, site, query) = (browser.clone(), &site, &query);
                    let path = format!("{}?{query}", site.path("callback"));
                    scope.spawn(move || browser.get(&path).status)
                })
                .collect();
            attempts.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 1, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 15, "{statuses:?}");
        assert_eq!(site.provider.received("/token").len(), 1, "the code is exchanged once");

        let late = json_browser(server);
        let request = site.begin(&late, "");
        server.env.advance(Duration::from_mins(11));
        let answer = site.come_back(&late, &request.redirect(&site.provider.issuer));
        refused(server, &site, &answer, "REQUEST_UNKNOWN_OR_EXPIRED");
    });
}

#[test]
fn redirects_without_a_code_are_refused() {
    on_both(|server| {
        let site = Site::new(server);
        let (browser, issuer) = (json_browser(server), site.provider.issuer.clone());
        let state = |browser: &Browser| site.begin(browser, "").get("state").to_owned();
        let with_state = |rest: &str| format!("state={}&{rest}", state(&browser));
        for (query, reason) in [
            (String::new(), "PARAMETER_MISSING"),
            ("state=x&state=y&code=a".to_owned(), "PARAMETER_REPEATED"),
            ("state=made-up&code=a".to_owned(), "REQUEST_UNKNOWN_OR_EXPIRED"),
            (with_state("code=a&id_token=x"), "TOKEN_IN_ADDRESS"),
            (with_state("code=a"), "CALLBACK_ISSUER_MISSING"),
            (with_state(&format!("error=access_denied&iss={issuer}")), "PROVIDER_ERROR"),
        ] {
            let answer = site.come_back(&browser, &query);
            refused(server, &site, &answer, reason);
        }
        assert!(site.provider.received("/token").is_empty());
    });
}

#[test]
fn users_learn_the_reason_after_all_checks_of_the_answer_passed() {
    on_both(|server| {
        let site = Site::new(server);
        let ada = server.person(&site.tenant, "ada@corp.example", Role::Member);
        let code = |email: &str| {
            let answer = site.sign_in(server, &json_browser(server), email);
            assert!(answer.cookies().iter().all(|cookie| cookie.name() != "as_sid"));
            (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned())
        };
        assert_eq!(code("nobody@corp.example"), (401, "NOT_PROVISIONED".into()));
        server.policy(&site.tenant, |policy| policy.sign_in_mode = SignInMode::CredentialsOnly);
        assert_eq!(code("ada@corp.example"), (401, "SSO_NOT_ALLOWED".into()));
        server.policy(&site.tenant, |policy| policy.sign_in_mode = SignInMode::SsoRequired);
        server.disable(&site.tenant, &ada.id);
        assert_eq!(code("ada@corp.example"), (401, "ACCOUNT_DISABLED".into()));
        let disabled = &site.refusals(server)[0];
        assert_eq!((&disabled["reason"], &disabled["user"]), (&json!("ACCOUNT_DISABLED"), &json!(ada.id)));

        let browser = server.browser().with("Accept", "text/html");
        let page = site.sign_in(server, &browser, "nobody@corp.example");
        assert_eq!((page.status, page.header("content-type")), (401, "text/html; charset=utf-8"));
        let reference = page.header("x-request-id").to_owned();
        for word in ["NOT_PROVISIONED", reference.as_str(), "acme"] {
            assert!(page.text.contains(word), "{word}: {}", page.text);
        }
        assert!(!page.text.contains("nobody@"), "the page does not repeat the claims");
    });
}

#[test]
fn subject_is_pinned_until_an_administrator_removes_it() {
    on_both(|server| {
        let site = Site::new(server);
        let ada = server.person(&site.tenant, "ada@corp.example", Role::Member);
        server.person(&site.tenant, "bob@corp.example", Role::Member);
        let sign_in = |email: &str, subject: &'static str| {
            let bend = |claims: &mut Map<String, Value>| _ = claims.insert("sub".into(), subject.into());
            site.sign_in_with(server, &json_browser(server), email, bend)
        };
        assert_eq!(sign_in("ada@corp.example", "s1").status, 303);
        assert_eq!(sign_in("ada@corp.example", "s1").status, 303);
        refused(server, &site, &sign_in("ada@corp.example", "s2"), "SUBJECT_CHANGED");
        refused(server, &site, &sign_in("bob@corp.example", "s1"), "SUBJECT_OF_ANOTHER_USER");
        let path = format!("/api/settings/users/{}/saml-subjects", ada.id.as_str());
        let pinned = site.admin.get(&path).json();
        assert_eq!(pinned["subjects"][0]["providerId"], site.id.as_str(), "{pinned}");
        let proved = server.proved(&site.admin, "USER_ADMIN_CHANGE");
        assert_eq!(proved.delete(&format!("{path}/{}", site.id)).status, 200);
        let entries = server.entries(&site.tenant);
        assert!(entries.iter().any(|entry| entry.action == "ACCOUNT_OIDC_SUBJECT_UNPINNED"));
        assert_eq!(sign_in("ada@corp.example", "s2").status, 303);
    });
}

#[test]
fn policies_and_domains_of_other_tenants_apply() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let policy = json!({
            "mode": "ALLOWLIST",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": false, "API": false },
            "adminBypass": true,
        });
        let proved = server.proved(&site.admin, "NETWORK_POLICY_CHANGE");
        assert_eq!(proved.put("/api/settings/network-policy", &policy).status, 200);
        let answer = site.sign_in(server, &json_browser(server), "ada@corp.example");
        assert_eq!((answer.status, &answer.json()["code"]), (403, &json!("NETWORK_POLICY_BLOCKED")));

        let owner = server.tenant("globex");
        server.write(&owner.id, async |ctx, tx| {
            let domain = saml_sp::VerifiedDomain {
                domain: "corp.example".parse().unwrap(),
                method: saml_sp::Method::Operator,
                verified_at: ctx.now,
                token: None,
            };
            saml_sp::DomainStore::insert_verified_domain(tx, &domain).await
        });
        let answer = site.sign_in(server, &json_browser(server), "ada@corp.example");
        refused(server, &site, &answer, "EMAIL_DOMAIN_OF_ANOTHER_TENANT");
    });
}

#[test]
fn connection_that_is_removed_meanwhile_signs_nobody_in() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = json_browser(server);
        let request = site.begin(&browser, "");
        site.provider.issue(&site.provider.claims(&request, "ada@corp.example", server.env.now()));
        let removed = server.proved(&site.admin, "SSO_PROVIDER_CHANGE").delete(&site.settings());
        assert_eq!(removed.status, 200, "{}", removed.text);
        let answer = site.come_back(&browser, &request.redirect(&site.provider.issuer));
        assert_eq!(answer.status, 404, "{}", answer.text);
        assert!(site.provider.received("/token").is_empty());
    });
}
