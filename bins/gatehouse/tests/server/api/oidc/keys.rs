//! Keys of both sides: key sets that the provider changes, and ours for `private_key_jwt`.

use data_encoding::BASE64URL_NOPAD;
use directory::Role;
use kernel::Env;
use oidc_rp::conformance::Signer;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::{Value, json};

use super::Site;
use crate::support::{Browser, Responds, Server, on_both};

/// Signs in with a token by the key that is not in the first key set.
fn with_new_key(server: &Server, site: &Site, browser: &Browser) -> u16 {
    let request = site.begin(browser, "");
    let claims = site.provider.claims(&request, "ada@corp.example", server.env.now());
    let header = br#"{"alg":"RS256","kid":"new"}"#;
    let payload = Value::Object(claims).to_string();
    site.provider.issue_token(&site.provider.signer.sign(Signer::Foreign, header, payload.as_bytes()));
    site.come_back(browser, &request.redirect(&site.provider.issuer)).status
}

#[test]
fn unknown_key_is_looked_for_once_a_minute() {
    on_both(|server| {
        let site = Site::new(server);
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let reads = || site.provider.received("/keys").len();
        assert_eq!(reads(), 1);
        assert_eq!(with_new_key(server, &site, &server.browser()), 401);
        assert_eq!(reads(), 2);
        let keys = json!({ "keys": [site.provider.signer.foreign_key("new")] });
        site.provider.respond("/keys", Responds::json(&keys));
        assert_eq!(with_new_key(server, &site, &server.browser()), 401);
        assert_eq!(reads(), 2, "the key set was read within the last minute");
        server.env.advance(std::time::Duration::from_secs(61));
        assert_eq!(with_new_key(server, &site, &server.browser()), 303);
        assert_eq!(reads(), 3);
        assert_eq!(with_new_key(server, &site, &server.browser()), 303, "the new key is stored");
        assert_eq!(reads(), 3);
        let changed = server.entry(&site.tenant, "ACCOUNT_OIDC_PROVIDER_UPDATED");
        let data: Value = serde_json::from_str(&changed.metadata).unwrap();
        assert_eq!(data["changed"], json!(["provider.keys"]));
        assert_eq!(site.admin.get(&site.settings()).json()["provider"]["keys"], 1);
    });
}

#[test]
fn worker_reads_metadata_and_keys_every_six_hours() {
    on_both(|server| {
        let site = Site::new(server);
        let second = |until: &dyn Fn(&Value) -> bool| {
            server.second(|_| crate::support::eventually(|| until(&site.admin.get(&site.settings()).json())));
        };
        let before = site.admin.get(&site.settings()).json();
        server.env.advance(std::time::Duration::from_hours(7));
        let unreachable = Responds { status: 500, ..Responds::json(&json!({})) };
        site.provider.respond("/.well-known/openid-configuration", unreachable);
        second(&|shown| shown["metadata"]["error"].is_string());
        let failed = site.admin.get(&site.settings()).json();
        let error = failed["metadata"]["error"].as_str().unwrap();
        assert!(error.ends_with("the server answered 500 instead of 200"), "{error}");
        assert_eq!(failed["provider"], before["provider"], "the previous values stay in effect");
        assert!(failed["warnings"].to_string().contains("The previous metadata and keys stay in effect"));

        let mut metadata = site.provider.metadata();
        metadata["token_endpoint"] = json!(format!("{}/token2", site.provider.issuer));
        site.provider.respond("/.well-known/openid-configuration", Responds::json(&metadata));
        let refreshed = site.admin.post(&format!("{}/refresh", site.settings()), &json!({}));
        assert_eq!(refreshed.status, 200, "{}", refreshed.text);
        let refreshed = refreshed.json();
        assert_eq!(refreshed["provider"]["tokenEndpoint"], metadata["token_endpoint"]);
        assert!(refreshed["metadata"].get("error").is_none(), "{refreshed}");

        // Metadata of another issuer changes nothing.
        metadata["issuer"] = json!("https://evil.example");
        site.provider.respond("/.well-known/openid-configuration", Responds::json(&metadata));
        let refused = site.admin.post(&format!("{}/refresh", site.settings()), &json!({})).json();
        assert_eq!(refused["provider"], refreshed["provider"]);
        assert!(refused["metadata"]["error"].as_str().unwrap().contains("issuer"), "{refused}");
    });
}

/// Verifies the client assertion of the last token request with our key set. Returns its claims and key ID.
fn assertion(site: &Site, server: &Server) -> (Value, String) {
    let sent = site.provider.received("/token").pop().unwrap();
    assert_eq!(sent.header("authorization"), "");
    let fields: std::collections::BTreeMap<String, String> =
        form_urlencoded::parse(sent.body.as_bytes()).into_owned().collect();
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    assert_eq!(fields["client_assertion_type"], kind);
    let parts: Vec<&str> = fields["client_assertion"].split('.').collect();
    let decoded = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).unwrap();
    let header: Value = serde_json::from_slice(&decoded(parts[0])).unwrap();
    let keys = server.anonymous().get(&site.path("jwks"));
    assert_eq!(keys.status, 200, "{}", keys.text);
    let keys = keys.json();
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == header["kid"]).unwrap();
    assert!(key.get("d").is_none(), "the key set is public");
    let number = |name: &str| decoded(key[name].as_str().unwrap());
    let public = RsaPublicKeyComponents { n: number("n"), e: number("e") };
    let signed = format!("{}.{}", parts[0], parts[1]);
    public.verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &decoded(parts[2])).unwrap();
    (serde_json::from_slice(&decoded(parts[1])).unwrap(), header["kid"].as_str().unwrap().to_owned())
}

#[test]
fn client_assertion_is_signed_with_the_active_key() {
    on_both(|server| {
        let site = Site::with(server, |body| {
            body["tokenEndpointAuthMethod"] = json!("private_key_jwt");
            body.as_object_mut().unwrap().remove("clientSecret");
        });
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let sign_in = || assert_eq!(site.sign_in(server, &server.browser(), "ada@corp.example").status, 303);
        sign_in();
        let (claims, first) = assertion(&site, server);
        assert_eq!((&claims["aud"], &claims["iss"]), (&json!(site.provider.issuer), &claims["sub"]));
        let rotate = |rest: &str| {
            let path = format!("{}/rotate-key{rest}", site.settings());
            server.proved(&site.admin, "SSO_PROVIDER_CHANGE").post(&path, &json!({}))
        };
        let reason = |answer: crate::support::Answer| (answer.status, answer.json()["reason"].clone());
        assert_eq!(reason(rotate("/complete")), (409, json!("NO_ROTATION")));
        assert_eq!(rotate("").json()["relyingParty"]["certificates"].as_array().unwrap().len(), 2);
        assert_eq!(reason(rotate("")), (409, json!("ROTATION_UNDER_WAY")));
        sign_in();
        assert_eq!(
            assertion(&site, server).1,
            first,
            "the previous key signs until the rotation is completed"
        );
        let completed = rotate("/complete").json();
        sign_in();
        let second = assertion(&site, server).1;
        assert_ne!(second, first);
        assert_eq!(completed["relyingParty"]["certificates"][0]["fingerprint"], second);
        let keys = server.anonymous().get(&site.path("jwks")).json();
        assert_eq!(keys["keys"].as_array().unwrap().len(), 1);
    });
}
