//! The server-rendered pages. `cargo xtask browser` tests them in a browser.

use std::collections::BTreeSet;

use directory::Role;
use serde_json::json;

use crate::support::{API, Answer, Browser, Server, eventually, on_both};

/// Returns the browser with the headers of a page request.
fn page_client(browser: &Browser) -> Browser {
    browser.with("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

fn visitor(server: &Server) -> Browser {
    page_client(&server.browser())
}

fn assert_redirect(answer: &Answer, place: &str) {
    assert_eq!((answer.status, answer.header("location")), (303, place), "{}", answer.text);
}

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
fn session_that_needs_a_factor_sees_only_the_enrolment_page() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        server.policy(&tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.accepted_factors = vec![credentials::FactorKind::Webauthn];
        });
        let ada = page_client(&browser);
        assert_redirect(&ada.get("/account/security"), "/auth/login?next=%2Faccount%2Fsecurity&continue=1");
        let page = ada.get("/auth/enrol?next=/account/security");
        assert_eq!(page.status, 200);
        assert!(page.text.contains("data-next=\"/account/security\""));
        assert!(page.text.contains("add-passkey") && !page.text.contains("add-app"));
        assert_eq!(page.header("cache-control"), "no-store");
    });
}

#[test]
fn security_page_shows_only_own_data_and_escapes_it() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, bob) = server.signed_in(&other, "bob@example.com", Role::Member);
        let (_, ada) = server.signed_in(&acme, "ada@example.com", Role::Admin);
        let evil = "<script>alert(\"1\")</script>";
        ada.post("/api/me/tokens", &json!({ "name": evil, "scopes": ["read:hcm"], "expiresInDays": 9 }));
        ada.send("PATCH", "/api/me", Some(&json!({ "displayName": evil })));
        bob.post("/api/me/tokens", &json!({ "name": "of Bob", "scopes": ["read:hcm"] }));
        let page = page_client(&ada).get("/account/security");
        assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
        assert!(
            page.text.contains("&#60;script&#62;alert") && !page.text.contains("<script>"),
            "{}",
            page.text
        );
        assert!(page.text.contains(&ada.cookie("as_sid")) && page.text.contains("admin:tenant"));
        for foreign in [bob.cookie("as_sid").as_str(), "of Bob", "bob@example.com"] {
            assert!(!page.text.contains(foreign), "{foreign}");
        }
        assert!(!page_client(&bob).get("/account/security").text.contains("admin:tenant"));
        // Everything is loaded from this server only.
        for forbidden in ["style=", " onclick", "src=\"http", "href=\"http:"] {
            let ours = page.text.replace(&format!("href=\"{}", crate::support::ORIGIN), "");
            assert!(!ours.contains(forbidden), "{forbidden}");
        }
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

#[test]
fn audit_log_page_contains_its_tenant_and_all_event_types() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, admin) = server.signed_in(&acme, "ada@example.com", Role::Admin);
        let page = page_client(&admin).get("/settings/audit-log?q=%3Cscript%3E&action=%22").text;
        assert!(page.contains(&format!("data-tenant=\"{}\"", acme.id)), "{page}");
        assert!(!page.contains(other.id.as_str()) && !page.contains("<script>"));
        for spec in audit::events::catalog().specs() {
            assert!(page.contains(&format!("<option value=\"{}\">", spec.code)), "{}", spec.code);
            assert!(page.contains(&format!("<option value=\"{}\">", spec.resource_type)));
        }
        for forbidden in ["style=", " onclick", "src=\"http"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        let mut links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let style = links.find(|link| link.ends_with("/audit-log.css")).unwrap();
        assert_eq!(server.anonymous().get(style).status, 200);
    });
}

#[test]
fn webhook_pages_are_only_for_the_own_tenant_and_escaped() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, admin) = server.signed_in(&acme, "ada@example.com", Role::Admin);
        let (_, stranger) = server.signed_in(&other, "bob@example.com", Role::Admin);
        let new = json!({ "name": "<i>SIEM</i>", "url": "https://example.com/?a=1&b=\"" });
        let made = admin.post("/api/settings/webhooks", &new).json();
        let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
        for view in ["", "&view=settings", "&view=%3Cscript%3E"] {
            let path = format!("/settings/webhooks?id={id}{view}");
            let page = page_client(&admin).get(&path);
            assert_eq!(page.status, 200, "{}", page.text);
            assert!(page.text.contains("&#60;i&#62;SIEM&#60;/i&#62;") && !page.text.contains("<i>SIEM"));
            assert!(!page.text.contains(secret), "the secret is shown once");
            assert_eq!(page_client(&stranger).get(&path).status, 404);
        }
        for gone in ["whk_01jz3333333333333333333333", "x", "%3Cscript%3E", ""] {
            assert_eq!(
                page_client(&admin).get(&format!("/settings/webhooks?id={gone}")).status,
                404,
                "{gone}"
            );
        }
        let page = page_client(&admin).get("/settings/webhooks?new").text;
        for spec in audit::events::catalog().specs() {
            assert!(page.contains(&format!("value=\"{}\"", spec.code)), "{}", spec.code);
        }
        assert!(page.contains("value=\"ACCOUNT_USER_*\"") && page.contains("value=\"ACCOUNT_SESSION*\""));
    });
}

