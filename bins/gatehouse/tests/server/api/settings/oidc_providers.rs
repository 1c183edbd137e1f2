//! SSO connections with OpenID Connect, as administrators manage them.

use credentials::SignInMode;
use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::{
    api::oidc::Site,
    support::{Answer, Browser, Idp, OpenIdProvider, Responds, Server, Tenant, oidc_body, on_both},
};

const PROVIDERS: &str = "/api/settings/oidc-providers";
const PURPOSE: &str = "SSO_PROVIDER_CHANGE";
const SECRET: &str = "a secret: 50% & more";

fn admin(server: &Server, slug: &str) -> (Tenant, Browser) {
    let tenant = server.tenant(slug);
    let (_, browser) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
    (tenant, browser)
}

fn ask(server: &Server, browser: &Browser, body: &Value) -> Answer {
    server.proved(browser, PURPOSE).post(PROVIDERS, body)
}

#[test]
fn connection_is_created_changed_and_removed() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        assert_eq!(browser.get(PROVIDERS).json(), json!({ "providers": [], "signInMode": "SSO_ALLOWED" }));
        let provider = OpenIdProvider::start();
        let made = ask(server, &browser, &oidc_body(&provider, &["Corp.Example"]));
        assert_eq!((made.status, made.header("cache-control")), (200, "no-store"), "{}", made.text);
        assert!(!made.text.contains(SECRET) && !made.text.contains("sealed"), "{}", made.text);
        let made = made.json();
        let id = made["id"].as_str().unwrap();
        assert!(id.starts_with(&format!("oidc_{}", tenant.id.key())));
        let base = format!("http://localhost:8080/api/oidc/{id}");
        let ours = &made["relyingParty"];
        assert_eq!(
            (&ours["redirectUri"], &ours["jwksUri"], &ours["loginUrl"]),
            (
                &json!(format!("{base}/callback")),
                &json!(format!("{base}/jwks")),
                &json!(format!("{base}/login"))
            )
        );
        for (name, value) in [
            ("emailDomains", json!(["corp.example"])),
            ("issuer", json!(provider.issuer)),
            ("tokenEndpointAuthMethod", json!("client_secret_basic")),
            ("hasClientSecret", json!(true)),
            ("scopes", json!(["email", "profile"])),
            ("acrValues", json!([])),
            ("requiredClaims", json!({})),
            ("emailClaim", json!("email")),
            ("trustEmailClaim", json!(false)),
            ("useUserInfo", json!(false)),
        ] {
            assert_eq!(made[name], value, "{name}");
        }
        for name in ["prompt", "maxAge", "signingAlgorithms", "clientAssertionAudience", "clientSecret"] {
            assert!(made.get(name).is_none(), "{name}");
        }
        assert_eq!(made["provider"]["keys"], 4);
        let path = format!("{PROVIDERS}/{id}");
        assert_eq!(browser.get(&path).json(), made);
        assert_eq!(browser.get(PROVIDERS).json()["providers"], json!([made]));
        let domains = browser.get("/api/settings/domains").json();
        assert_eq!(domains["domains"][0]["providers"], json!([id]), "{domains}");

        let mut change = oidc_body(&provider, &["corp.example", "corp.test"]);
        change.as_object_mut().unwrap().remove("clientSecret");
        change["maxAge"] = json!(3600);
        let changed = server.proved(&browser, PURPOSE).put(&path, &change);
        assert_eq!(changed.status, 200, "{}", changed.text);
        assert_eq!(changed.json()["hasClientSecret"], true);
        let entry = server.entry(&tenant, "ACCOUNT_OIDC_PROVIDER_UPDATED");
        let data: Value = serde_json::from_str(&entry.metadata).unwrap();
        assert_eq!(data["changed"], json!(["emailDomains", "maxAge"]));

        let removed = server.proved(&browser, PURPOSE).delete(&path);
        assert_eq!((removed.status, removed.json()), (200, json!({ "deleted": true })));
        assert_eq!(browser.get(&path).status, 404);
        let mut entries = server.entries(&tenant);
        entries.retain(|entry| entry.resource_type == "oidc_provider");
        let actions: Vec<_> = entries.iter().rev().map(|entry| entry.action.as_str()).collect();
        let expected = ["CREATED", "UPDATED", "DELETED"].map(|word| format!("ACCOUNT_OIDC_PROVIDER_{word}"));
        assert_eq!(actions, expected);
        assert!(entries.iter().all(|entry| !entry.metadata.contains(SECRET)));
    });
}

