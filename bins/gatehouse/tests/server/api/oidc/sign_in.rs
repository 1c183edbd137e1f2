//! The whole sign-in, to the OpenID provider and back.

use std::{collections::BTreeMap, time::Duration};

use credentials::SignInMode;
use data_encoding::{BASE64, BASE64URL_NOPAD};
use directory::Role;
use kernel::Env;
use oidc_rp::conformance::CLIENT;
use serde_json::json;

use super::{Site, add};
use crate::support::{ACCESS_TOKEN, Browser, OpenIdProvider, Responds, Server, oidc_body, on_both};

fn form(body: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

#[test]
fn a_whole_sign_in() {
    on_both(|server| {
        let site = Site::new(server);
        let ada = server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let started = browser.get(&site.path("login?relayState=%2Faccount%2Fsecurity%3Fa%3Db"));
        let place = format!("Path=/api/oidc/{}/callback; Max-Age=600; HttpOnly; SameSite=Lax", site.id);
        assert_eq!(started.cookie_attributes("oidc_"), place);
        assert_eq!(started.header("cache-control"), "no-store");
        let request = crate::support::authorization(&started);
        assert_eq!(request.endpoint, format!("{}/authorize", site.provider.issuer));
        let redirect_uri = format!("http://localhost:8080/api/oidc/{}/callback", site.id);
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("redirect_uri", redirect_uri.as_str()),
            ("scope", "openid email profile"),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(request.get(name), value, "{name}");
        }

        let claims = site.provider.claims(&request, "Ada@CORP.example", server.env.now());
        site.provider.issue(&claims);
        let answer = site.come_back(&browser, &request.redirect(&site.provider.issuer));
        let refusals = site.refusals(server);
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, "/account/security?a=b"),
            "{refusals:?}"
        );
        assert_eq!(browser.get("/api/me").json()["id"], ada.id.as_str());
        let is_removed = !browser.cookies.borrow().keys().any(|name| name.starts_with("oidc_"));
        assert!(is_removed, "the server removes the cookie");

        let sent = site.provider.received("/token");
        assert_eq!(sent.len(), 1);
        let fields = form(&sent[0].body);
        assert_eq!(
            (fields["grant_type"].as_str(), fields["code"].as_str()),
            ("authorization_code", "a code")
        );
        assert_eq!(fields["redirect_uri"], redirect_uri);
        let verifier = ring::digest::digest(&ring::digest::SHA256, fields["code_verifier"].as_bytes());
        assert_eq!(BASE64URL_NOPAD.encode(verifier.as_ref()), request.get("code_challenge"));
        let credentials = format!("{CLIENT}:a+secret%3A+50%25+%26+more");
        let expected = format!("Basic {}", BASE64.encode(credentials.as_bytes()));
        assert_eq!(sent[0].header("authorization"), expected);
        assert!(!sent[0].body.contains("secret"));

        let entries = server.entries(&site.tenant);
        let theirs: Vec<_> = entries.iter().filter(|entry| entry.actor_id == site.id).collect();
        assert!(theirs.iter().all(|entry| entry.actor_type == "OIDC"));
        for action in ["ACCOUNT_SESSION_STARTED", "ACCOUNT_SIGN_IN_SUCCEEDED", "ACCOUNT_OIDC_SUBJECT_PINNED"]
        {
            assert!(theirs.iter().any(|entry| entry.action == action), "{action}");
        }
        let log = site.admin.get("/api/settings/audit-log?action=ACCOUNT_OIDC_SUBJECT_PINNED").json();
        assert_eq!(log["entries"][0]["actor"]["name"], "Corp", "{log}");
    });
}

#[test]
fn relay_state_cannot_redirect_to_other_origins() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        for (query, place) in [
            ("?relayState=%2Fsettings%2Fsso", "/settings/sso"),
            ("?relayState=https%3A%2F%2Fevil.example%2F", "/"),
            ("?relayState=%2F%2Fevil.example", "/"),
            ("?relayState=%2F%5Cevil.example", "/"),
            ("?relayState=javascript%3Aalert(1)", "/"),
        ] {
            let browser = server.browser();
            let request = site.begin(&browser, query);
            site.provider.issue(&site.provider.claims(&request, "ada@corp.example", server.env.now()));
            let answer = site.come_back(&browser, &request.redirect(&site.provider.issuer));
            assert_eq!(answer.header("location"), place, "{query}");
        }
    });
}

