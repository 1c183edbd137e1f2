//! Assets and the API reference.

use std::collections::BTreeSet;

use super::visitor;
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