#[test]
fn changes_need_an_administrator_and_a_step_up() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let provider = OpenIdProvider::start();
        let body = oidc_body(&provider, &["corp.example"]);
        let refused = browser.post(PROVIDERS, &body);
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("STEP_UP_REQUIRED")));
        assert!(provider.received("/keys").is_empty(), "nothing is read before the step-up is checked");
        let (_, member) = server.signed_in(&tenant, "member@acme.example", Role::Member);
        assert_eq!(ask(server, &member, &body).status, 403);
        assert_eq!(member.get(PROVIDERS).status, 403);
        assert_eq!(server.anonymous().get(PROVIDERS).status, 401);
    });
}

#[test]
fn invalid_settings_name_the_field() {
    on_both(|server| {
        let (_, browser) = admin(server, "acme");
        let provider = OpenIdProvider::start();
        let refused = |name: &str, value: Value, problem: &str| {
            let mut body = oidc_body(&provider, &["corp.example"]);
            body[name] = value;
            let answer = ask(server, &browser, &body);
            let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
            assert!(answer.status == 400 && error.starts_with(problem), "{problem}: {}", answer.text);
        };
        refused("name", json!(""), "name: ");
        refused("issuer", json!("http://localhost"), "issuer: ");
        refused("issuer", json!("https://10.0.0.1"), "issuer: the server's address is not public");
        refused("clientSecret", json!(""), "clientSecret: ");
        refused("tokenEndpointAuthMethod", json!("none"), "tokenEndpointAuthMethod: ");
        refused("scopes", json!(["openid"]), "scopes[0]: leave out openid");
        refused("maxAge", json!(-1), "maxAge: ");
        refused("prompt", json!("none"), "prompt: ");
        refused("signingAlgorithms", json!(["none"]), "signingAlgorithms");
        refused("signingAlgorithms", json!(["HS256"]), "signingAlgorithms");
        refused("requiredClaims", json!({ "hd": [] }), "requiredClaims.hd: ");
        refused(
            "issuer",
            json!("https://accounts.google.com"),
            "requiredClaims: https://accounts.google.com ",
        );
        refused("other", json!(1), "other");
        let mut body = oidc_body(&provider, &["corp.example"]);
        body.as_object_mut().unwrap().remove("clientSecret");
        let answer = ask(server, &browser, &body);
        assert!(
            answer.status == 400 && answer.text.contains("clientSecret: write the secret"),
            "{}",
            answer.text
        );

        for (metadata, problem) in [
            (Responds::json(&json!({ "issuer": "https://evil.example" })), "of the issuer"),
            (Responds { status: 404, ..Responds::json(&json!({})) }, "answered 404"),
            (Responds { status: 302, ..Responds::json(&json!({})) }, "a redirect, which is not followed"),
            (Responds { body: "{".into(), ..Responds::json(&json!({})) }, "not a JSON object"),
            (Responds { body: " ".repeat(300_000), ..Responds::json(&json!({})) }, "larger than 256 KiB"),
        ] {
            provider.respond("/.well-known/openid-configuration", metadata);
            let answer = ask(server, &browser, &oidc_body(&provider, &["corp.example"]));
            let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
            assert!(
                answer.status == 400 && error.starts_with("issuer: ") && error.contains(problem),
                "{problem}: {}",
                answer.text
            );
        }
        assert_eq!(browser.get(PROVIDERS).json()["providers"], json!([]));
    });
}

#[test]
fn secret_is_sent_only_to_the_provider_it_was_entered_for() {
    on_both(|server| {
        let site = Site::new(server);
        let evil = OpenIdProvider::start();
        let mut body = oidc_body(&evil, &["corp.example"]);
        body.as_object_mut().unwrap().remove("clientSecret");
        let put = |body: &Value| server.proved(&site.admin, PURPOSE).put(&site.settings(), body);
        let refused = put(&body);
        assert!(refused.status == 400 && refused.text.contains("clientSecret: "), "{}", refused.text);
        let mut body = oidc_body(&site.provider, &["corp.example"]);
        body.as_object_mut().unwrap().remove("clientSecret");
        body["clientId"] = json!("another");
        let refused = put(&body);
        assert!(refused.status == 400 && refused.text.contains("clientSecret: "), "{}", refused.text);
        assert_eq!(put(&oidc_body(&evil, &["corp.example"])).status, 200);
        assert_eq!(site.admin.get(&site.settings()).json()["issuer"], evil.issuer);
    });
}

