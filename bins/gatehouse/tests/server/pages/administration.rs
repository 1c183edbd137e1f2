//! Pages of administrators.

use directory::Role;
use serde_json::json;

use super::{assert_redirect, page_client, visitor};
use crate::support::{Browser, eventually, on_both};

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
