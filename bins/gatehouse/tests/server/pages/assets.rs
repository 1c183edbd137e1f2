//! Assets, the API reference, redirects and unknown paths.

use std::collections::BTreeSet;

use directory::Role;
use serde_json::json;

use super::{assert_redirect, page_client, visitor};
use crate::support::{API, on_both};

#[test]
fn api_reference_covers_the_whole_document() {
    on_both(|server| {
        let anyone = server.anonymous();
        let start = anyone.get("/developers");
        assert_eq!((start.status, start.header("content-type")), (200, "text/html; charset=utf-8"));
        let mut pages = vec![start.text.clone()];
        let mut add = |path: String| {
            let page = anyone.get(&path);
            assert_eq!(page.status, 200, "{path}");
            assert!(page.text.len() < 120_000, "{path}: {} bytes", page.text.len());
            pages.push(page.text.clone());
            page.text
        };
        for tag in API["tags"].as_array().unwrap() {
            add(format!("/developers/{}", tag["name"].as_str().unwrap().to_lowercase().replace(' ', "-")));
        }
        for name in API["components"]["schemas"].as_object().unwrap().keys() {
            add(format!("/developers/schemas/{name}"));
        }
        add("/developers/schemas".into());
        add("/developers/signatures".into());
        let events = add("/developers/events".into());
        for spec in audit::events::catalog().specs() {
            assert!(events.contains(spec.code));
        }
        let all = pages.concat();
        for (path, item) in API["paths"].as_object().unwrap() {
            assert!(start.text.contains(&format!("<code>{path}</code>")), "{path}");
            for operation in item.as_object().unwrap().values() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(all.contains(&format!("<article id=\"{id}\"")), "{id}");
            }
        }
        // Every link leads somewhere.
        let links = all.split("href=\"/developers").skip(1).map(|link| link.split('"').next().unwrap());
        for link in links.collect::<BTreeSet<_>>() {
            let (path, target) = link.split_once('#').unwrap_or((link, ""));
            let page = anyone.get(&format!("/developers{path}"));
            assert!(
                page.status == 200 && (target.is_empty() || page.text.contains(&format!("id=\"{target}\""))),
                "{link}"
            );
        }
        for forbidden in ["<script>", "style=", " onclick", "src=\"http", "href=\"http"] {
            assert!(!all.contains(forbidden), "{forbidden}");
        }
        assert_eq!(visitor(server).get("/developers/nothing").status, 404);
        let page = start;
        assert!(page.header("content-security-policy").starts_with("default-src 'none'; style-src 'self';"));
    });
}

#[test]
fn assets_are_served_and_revalidated() {
    on_both(|server| {
        let anyone = server.anonymous();
        let login = anyone.get("/auth/login").text;
        let root =
            format!("/assets/{}", login.split("\"/assets/").nth(1).unwrap().split('/').next().unwrap());
        let at = |file: &str| format!("{root}/{file}");
        let style = anyone.get(&at("gatehouse.css"));
        assert_eq!((style.status, style.header("content-type")), (200, "text/css; charset=utf-8"));
        assert_eq!(style.header("cache-control"), "public, max-age=31536000, immutable");
        let known = anyone.with("If-None-Match", style.header("etag"));
        assert_eq!(known.get(&at("gatehouse.css")).status, 304);
        assert_eq!(known.get(&at("parts.css")).status, 200);
        assert_eq!(anyone.get(&at("icon.svg")).header("content-type"), "image/svg+xml; charset=utf-8");
        assert_eq!(anyone.get(&at("nothing.css")).status, 404);
        let other_version = anyone.get("/assets/000000000000/gatehouse.css");
        assert_eq!((other_version.status, other_version.header("cache-control")), (200, "no-cache"));
        // Every asset that a page or a module references exists.
        let mut left = vec!["/auth/login".to_owned(), "/developers".into()];
        let scripts = [
            "overview.js",
            "security.js",
            "network.js",
            "authenticators.js",
            "audit-log.js",
            "webhooks.js",
            "webhook.js",
            "webhook-new.js",
            "webhook-settings.js",
            "sso.js",
            "sso-new.js",
            "sso-provider.js",
            "sso-setup.js",
            "sso-settings.js",
            "oidc-new.js",
            "oidc-provider.js",
            "oidc-setup.js",
            "oidc-settings.js",
            "saml-post.js",
            "sso-refused.js",
        ];
        left.extend(scripts.map(at));
        let mut seen = Vec::new();
        while let Some(path) = left.pop() {
            let file = anyone.get(&path);
            assert_eq!(file.status, 200, "{path}");
            for before in [format!("\"{root}/"), "from \"./".into()] {
                for rest in file.text.split(&before).skip(1) {
                    let name = at(rest.split('"').next().unwrap());
                    if !seen.contains(&name) {
                        seen.push(name.clone());
                        left.push(name);
                    }
                }
            }
        }
        assert!(seen.len() > 8, "{seen:?}");
    });
}

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