#[test]
fn another_client_gets_another_key_and_no_pinned_subjects() {
    on_both(|server| {
        let site = Site::new(server);
        let ada = server.person(&site.tenant, "ada@corp.example", Role::Member);
        assert_eq!(site.sign_in(server, &server.browser(), "ada@corp.example").status, 303);
        let pinned = || {
            let path = format!("/api/settings/users/{}/saml-subjects", ada.id.as_str());
            site.admin.get(&path).json()["subjects"].as_array().unwrap().len()
        };
        let put = |body: &Value| {
            let answer = server.proved(&site.admin, PURPOSE).put(&site.settings(), body);
            assert_eq!(answer.status, 200, "{}", answer.text);
            answer.json()["relyingParty"]["certificates"].clone()
        };
        let before = site.admin.get(&site.settings()).json()["relyingParty"]["certificates"].clone();
        let mut body = oidc_body(&site.provider, &["corp.example"]);
        body["scopes"] = json!(["email"]);
        assert_eq!((put(&body), pinned()), (before.clone(), 1), "the same client");
        // A sign-in that began with the previous client does not continue with the next one.
        let browser = server.browser().with("Accept", "application/json");
        let request = site.begin(&browser, "");
        body["clientId"] = json!("another");
        let after = put(&body);
        assert_ne!(after[0]["fingerprint"], before[0]["fingerprint"]);
        assert_eq!((after.as_array().unwrap().len(), pinned()), (1, 0));
        let answer = site.come_back(&browser, &request.redirect(&site.provider.issuer));
        assert_eq!(answer.status, 401, "{}", answer.text);
        assert_eq!(site.refusals(server)[0]["reason"], "REQUEST_UNKNOWN_OR_EXPIRED");
        // A client with a key has no secret.
        body["tokenEndpointAuthMethod"] = json!("private_key_jwt");
        put(&body);
        assert_eq!(site.admin.get(&site.settings()).json()["hasClientSecret"], false);
    });
}

#[test]
fn domains_and_limits_are_shared_with_saml() {
    on_both(|server| {
        let site = Site::new(server);
        let saml = |domain: &str| {
            let metadata = Idp::new("idp.acme.example").metadata();
            let body = json!({ "name": "Corp", "emailDomains": [domain], "metadataXml": metadata });
            server.proved(&site.admin, PURPOSE).post("/api/settings/saml-providers", &body)
        };
        let reason = |answer: Answer| (answer.status, answer.json()["reason"].clone());
        assert_eq!(reason(saml("corp.example")), (409, json!("DOMAIN_TAKEN")));
        assert_eq!(saml("saml.example").status, 200);
        let oidc = |domain: &str| ask(server, &site.admin, &oidc_body(&site.provider, &[domain]));
        assert_eq!(reason(oidc("saml.example")), (409, json!("DOMAIN_TAKEN")));
        let body = oidc_body(&site.provider, &["corp.example", "saml.example"]);
        let put = server.proved(&site.admin, PURPOSE).put(&site.settings(), &body);
        assert_eq!(reason(put), (409, json!("DOMAIN_TAKEN")));
        // Another tenant may use the domain, which nobody has verified.
        let (_, other) = admin(server, "other");
        assert_eq!(ask(server, &other, &oidc_body(&site.provider, &["corp.example"])).status, 200);
    });
}

#[test]
fn tenant_has_at_most_20_connections_of_both_protocols() {
    let server = &Server::start(Kind::Sqlite, &[]);
    let site = Site::new(server);
    let metadata = Idp::new("idp.acme.example").metadata();
    for number in 0..19 {
        let body = json!({
            "name": "Corp", "emailDomains": [format!("d{number}.example")], "metadataXml": metadata,
        });
        let made = server.proved(&site.admin, PURPOSE).post("/api/settings/saml-providers", &body);
        assert_eq!(made.status, 200, "{}", made.text);
    }
    let full = ask(server, &site.admin, &oidc_body(&site.provider, &["last.example"]));
    assert_eq!((full.status, &full.json()["code"]), (409, &json!("CONFLICT")));
    let body = json!({ "name": "Corp", "emailDomains": ["last.example"], "metadataXml": metadata });
    let full = server.proved(&site.admin, PURPOSE).post("/api/settings/saml-providers", &body);
    assert_eq!(full.status, 409);
}

#[test]
fn last_way_in_of_the_administrators_cannot_be_removed() {
    on_both(|server| {
        let site = Site::new(server);
        let mut body = oidc_body(&site.provider, &["acme.example"]);
        let put =
            |browser: &Browser, body: &Value| server.proved(browser, PURPOSE).put(&site.settings(), body);
        assert_eq!(put(&site.admin, &body).status, 200, "the administrator's own address");
        let admin = server.browser();
        assert_eq!(site.sign_in(server, &admin, "admin@acme.example").status, 303);
        server.policy(&site.tenant, |policy| policy.sign_in_mode = SignInMode::SsoRequired);
        let code = |answer: Answer| (answer.status, answer.json()["code"].clone());
        let removed = server.proved(&admin, PURPOSE).delete(&site.settings());
        assert_eq!(code(removed), (409, json!("LOCKOUT_PROTECTION")));
        body["emailDomains"] = json!(["else.example"]);
        assert_eq!(code(put(&admin, &body)), (409, json!("LOCKOUT_PROTECTION")));
        body["emailDomains"] = json!(["acme.example"]);
        body["useUserInfo"] = json!(true);
        assert_eq!(put(&admin, &body).status, 200);
    });
}
