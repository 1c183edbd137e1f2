//! Logout: the OpenID provider ends sessions, and users end their session at the provider.

use std::{collections::BTreeMap, time::Duration};

use directory::Role;
use kernel::Env;
use oidc_rp::{
    Algorithm,
    conformance::{CLIENT, Signer},
};
use serde_json::{Value, json};

use super::{Site, add};
use crate::support::{Answer, Browser, Server, code, oidc_body, on_both};

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Returns the claims of a logout token.
fn claims(server: &Server, site: &Site, id: &str) -> Value {
    let now = server.env.now().unix_millis() / 1000;
    json!({
        "iss": site.provider.issuer, "aud": CLIENT, "iat": now, "exp": now + 120, "jti": id,
        "events": { EVENT: {} },
    })
}

/// Posts a logout token with these claims.
fn post(server: &Server, site: &Site, claims: &Value) -> Answer {
    let token = site.provider.signer.token(Algorithm::RS256, claims.as_object().unwrap());
    post_token(server, site, &token)
}

fn post_token(server: &Server, site: &Site, token: &str) -> Answer {
    let form = form_urlencoded::Serializer::new(String::new()).append_pair("logout_token", token).finish();
    let kind = Some("application/x-www-form-urlencoded");
    server.anonymous().send("POST", &site.path("backchannel-logout"), kind, &form)
}

/// Signs in with this ID of the session at the provider.
fn signed_in(server: &Server, site: &Site, email: &str, session: &'static str) -> Browser {
    let browser = server.browser();
    let answer = site.sign_in_with(server, &browser, email, |claims| {
        claims.insert("sid".into(), session.into());
    });
    assert_eq!(answer.status, 303, "{:?}", site.refusals(server));
    assert_eq!(browser.get("/api/me").status, 200);
    browser
}

#[test]
fn provider_ends_one_session_or_all_of_a_user() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        server.person(&site.tenant, "bob@corp.example", Role::Member);
        let [first, second] =
            ["s1", "s2"].map(|session| signed_in(server, &site, "ada@corp.example", session));
        let other = signed_in(server, &site, "bob@corp.example", "s1");
        let mut token = claims(server, &site, "l1");
        token["sid"] = json!("s1");
        token["sub"] = json!("subject of ada@corp.example");
        let done = post(server, &site, &token);
        assert_eq!((done.status, done.header("cache-control")), (200, "no-store"), "{}", done.text);
        let ended = first.get("/api/me");
        assert_eq!((ended.status, &ended.json()["code"]), (401, &json!("SESSION_REVOKED")));
        server.second(|address| assert_eq!(first.at(address).get("/api/me").status, 401));
        assert_eq!((second.get("/api/me").status, other.get("/api/me").status), (200, 200));
        let entry = server.entry(&site.tenant, "ACCOUNT_SESSION_REVOKED");
        assert_eq!((entry.actor_type.as_str(), entry.actor_id.as_str()), ("OIDC", site.id.as_str()));
        assert!(entry.metadata.contains("\"why\":\"IDENTITY_PROVIDER\""), "{}", entry.metadata);

        let third = signed_in(server, &site, "ada@corp.example", "s3");
        let mut token = claims(server, &site, "l2");
        token["sub"] = json!("subject of ada@corp.example");
        assert_eq!(post(server, &site, &token).status, 200);
        assert_eq!((second.get("/api/me").status, third.get("/api/me").status), (401, 401));
        assert_eq!(other.get("/api/me").status, 200);
        // A session at the provider that nobody has here.
        let mut token = claims(server, &site, "l3");
        token["sid"] = json!("s9");
        assert_eq!(post(server, &site, &token).status, 200);
    });
}

#[test]
fn session_that_a_factor_completed_belongs_to_the_same_session_at_the_provider() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        server.policy(&site.tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.trust_sso_mfa = false;
        });
        let browser = server.browser();
        let answer = site.sign_in_with(server, &browser, "ada@corp.example", |claims| {
            claims.insert("sid".into(), "s1".into());
        });
        assert_eq!(answer.status, 303);
        let before = browser.cookie("as_sid");
        let app = browser.post("/api/me/factors/totp", &json!({})).json();
        let proof = json!({ "id": app["id"], "code": code(app["secret"].as_str().unwrap(), server, 0) });
        let enrolled = browser.post("/api/me/factors/totp/verify", &proof);
        assert_eq!(enrolled.status, 200, "{}", enrolled.text);
        assert_ne!(browser.cookie("as_sid"), before, "the session has a new ID");
        assert_eq!(browser.get("/api/me").status, 200);
        let mut token = claims(server, &site, "l1");
        token["sid"] = json!("s1");
        assert_eq!(post(server, &site, &token).status, 200);
        assert_eq!(browser.get("/api/me").status, 401);
    });
}