#[test]
fn settings_of_the_connection_are_requested_and_required() {
    on_both(|server| {
        let site = Site::with(server, |body| {
            body["scopes"] = json!(["email"]);
            body["prompt"] = json!("login");
            body["maxAge"] = json!(0);
            body["acrValues"] = json!(["urn:example:silver", "urn:example:gold"]);
            body["requiredClaims"] = json!({ "hd": ["corp.example"] });
            body["signingAlgorithms"] = json!(["RS256"]);
        });
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let request = site.begin(&server.browser(), "");
        for (name, value) in [
            ("scope", "openid email"),
            ("prompt", "login"),
            ("max_age", "0"),
            ("acr_values", "urn:example:silver urn:example:gold"),
        ] {
            assert_eq!(request.get(name), value, "{name}");
        }
        let now = server.env.now().unix_millis() / 1000;
        let sound = |claims: &mut serde_json::Map<String, serde_json::Value>| {
            claims.insert("auth_time".into(), now.into());
            claims.insert("acr".into(), "urn:example:gold".into());
            claims.insert("hd".into(), "corp.example".into());
        };
        let answer = site.sign_in_with(server, &server.browser(), "ada@corp.example", sound);
        assert_eq!(answer.status, 303, "{:?}", site.refusals(server));
        for (name, value, reason) in [
            ("auth_time", json!(now - 600), "AUTHENTICATION_TOO_OLD"),
            ("acr", json!("urn:example:bronze"), "AUTHN_NOT_AS_REQUESTED"),
            ("hd", json!("else.example"), "REQUIRED_CLAIM_DIFFERS"),
        ] {
            let answer = site.sign_in_with(server, &server.browser(), "ada@corp.example", |claims| {
                sound(claims);
                claims.insert(name.into(), value);
            });
            assert_eq!(answer.status, 401, "{name}");
            assert_eq!(site.refusals(server)[0]["reason"], reason);
        }
    });
}

#[test]
fn session_ends_at_session_expiry() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let end = server.env.now().unix_millis() / 1000 + 20 * 60;
        let sign_in = |browser: &Browser| {
            site.sign_in_with(server, browser, "ada@corp.example", |claims| {
                claims.insert("session_expiry".into(), end.into());
            })
        };
        let browser = server.browser();
        let answer = sign_in(&browser);
        let cookies = answer.cookies();
        let mirror = cookies.iter().find(|cookie| cookie.name() == "as_sid").unwrap();
        let age = mirror.max_age().unwrap().whole_seconds();
        assert!((1100..=1200).contains(&age), "{cookies:?}");
        assert_eq!(browser.get("/api/me").status, 200);
        server.env.advance(Duration::from_mins(21));
        let over = browser.get("/api/me");
        assert_eq!((over.status, &over.json()["code"]), (401, &json!("UNAUTHENTICATED")));

        assert_eq!(sign_in(&server.browser()).status, 401);
        assert_eq!(site.refusals(server)[0]["reason"], "SESSION_EXPIRED");
    });
}