#[test]
fn settings_pages_are_only_for_administrators_and_escaped() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, member) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        for path in [
            "/settings",
            "/settings/network",
            "/settings/authenticators",
            "/settings/sso",
            "/settings/webhooks",
            "/settings/audit-log",
        ] {
            assert_redirect(
                &visitor(server).get(path),
                &format!("/auth/login?next={}", path.replace('/', "%2F")),
            );
            let refused = page_client(&member).get(path);
            assert_eq!(refused.status, 403);
            assert!(refused.text.contains("You don&#39;t have access to this page"), "{}", refused.text);
            let page = page_client(&admin).get(path);
            assert_eq!((page.status, page.header("cache-control")), (200, "no-store"), "{}", page.text);
            assert!(page.text.contains(&format!("<a href=\"{path}\" aria-current=\"page\">")));
        }
        assert!(
            !page_client(&member).get("/account/security").text.contains("<nav"),
            "members see no other settings"
        );

        let add = |cidr: &str, label: &str| {
            let proved = server.proved(&admin, "NETWORK_POLICY_CHANGE");
            let answer =
                proved.post("/api/settings/network-policy/rules", &json!({ "cidr": cidr, "label": label }));
            assert_eq!(answer.status, 200, "{}", answer.text);
        };
        for number in 0..100 {
            add(&format!("10.0.{number}.0/24"), &format!("Branch {number}"));
        }
        let page = |query: &str| page_client(&admin).get(&format!("/settings/network{query}")).text;
        assert!(!page("").contains("Find a range"), "a hundred rules need no search");
        add("127.0.0.0/8", "<i>Here</i>");
        let all = page("");
        assert!(all.contains("Find a range") && all.contains("1 more. Search by"));
        let found = page("?q=%3CI%3E");
        assert!(
            found.contains("&#60;i&#62;Here&#60;/i&#62;") && found.contains("includes your address"),
            "{found}"
        );
        assert_eq!(page("?q=10.0.7.").matches("data-cidr").count(), 1);
        assert!(page("?q=%3Cnothing%3E").contains("No ranges or labels contain <b>&#60;nothing&#62;</b>."));
    });
}

#[test]
fn scim_page_shows_refused_requests_of_the_own_tenant() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant_with("other", true));
        let (_, admin) = server.signed_in(&acme, "ada@example.com", Role::Admin);
        let (_, neighbour) = server.signed_in(&other, "bob@example.com", Role::Admin);
        assert!(page_client(&admin).get("/settings/scim").text.contains("None in the last 30 days."));
        let evil = json!({ "userName": "<i>carol</i>", "emails": "none" });
        for _ in 0..2 {
            assert_eq!(acme.scim.post("/api/scim/v2/Users", &evil).status, 400);
        }
        assert_eq!(acme.scim.get("/api/scim/v2/Users?filter=nonsense").status, 400);
        assert_eq!(other.scim.post("/api/scim/v2/Users", &json!({ "userName": "dan" })).status, 201);
        assert_eq!(other.scim.post("/api/scim/v2/Users", &json!({ "userName": "dan" })).status, 409);
        let shown = |browser: &Browser, what: &str| {
            eventually(|| page_client(browser).get("/settings/scim").text.contains(what));
            page_client(browser).get("/settings/scim").text
        };
        let page = shown(&admin, "invalidFilter");
        assert!(page.contains("&#60;i&#62;carol&#60;/i&#62;") && !page.contains("<i>carol"), "{page}");
        assert!(page.contains("2 times") && page.contains("GET /Users?filter=nonsense"), "{page}");
        assert!(!page.contains("409 uniqueness"));
        let page = shown(&neighbour, "409 uniqueness");
        assert!(page.contains("dan") && !page.contains("nonsense"), "{page}");
    });
}

#[test]
fn overview_shows_tokens_that_expire_soon() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, admin) = server.signed_in(&acme, "ada@example.com", Role::Admin);
        let (carol, member) = server.signed_in(&acme, "carol@example.com", Role::Member);
        let (_, neighbour) = server.signed_in(&other, "bob@example.com", Role::Member);
        for (browser, name, days) in
            [(&member, "Nightly export", 3), (&member, "Later", 30), (&neighbour, "Of the neighbour", 3)]
        {
            let new = json!({ "name": name, "scopes": ["read:profile"], "expiresInDays": days });
            assert_eq!(browser.post("/api/me/tokens", &new).status, 200);
        }
        let page = page_client(&admin).get("/settings").text;
        assert!(
            page.contains("Nightly export") && page.contains("of carol@example.com expires in"),
            "{page}"
        );
        assert!(!page.contains("Later") && !page.contains("Of the neighbour"), "{page}");
        // The tenant's maximum lifetime ends it earlier.
        server.policy(&acme, |policy| {
            policy.pat = Some(credentials::PatPolicy { max_days: Some(5), allowed_scopes: None });
        });
        assert!(page_client(&admin).get("/settings").text.contains("Later"));
        server.disable(&acme, &carol.id);
        assert!(!page_client(&admin).get("/settings").text.contains("Nightly export"));
    });
}

#[test]
fn lists_are_part_of_their_pages() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        admin
            .post("/api/settings/webhooks", &json!({ "name": "</template>", "url": "https://example.com/" }));
        for (page, api) in [
            ("/settings/webhooks", "/api/settings/webhooks"),
            ("/settings/sso", "/api/settings/saml-providers"),
            ("/settings/sso", "/api/settings/oidc-providers"),
            ("/settings/sso", "/api/settings/domains"),
            ("/settings/audit-log", "/api/settings/audit-log?"),
        ] {
            let text = page_client(&admin).get(page).text;
            let start = format!("<template data-answer=\"{api}\">");
            let embedded = text.split_once(&start).unwrap_or_else(|| panic!("{page}: {text}")).1;
            let embedded = embedded.split_once("</template>").unwrap().0;
            let decoded = embedded
                .replace("&#34;", "\"")
                .replace("&#60;", "<")
                .replace("&#62;", ">")
                .replace("&#39;", "'");
            assert_eq!(decoded.replace("&#38;", "&"), admin.get(api).text, "{page}");
        }
        assert!(!page_client(&admin).get("/settings/audit-log?q=x").text.contains("data-answer"));
    });
}
