//! The pages that need no script.

use crate::support::on_both;

#[test]
fn the_reference_is_drawn_from_the_document() {
    on_both(|server| {
        let page = server.anonymous().get("/developers");
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
        let document = gatehouse::http::document();
        for (path, item) in document["paths"].as_object().unwrap() {
            assert!(page.text.contains(&format!("<code>{path}</code>")), "{path}");
            for operation in item.as_object().unwrap().values() {
                assert!(
                    page.text.contains(&format!("id=\"{}\"", operation["operationId"].as_str().unwrap()))
                );
            }
        }
        for spec in audit::events::catalog().specs() {
            assert!(page.text.contains(spec.code));
        }
        for forbidden in ["<script", "style=", " onclick", "src=\"http", "href=\"http"] {
            assert!(!page.text.contains(forbidden), "{forbidden}");
        }
        assert!(page.header("content-security-policy").starts_with("default-src 'none'; style-src 'self';"));
    });
}

#[test]
fn what_the_pages_need_is_served() {
    on_both(|server| {
        let style = server.anonymous().get("/assets/gatehouse.css");
        assert_eq!((style.status, style.header("content-type")), (200, "text/css; charset=utf-8"));
        assert_eq!(server.anonymous().get("/assets/icon.svg").header("content-type"), "image/svg+xml");
        assert_eq!(server.anonymous().get("/assets/nothing.css").status, 404);
    });
}