#[test]
fn address_comes_from_user_info_only_if_the_connection_uses_it() {
    on_both(|server| {
        let site = Site::with(server, |body| body["useUserInfo"] = json!(true));
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let sign_in = |subject: &str| {
            let about = json!({ "sub": subject, "email": "ada@corp.example", "email_verified": true });
            site.provider.respond("/userinfo", Responds::json(&about));
            site.sign_in_with(server, &server.browser(), "ada@corp.example", |claims| {
                claims.insert("sub".into(), "s1".into());
                claims.remove("email");
            })
        };
        let answer = sign_in("s1");
        assert_eq!(answer.status, 303, "{:?}", site.refusals(server));
        let asked = site.provider.received("/userinfo");
        assert_eq!(asked[0].header("authorization"), format!("Bearer {ACCESS_TOKEN}"));
        assert_eq!(sign_in("s2").status, 401);
        assert_eq!(site.refusals(server)[0]["reason"], "USER_INFO_OF_ANOTHER_SUBJECT");

        let mut body = oidc_body(&site.provider, &["corp.example"]);
        body["useUserInfo"] = json!(false);
        let put = server.proved(&site.admin, "SSO_PROVIDER_CHANGE").put(&site.settings(), &body);
        assert_eq!(put.status, 200, "{}", put.text);
        assert_eq!(sign_in("s1").status, 401);
        assert_eq!(site.refusals(server)[0]["reason"], "EMAIL_MISSING");
        assert_eq!(site.provider.received("/userinfo").len(), 2);
    });
}

#[test]
fn user_with_a_second_factor_continues_at_the_sign_in_page() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        server.policy(&site.tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.trust_sso_mfa = false;
        });
        let answer = site.sign_in(server, &server.browser(), "ada@corp.example");
        assert_eq!(answer.status, 303, "{}", answer.text);
        assert!(
            answer.header("location").starts_with("/auth/login?continue=1"),
            "{}",
            answer.header("location")
        );
    });
}

#[test]
fn connections_of_both_protocols_are_found_by_address_or_tenant() {
    on_both(|server| {
        let site = Site::new(server);
        let ask = |body| server.browser().post("/api/auth/sign-in/providers", &body);
        let none = json!({ "providers": [] });
        assert_eq!(ask(json!({ "email": "x@corp.example" })).json(), none, "nobody has verified the domain");
        let url = format!("http://localhost:8080/api/oidc/{}/login", site.id);
        let found = json!({ "providers": [{ "name": "Corp", "loginUrl": url }] });
        assert_eq!(ask(json!({ "tenant": "acme" })).json(), found);
        verify_domain(server, &site, "corp.example");
        assert_eq!(ask(json!({ "email": "Anybody@Corp.example" })).json(), found);
        assert_eq!(ask(json!({ "email": "x@sub.corp.example" })).json(), none);
        server.policy(&site.tenant, |policy| policy.sign_in_mode = SignInMode::CredentialsOnly);
        assert_eq!(ask(json!({ "tenant": "acme" })).json(), none);
    });
}

fn verify_domain(server: &Server, site: &Site, domain: &str) {
    let domain = domain.parse().unwrap();
    server.write(&site.tenant.id, async move |ctx, tx| {
        let domain = saml_sp::VerifiedDomain {
            domain,
            method: saml_sp::Method::Operator,
            verified_at: ctx.now,
            token: None,
        };
        saml_sp::DomainStore::insert_verified_domain(tx, &domain).await
    });
}

#[test]
fn two_connections_of_a_tenant_do_not_accept_each_others_answers() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let other = OpenIdProvider::start();
        let body = oidc_body(&other, &["other.example"]);
        let id = add(server, &site.admin, &body)["id"].as_str().unwrap().to_owned();
        let second = Site { tenant: server.tenant("unused"), admin: server.browser(), provider: other, id };
        // The redirect of one provider arrives at the other's redirect URI.
        let browser = server.browser().with("Accept", "application/json");
        let request = site.begin(&browser, "");
        site.provider.issue(&site.provider.claims(&request, "ada@corp.example", server.env.now()));
        let answer = second.come_back(&browser, &request.redirect(&site.provider.issuer));
        assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("OIDC_REFUSED")));
        assert_eq!(site.refusals(server)[0]["reason"], "REQUEST_UNKNOWN_OR_EXPIRED");
        assert!(second.provider.received("/token").is_empty(), "the code is sent to no provider");
        // The other provider says so itself, in a request to the first one.
        let request = site.begin(&browser, "");
        let answer = site.come_back(&browser, &request.redirect(&second.provider.issuer));
        assert_eq!(answer.status, 401);
        assert_eq!(site.refusals(server)[0]["reason"], "CALLBACK_WRONG_ISSUER");
        assert!(site.provider.received("/token").is_empty());
    });
}