#[test]
fn hostile_logout_tokens_end_nothing() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = signed_in(server, &site, "ada@corp.example", "s1");
        let mut sound = claims(server, &site, "l1");
        sound["sid"] = json!("s1");
        let bent = |name: &str, value: Value| {
            let mut claims = sound.clone();
            claims[name] = value;
            claims
        };
        let refused = |answer: Answer, reason: &str| {
            assert_eq!(
                (answer.status, &answer.json()["code"]),
                (400, &json!("OIDC_LOGOUT_REFUSED")),
                "{reason}"
            );
            assert!(!answer.text.contains(reason), "{}", answer.text);
            let entries = server.entries(&site.tenant);
            let is_recorded = entries.iter().any(|entry| {
                entry.action == "ACCOUNT_OIDC_LOGOUT_REFUSED" && entry.metadata.contains(reason)
            });
            assert!(is_recorded, "{reason}: {entries:?}");
            assert_eq!(browser.get("/api/me").status, 200, "{reason}");
        };
        refused(post(server, &site, &bent("iss", json!("https://evil.example"))), "WRONG_ISSUER");
        refused(post(server, &site, &bent("aud", json!("other"))), "WRONG_AUDIENCE");
        refused(post(server, &site, &bent("nonce", json!("n"))), "NOT_A_LOGOUT_TOKEN");
        refused(post(server, &site, &bent("events", json!({}))), "NOT_A_LOGOUT_TOKEN");
        refused(post(server, &site, &bent("exp", json!(1))), "EXPIRED");
        refused(post_token(server, &site, ""), "NOT_A_SIGNED_JWT");
        let payload = sound.to_string();
        let header = br#"{"alg":"RS256","kid":"rsa"}"#;
        let forged = site.provider.signer.sign(Signer::Foreign, header, payload.as_bytes());
        refused(post_token(server, &site, &forged), "SIGNATURE_INVALID");
        let unsigned = site.provider.signer.sign(Signer::Nobody, br#"{"alg":"none"}"#, payload.as_bytes());
        refused(post_token(server, &site, &unsigned), "ALGORITHM_NOT_ALLOWED");

        // The same provider and client in another tenant.
        let other = server.tenant("other");
        let (_, admin) = server.signed_in(&other, "admin@other.example", Role::Admin);
        let body = oidc_body(&site.provider, &["else.example"]);
        let id = add(server, &admin, &body)["id"].as_str().unwrap().to_owned();
        let elsewhere = Site { tenant: other, admin, provider: site.provider.clone(), id };
        assert_eq!(post(server, &elsewhere, &sound).status, 200);
        assert_eq!(browser.get("/api/me").status, 200, "the token was for the connection of another tenant");

        assert_eq!(post(server, &site, &sound).status, 200);
        assert_eq!(browser.get("/api/me").status, 401);
        let late = site.sign_in_with(server, &server.browser(), "ada@corp.example", |claims| {
            claims.insert("sid".into(), "s1".into());
        });
        assert_eq!((late.status, late.text.contains("ended your session")), (401, true), "{}", late.text);
        let again = signed_in(server, &site, "ada@corp.example", "s2");
        assert_eq!(post(server, &site, &sound).status, 400, "each token is consumed once");
        assert_eq!(again.get("/api/me").status, 200);
    });
}

#[test]
fn sign_out_continues_at_the_provider_if_the_connection_has_the_setting() {
    on_both(|server| {
        let site = Site::with(server, |body| body["signOutAtProvider"] = json!(true));
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let request = site.begin(&browser, "");
        let claims = site.provider.claims(&request, "ada@corp.example", server.env.now());
        let id_token = site.provider.signer.token(Algorithm::RS256, &claims);
        site.provider.issue_token(&id_token);
        assert_eq!(site.come_back(&browser, &request.redirect(&site.provider.issuer)).status, 303);
        let out = browser.post("/api/auth/sign-out", &json!({})).json();
        let url = out["logoutUrl"].as_str().unwrap_or_else(|| panic!("{out}"));
        let (endpoint, query) = url.split_once('?').unwrap();
        assert_eq!(endpoint, format!("{}/logout", site.provider.issuer));
        let query: BTreeMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let view = site.admin.get(&site.settings()).json();
        assert_eq!(query["post_logout_redirect_uri"], view["relyingParty"]["postLogoutRedirectUri"]);
        assert_eq!((query["client_id"].as_str(), &query["id_token_hint"]), (CLIENT, &id_token));
        assert_eq!(browser.get("/api/me").status, 401);
        // The list of sessions ends the own one like a sign-out.
        let browser = signed_in(server, &site, "ada@corp.example", "s2");
        let sessions = browser.get("/api/me/sessions").json();
        let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
        let out = browser.delete(&format!("/api/me/sessions/{id}")).json();
        assert!(out["logoutUrl"].as_str().is_some_and(|url| url.contains("id_token_hint=")), "{out}");
        let local = server.signed_in(&site.tenant, "bob@corp.example", Role::Member).1;
        assert_eq!(local.post("/api/auth/sign-out", &json!({})).json().get("logoutUrl"), None);
    });
}

