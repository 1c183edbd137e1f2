//! The SSO pages: those of the administrator, and those shown during a sign-in.

use directory::Role;
use serde_json::json;

use crate::support::{Browser, Idp, ORIGIN, OpenIdProvider, Server, Tenant, oidc_body, on_both};

/// Returns the browser with the headers of a page request.
fn page_client(browser: &Browser) -> Browser {
    browser.with("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

/// Adds an SSO connection with this name and returns its ID.
fn add(server: &Server, admin: &Browser, name: &str) -> String {
    let body = json!({
        "name": name,
        "emailDomains": ["corp.example"],
        "metadataXml": Idp::new("idp.corp.example").metadata(),
    });
    let made = server.proved(admin, "SSO_PROVIDER_CHANGE").post("/api/settings/saml-providers", &body);
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()["id"].as_str().unwrap().to_owned()
}

fn admin_of(server: &Server, slug: &str) -> (Tenant, Browser) {
    let tenant = server.tenant(slug);
    let (_, admin) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
    (tenant, admin)
}

#[test]
fn sso_pages_are_only_for_the_own_tenant_and_escaped() {
    on_both(|server| {
        let (_, admin) = admin_of(server, "acme");
        let (_, stranger) = admin_of(server, "other");
        let id = add(server, &admin, "<i>Corp</i>");
        for view in ["", "&view=setup", "&view=settings", "&test=try_x", "&view=%3Cscript%3E"] {
            let path = format!("/settings/sso?provider={id}{view}");
            let page = page_client(&admin).get(&path);
            assert_eq!((page.status, page.header("cache-control")), (200, "no-store"), "{}", page.text);
            assert!(page.text.contains("&#60;i&#62;Corp&#60;/i&#62;") && !page.text.contains("<i>Corp"));
            assert!(page.text.contains("https://idp.corp.example/saml") && !page.text.contains("<script>"));
            assert_eq!(page_client(&stranger).get(&path).status, 404);
        }
        let setup = page_client(&admin).get(&format!("/settings/sso?provider={id}&view=setup")).text;
        for (place, name) in [("okta-acs", "acs"), ("entra-entity", "metadata"), ("other-login", "login")] {
            let given = format!("<code id=\"{place}\">{ORIGIN}/api/saml/{id}/{name}</code>");
            assert!(setup.contains(&given), "{given}");
        }
        assert!(page_client(&admin).get("/settings/sso?new").text.contains("/api/saml/placeholder/acs"));
        for gone in [format!("{id}x"), "sso_x".into(), "%3Cscript%3E".into(), String::new()] {
            assert_eq!(
                page_client(&admin).get(&format!("/settings/sso?provider={gone}")).status,
                404,
                "{gone}"
            );
        }
    });
}

#[test]
fn pages_of_openid_connect_are_only_for_the_own_tenant_and_escaped() {
    on_both(|server| {
        let (_, admin) = admin_of(server, "acme");
        let (_, stranger) = admin_of(server, "other");
        let provider = OpenIdProvider::shared();
        let mut body = oidc_body(provider, &["corp.example"]);
        body["name"] = json!("<i>Corp</i>");
        body["clientId"] = json!("<b>client</b>");
        let made = server.proved(&admin, "SSO_PROVIDER_CHANGE").post("/api/settings/oidc-providers", &body);
        assert_eq!(made.status, 200, "{}", made.text);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        for view in ["", "&view=setup", "&view=settings", "&test=try_x", "&view=%3Cscript%3E"] {
            let path = format!("/settings/sso?provider={id}{view}");
            let page = page_client(&admin).get(&path);
            assert_eq!((page.status, page.header("cache-control")), (200, "no-store"), "{}", page.text);
            assert!(page.text.contains("&#60;i&#62;Corp&#60;/i&#62;") && !page.text.contains("<i>Corp"));
            assert!(page.text.contains(&provider.issuer) && !page.text.contains("<script>"));
            assert!(!page.text.contains("<b>client"), "{view}");
            assert!(!page.text.contains("a secret: 50%"), "{view}");
            assert_eq!(page_client(&stranger).get(&path).status, 404);
        }
        let setup = page_client(&admin).get(&format!("/settings/sso?provider={id}&view=setup")).text;
        let given = format!("<code id=\"okta-redirect\">{ORIGIN}/api/oidc/{id}/callback</code>");
        assert!(setup.contains(&given), "{given}");
        let new = page_client(&admin).get("/settings/sso?new=oidc").text;
        assert!(new.contains("/api/oidc/placeholder/callback"), "{new}");
        let list = page_client(&admin).get("/settings/sso").text;
        assert!(list.contains(&id));
        assert_eq!(page_client(&admin).get(&format!("/settings/sso?provider={id}x")).status, 404);
    });
}

#[test]
fn post_page_sends_only_to_its_identity_provider() {
    on_both(|server| {
        let (_, admin) = admin_of(server, "acme");
        let id = add(server, &admin, "A \"Corp\"");
        let page = page_client(&server.browser()).get(&format!("/api/saml/{id}/login"));
        assert_eq!(crate::support::sent(&page).action, "https://idp.corp.example/saml/sso");
        assert_eq!(
            (page.header("cache-control"), page.header("referrer-policy")),
            ("no-store", "no-referrer")
        );
        let policy = page.header("content-security-policy");
        assert!(policy.contains("form-action https://idp.corp.example;"), "{policy}");
        assert!(
            policy.starts_with("default-src 'none';") && policy.contains("script-src 'self';"),
            "{policy}"
        );
        assert!(page.text.contains("Continue to A &#34;Corp&#34;</button>"), "{}", page.text);
        for forbidden in ["<script>", "style=", " onload", " onclick"] {
            assert!(!page.text.contains(forbidden), "{forbidden}");
        }
    });
}

#[test]
fn refused_user_sees_only_the_reference_and_the_administrator_to_ask() {
    on_both(|server| {
        let (_, admin) = admin_of(server, "acme");
        let id = add(server, &admin, "Corp");
        let someone = page_client(&server.browser()).with("Origin", "https://idp.corp.example");
        let page = someone.form(&format!("/api/saml/{id}/acs"), "SAMLResponse=PGE%2BYjwvYT4%3D");
        assert_eq!((page.status, page.header("content-type")), (401, "text/html; charset=utf-8"));
        assert_eq!(page.header("cache-control"), "no-store");
        assert!(page.header("content-security-policy").contains("script-src 'self'"));
        let quoted = format!("SAML_REFUSED {}", page.header("x-request-id"));
        assert!(page.text.contains(&quoted) && page.text.contains("href=\"/auth/login\""), "{}", page.text);
        assert!(page.text.contains("an administrator of acme"));
        for detail in ["NOT_A_RESPONSE", "STRUCTURE", "idp.corp.example", &id] {
            assert!(!page.text.contains(detail), "{detail}");
        }
    });
}
