//! The management of transmitters.

use directory::Role;
use kernel::Env;
use serde_json::json;

use super::{
    Site, TRANSMITTERS,
    transmitter::{add, body, post_as},
};
use crate::{
    api::oidc,
    support::{Responds, on_both},
};

#[test]
fn administrators_add_change_and_remove_transmitters() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "sessionRevoked": "END_SESSIONS" }));
        let admin = &site.oidc.admin;
        let made = &site.transmitter;
        assert!(made["authorization"].as_str().unwrap().starts_with("Bearer push_"), "{made}");
        let shown = admin.get(&site.settings()).json();
        assert_eq!(shown.get("authorization"), None);
        assert_eq!(shown["consequences"]["sessionRevoked"], "END_SESSIONS");
        assert_eq!(shown["consequences"]["accountDisabled"], "RECORD");
        assert_eq!((&shown["requiresAuthorization"], &shown["enabled"]), (&json!(true), &json!(true)));
        assert_eq!(admin.get(TRANSMITTERS).json()["transmitters"], json!([shown]));

        // Each change needs a step-up.
        let change = json!({ "name": "Okta", "consequences": { "accountDisabled": "DISABLE_USER" } });
        let refused = admin.send("PATCH", &site.settings(), Some(&change));
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("STEP_UP_REQUIRED")));
        assert_eq!(admin.post(TRANSMITTERS, &body(&site.oidc, &json!({}))).status, 401);
        assert_eq!(admin.post(&format!("{}/replace-token", site.settings()), &json!({})).status, 401);
        assert_eq!(admin.delete(&site.settings()).status, 401);
        let changed = site.change(server, &change);
        assert_eq!(changed.status, 200, "{}", changed.text);
        let changed = changed.json();
        assert_eq!(
            (&changed["name"], &changed["consequences"]["sessionRevoked"]),
            (&json!("Okta"), &json!("RECORD"))
        );
        assert_eq!(changed["consequences"]["accountDisabled"], "DISABLE_USER");
        let entry = site.entries(server, "ACCOUNT_SIGNAL_TRANSMITTER_UPDATED").remove(0);
        assert_eq!(entry["changed"], json!(["name", "consequences"]));

        // The header of its requests.
        let proved = || server.proved(admin, "SSO_PROVIDER_CHANGE");
        let token = |jti: &str| {
            let stream = json!({ "format": "opaque", "id": "stream" });
            site.token(&site.claims(jti, "verification", &stream, server.env.now()))
        };
        let replaced = proved().post(&format!("{}/replace-token", site.settings()), &json!({})).json();
        let [old, new] = [made, &replaced].map(|one| one["authorization"].as_str());
        assert_eq!(post_as(server, made, old, &token("t1")).status, 400);
        assert_eq!(post_as(server, made, new, &token("t2")).status, 202);
        assert_eq!(site.change(server, &json!({ "requiresAuthorization": true })).status, 200);
        assert_eq!(site.change(server, &json!({ "requiresAuthorization": false })).status, 200);
        assert_eq!(post_as(server, made, None, &token("t3")).status, 202);
        let again = site.change(server, &json!({ "requiresAuthorization": true }));
        assert_eq!(again.status, 400, "{}", again.text);

        let gone = proved().delete(&site.settings());
        assert_eq!(gone.status, 200, "{}", gone.text);
        assert_eq!(admin.get(&site.settings()).status, 404);
        assert_eq!(post_as(server, made, None, &token("t4")).status, 404);
    });
}

#[test]
fn keys_come_from_the_configuration_or_a_url() {
    on_both(|server| {
        let oidc = oidc::Site::new(server);
        let refused = |body: &serde_json::Value, problem: &str| {
            let answer = add(server, &oidc.admin, body);
            assert_eq!(answer.status, 400, "{}", answer.text);
            assert!(answer.text.contains(problem), "{}", answer.text);
        };
        let new = body(&oidc, &json!({}));
        refused(&new, "issuer: ");
        let issuer = &oidc.provider.issuer;
        let path = "/.well-known/ssf-configuration";
        oidc.provider.respond(path, Responds::json(&json!({ "issuer": "https://evil.example" })));
        refused(&new, "the configuration is of the issuer");
        oidc.provider.respond(path, Responds::json(&json!({ "issuer": issuer })));
        refused(&new, "has no jwks_uri");
        let mut with_url = new.clone();
        with_url["jwksUri"] = json!(format!("{issuer}/keys"));
        let made = add(server, &oidc.admin, &with_url);
        assert_eq!(made.status, 200, "{}", made.text);
        assert_eq!(made.json()["jwksUri"], with_url["jwksUri"]);

        oidc.provider.serve_transmitter();
        for (name, value, problem) in [
            ("issuer", json!("http://idp.example"), "issuer: write an https URL"),
            ("audience", json!(""), "audience: "),
            ("name", json!(" x"), "name: "),
            ("jwksUri", json!("http://idp.example/keys"), "jwksUri: write an https URL"),
            ("jwksUri", json!("https://10.0.0.2/keys"), "address is not public"),
            ("connectionId", json!("oidc_1"), "connectionId: there is no such SSO connection"),
            ("consequences", json!({ "sessionRevoked": "EXPLODE" }), "consequences"),
            ("consequences", json!({ "other": "RECORD" }), "consequences"),
        ] {
            let mut bent = new.clone();
            bent[name] = value;
            refused(&bent, problem);
        }
    });
}

#[test]
fn only_administrators_of_connections_and_users_change_transmitters() {
    on_both(|server| {
        let site = Site::new(server, &json!({}));
        let (_, member) = server.signed_in(&site.oidc.tenant, "bob@acme.example", Role::Member);
        assert_eq!(member.get(TRANSMITTERS).status, 403);
        assert_eq!(member.send("PATCH", &site.settings(), Some(&json!({ "enabled": false }))).status, 403);
        let new = json!({ "name": "ci", "scopes": ["admin:tenant"] });
        let minted = server.proved(&site.oidc.admin, "PAT_MINT_ADMIN").post("/api/me/tokens", &new).json();
        let token = server.anonymous().bearer(minted["token"].as_str().unwrap());
        assert_eq!(token.get(TRANSMITTERS).status, 200);
        let refused = token.send("PATCH", &site.settings(), Some("application/json"), r#"{"enabled":false}"#);
        assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("CREDENTIAL_KIND")));
    });
}