#[test]
fn sign_out_stays_here_by_default() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = signed_in(server, &site, "ada@corp.example", "s1");
        let out = browser.post("/api/auth/sign-out", &json!({})).json();
        assert_eq!(out, json!({ "revoked": true, "signOut": true }));
    });
}

#[test]
fn provider_ends_a_sign_in_that_waits_for_a_second_factor() {
    on_both(|server| {
        let site = Site::new(server);
        let (_, own) = server.signed_in(&site.tenant, "ada@corp.example", Role::Member);
        // Pins the subject.
        signed_in(server, &site, "ada@corp.example", "s1");
        let app = own.post("/api/me/factors/totp", &json!({})).json();
        let secret = app["secret"].as_str().unwrap();
        let proof = json!({ "id": app["id"], "code": code(secret, server, 0) });
        assert_eq!(own.post("/api/me/factors/totp/verify", &proof).status, 200);
        server.env.advance(Duration::from_mins(1));
        let browser = server.browser();
        assert_eq!(site.sign_in(server, &browser, "ada@corp.example").status, 303);
        let waiting = browser.post("/api/auth/sign-in/resume", &json!({})).json();
        assert_eq!(waiting["status"], "MFA_REQUIRED", "{waiting}");
        let mut token = claims(server, &site, "l1");
        token["sub"] = json!("subject of ada@corp.example");
        assert_eq!(post(server, &site, &token).status, 200);
        let late = browser.verify(&waiting["ticket"], "TOTP", &code(secret, server, 0));
        assert_eq!((late.status, &late.json()["code"]), (401, &json!("TICKET_INVALID")));

        // A token may name the session alone.
        let browser = server.browser();
        let answer = site.sign_in_with(server, &browser, "ada@corp.example", |claims| {
            claims.insert("sid".into(), "s5".into());
        });
        assert_eq!(answer.status, 303);
        let waiting = browser.post("/api/auth/sign-in/resume", &json!({})).json();
        let mut token = claims(server, &site, "l2");
        token["sid"] = json!("s5");
        assert_eq!(post(server, &site, &token).status, 200);
        server.env.advance(Duration::from_mins(1));
        let late = browser.verify(&waiting["ticket"], "TOTP", &code(secret, server, 0));
        assert_eq!((late.status, &late.json()["code"]), (401, &json!("SESSION_REVOKED")));
    });
}

#[test]
fn session_that_gets_another_id_during_the_logout_ends_too() {
    on_both(|server| {
        let site = Site::new(server);
        server.policy(&site.tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.trust_sso_mfa = false;
        });
        for round in 0..8 {
            let email = format!("user{round}@corp.example");
            server.person(&site.tenant, &email, Role::Member);
            let browser = server.browser();
            let answer = site.sign_in_with(server, &browser, &email, |claims| {
                claims.insert("sid".into(), email.clone().into());
            });
            assert_eq!(answer.status, 303);
            let app = browser.post("/api/me/factors/totp", &json!({})).json();
            let proof = json!({ "id": app["id"], "code": code(app["secret"].as_str().unwrap(), server, 0) });
            let mut token = claims(server, &site, &email);
            token["sid"] = json!(email);
            let token = site.provider.signer.token(Algorithm::RS256, token.as_object().unwrap());
            let cookies = browser.cookies.borrow().clone();
            let enrolled = std::thread::scope(|scope| {
                let enrolling = scope.spawn(|| {
                    let browser = Browser::new(server.address);
                    browser.cookies.replace(cookies);
                    browser.post("/api/me/factors/totp/verify", &proof);
                    browser.cookies.into_inner()
                });
                assert_eq!(post_token(server, &site, &token).status, 200);
                enrolling.join().unwrap()
            });
            browser.cookies.replace(enrolled);
            assert_eq!(browser.get("/api/me").status, 401, "round {round}");
        }
    });
}

#[test]
fn another_client_of_the_connection_does_not_get_the_id_token() {
    on_both(|server| {
        let mut wanted = Value::Null;
        let site = Site::with(server, |body| {
            body["signOutAtProvider"] = json!(true);
            wanted = body.clone();
        });
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = signed_in(server, &site, "ada@corp.example", "s1");
        wanted["clientId"] = json!("another client");
        let changed = server.proved(&site.admin, "SSO_PROVIDER_CHANGE").put(&site.settings(), &wanted);
        assert_eq!(changed.status, 200, "{}", changed.text);
        let out = browser.post("/api/auth/sign-out", &json!({})).json();
        let url = out["logoutUrl"].as_str().unwrap_or_else(|| panic!("{out}"));
        assert!(url.contains("client_id=another+client") && !url.contains("id_token_hint"), "{url}");
    });
}
