//! Creating, changing and removing webhooks.

use data_encoding::BASE64;
use serde_json::json;
use store::testing::Kind;

use super::{WEBHOOKS, admin, subscribe};
use crate::support::{Server, on_both};

#[test]
fn webhook_is_created_changed_and_removed() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        assert_eq!(browser.get(WEBHOOKS).json(), json!({ "subscriptions": [] }));
        let new = json!({ "name": "CI", "url": "http://127.0.0.1:9/in?x=1", "eventFilters": ["ACCOUNT_STEPUP_*", "NOPE_*"] });
        let made = browser.post(WEBHOOKS, &new);
        assert_eq!((made.status, made.header("cache-control")), (200, "no-store"));
        let made = made.json();
        assert!(made["id"].as_str().unwrap().starts_with("whk_"));
        let secret = made["secret"].as_str().unwrap();
        assert_eq!(BASE64.decode(secret.strip_prefix("whsec_").unwrap().as_bytes()).unwrap().len(), 32);
        assert_eq!(made["warnings"], json!(["eventFilters: NOPE_* matches no existing event type"]));
        let names: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
        let shape = [
            "id",
            "name",
            "url",
            "eventFilters",
            "ordered",
            "enabled",
            "createdAt",
            "updatedAt",
            "publicKeys",
            "secret",
            "warnings",
        ];
        assert_eq!(names, shape);
        let path = format!("{WEBHOOKS}/{}", made["id"].as_str().unwrap());
        let shown = browser.get(&path).json();
        assert_eq!((shown.get("secret"), &shown["url"]), (None, &json!("http://127.0.0.1:9/in?x=1")));
        assert!(browser.get(WEBHOOKS).json()["subscriptions"][0].get("secret").is_none());
        let changed = browser.send(
            "PATCH",
            &path,
            Some(&json!({ "name": "CD", "eventFilters": [], "enabled": false })),
        );
        assert_eq!(changed.status, 200, "{}", changed.text);
        assert_eq!(changed.json()["eventFilters"], json!(["*"]));
        assert_eq!((&changed.json()["enabled"], changed.json().get("disabledReason")), (&json!(false), None));
        let before = server.entries(&tenant).len();
        let same = browser.send("PATCH", &path, Some(&json!({ "name": "CD" })));
        assert_eq!((same.status, server.entries(&tenant).len()), (200, before), "nothing changed");
        let entry = server.entry(&tenant, "ACCOUNT_WEBHOOK_UPDATED");
        assert_eq!(entry.metadata, r#"{"changed":["name","eventFilters","enabled"]}"#);
        assert_eq!(browser.delete(&path).json(), json!({ "deleted": true }));
        for gone in [browser.delete(&path), browser.get(&path), browser.get(&format!("{path}/deliveries"))] {
            assert_eq!(gone.status, 404, "{}", gone.text);
        }
        server.entry(&tenant, "ACCOUNT_WEBHOOK_DELETED");
    });
}

#[test]
fn errors_name_the_invalid_field() {
    let server = Server::start(
        Kind::Sqlite,
        &[("webhooks_allow_cidrs", "192.0.2.1"), ("webhooks_allow_http", "false")],
    );
    let (_, browser) = admin(&server, "acme");
    let mut errors = Vec::new();
    let long = "A".repeat(129);
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("a\u{7}b")),
        ("url", json!("http://hooks.example.com/")),
        ("url", json!("https://me:secret@hooks.example.com/")),
        ("url", json!("https://127.0.0.1/")),
        ("url", json!("https://0x7f.1/")),
        ("url", json!("https://[::ffff:169.254.169.254]/")),
        ("url", json!("ftp://hooks.example.com/")),
        ("url", json!("nonsense")),
        ("eventFilters", json!(["ACCOUNT_*", "ACCOUNT-USER"])),
        ("eventFilters", json!([long])),
        ("eventFilters", json!(vec!["*"; 51])),
        ("eventFilters", json!("ACCOUNT_*")),
        ("colour", json!("red")),
    ] {
        let mut new = json!({ "name": "test", "url": "https://hooks.example.com/" });
        new[field] = value;
        let answer = browser.post(WEBHOOKS, &new);
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (400, &json!("INVALID_REQUEST")),
            "{new}: {}",
            answer.text
        );
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(field) || field == "colour", "{error}");
        errors.push(error);
    }
    insta::assert_snapshot!(errors.join("\n"), @r#"
    name: write 1 to 100 printable characters, no space at either end
    name: write 1 to 100 printable characters, no space at either end
    url: http:// is not encrypted; the URL has to begin with https://
    url: the URL contains a user name or password; remove everything up to the @
    url: deliveries go to public addresses only
    url: deliveries go to public addresses only
    url: deliveries go to public addresses only
    url: the URL has to begin with https://
    url: this is not a URL (relative URL without a base); write it like https://example.com/path
    eventFilters[1]: write 1 to 128 characters of A-Z, a-z, 0-9, _, . and *
    eventFilters[0]: write 1 to 128 characters of A-Z, a-z, 0-9, _, . and *
    eventFilters: write at most 50 filters
    eventFilters: invalid type: string "ACCOUNT_*", expected a sequence
    colour: unknown field `colour`, expected one of `name`, `url`, `eventFilters`, `ordered`
    "#);
    // The operator allows this range.
    subscribe(&browser, "https://192.0.2.1/", &[]);
    for number in 1..100 {
        subscribe(&browser, &format!("https://hooks.example.com/{number}"), &["NOPE"]);
    }
    let many = browser.post(WEBHOOKS, &json!({ "name": "test", "url": "https://hooks.example.com/" }));
    assert_eq!((many.status, &many.json()["code"]), (409, &json!("CONFLICT")), "{}", many.text);
}
