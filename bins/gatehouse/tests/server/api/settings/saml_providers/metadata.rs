//! Metadata of identity providers, and its refresh.

use std::time::Duration;

use kernel::Env;
use serde_json::{Value, json};
use store::testing::Kind;

use super::{ENTITY, add, admin, await_on_second_instance, by_xml, recorded_changes, refusal, text};
use crate::support::{Idp, Server, Sink, ending_in, idp_metadata, on_both};

#[test]
fn metadata_url_is_read_when_set_and_on_refresh() {
    on_both(|server| {
        let ((tenant, browser), sink) = (admin(server, "acme"), Sink::start());
        let now = server.env.now();
        let (old, new) = (ending_in(now, 100), ending_in(now, 200));
        let body = |path: &str| json!({ "name": "Corp", "emailDomains": ["corp.example"], "metadataUrl": sink.url(path) });
        sink.answers("/none", 404, "", "");
        sink.answers("/moved", 302, "location: https://elsewhere.example/\r\n", "");
        sink.answers("/large", 200, "", &"x".repeat(512 * 1024 + 1));
        let problems = ["/none", "/moved", "/large"].map(|path| refusal(server, &browser, &body(path)));
        insta::allow_duplicates! {
            insta::assert_snapshot!(problems.join("\n"), @r"
            metadataUrl: the server answered 404 instead of 200
            metadataUrl: the server answered 302, a redirect, which is not followed; enter the URL that it leads to
            metadataUrl: the document is larger than 512 KiB; enter the URL of the metadata of one identity provider
            ");
        }
        sink.answers("/metadata", 200, "", &idp_metadata(ENTITY, &[&old]));
        let (path, made) = add(server, &browser, &body("/metadata"));
        assert_eq!(
            (&made["source"], &made["metadataUrl"]),
            (&json!("METADATA_URL"), &json!(sink.url("/metadata")))
        );
        assert!(made["metadata"]["readAt"].is_string() && made["metadata"]["nextAt"].is_string());
        let asked = sink.received("/metadata").remove(0);
        assert_eq!(asked.header("user-agent"), concat!("Gatehouse/", env!("CARGO_PKG_VERSION")));

        let refresh = || browser.send("POST", &format!("{path}/refresh"), None).json();
        assert_eq!(refresh()["updatedAt"], made["updatedAt"], "nothing changed");
        sink.answers("/metadata", 200, "", &idp_metadata(ENTITY, &[&old, &new]));
        let fingerprints = |shown: &Value| {
            let all = shown["certificates"].as_array().unwrap();
            all.iter().map(|one| text(&one["fingerprint"])).collect::<Vec<_>>()
        };
        let both = refresh();
        assert_eq!(fingerprints(&both), [old.fingerprint(), new.fingerprint()]);
        assert_eq!(recorded_changes(server, &tenant), ["CREATED", "UPDATED"]);

        // Metadata with another entity ID is refused, and so is an error response.
        sink.answers("/metadata", 200, "", &idp_metadata("https://evil.example", &[&new]));
        let error = text(&refresh()["metadata"]["error"]);
        assert!(
            error.starts_with("the entityID in the metadata has changed to https://evil.example"),
            "{error}"
        );
        sink.answers("/metadata", 503, "", "");
        let failed = refresh();
        assert_eq!(failed["metadata"]["error"], "the server answered 503 instead of 200");
        assert!(failed["metadata"]["failedAt"].is_string());
        assert_eq!((fingerprints(&failed), &failed["entityId"]), (fingerprints(&both), &json!(ENTITY)));
        assert!(failed["warnings"].to_string().contains("metadataUrl: could not be used on"));
        sink.answers("/metadata", 200, "", &idp_metadata(ENTITY, &[&new]));
        let healed = refresh();
        assert_eq!((fingerprints(&healed), healed["metadata"].get("error")), (vec![new.fingerprint()], None));
        assert_eq!(recorded_changes(server, &tenant), ["CREATED", "UPDATED", "UPDATED"]);

        let limited = (0..20).map(|_| browser.send("POST", &format!("{path}/refresh"), None));
        let limited = limited.last().unwrap();
        assert_eq!((limited.status, &limited.json()["code"]), (429, &json!("RATE_LIMITED")));
        // Uploaded metadata cannot be refreshed.
        let (handed, _) = add(server, &browser, &by_xml(&Idp::new("idp.acme.example"), &["other.example"]));
        let none = browser.send("POST", &format!("{handed}/refresh"), None);
        assert_eq!((none.status, &none.json()["reason"]), (409, &json!("NO_METADATA_URL")), "{}", none.text);
    });
}

#[test]
fn metadata_is_fetched_only_from_public_addresses() {
    let server = Server::start(Kind::Sqlite, &[("webhooks_allow_cidrs", "192.0.2.1")]);
    let ((_, browser), sink) = (admin(&server, "acme"), Sink::start());
    let ask = |url: String| {
        let body = json!({ "name": "Corp", "emailDomains": ["corp.example"], "metadataUrl": url });
        refusal(&server, &browser, &body)
    };
    let blocked = [sink.url("/"), format!("http://localhost:{}/", sink.address.port())].map(ask);
    insta::assert_snapshot!(blocked.join("\n"), @r"
    metadataUrl: metadata is fetched from public addresses only; send it as metadataXml instead
    metadataUrl: the server's address is not public; send the metadata as metadataXml instead
    ");
    assert!(sink.received("/").is_empty());
}

#[test]
fn metadata_is_refreshed_periodically() {
    on_both(|server| {
        let ((tenant, browser), sink) = (admin(server, "acme"), Sink::start());
        let now = server.env.now();
        let (old, new) = (ending_in(now, 100), ending_in(now, 200));
        sink.answers("/metadata", 200, "", &idp_metadata(ENTITY, &[&old]));
        let body =
            json!({ "name": "Corp", "emailDomains": ["corp.example"], "metadataUrl": sink.url("/metadata") });
        let (path, _) = add(server, &browser, &body);
        sink.answers("/metadata", 200, "", &idp_metadata(ENTITY, &[&new]));
        server.env.advance(Duration::from_hours(6));
        let shown = || browser.get(&path).json();
        await_on_second_instance(server, || shown()["certificates"][0]["fingerprint"] == new.fingerprint());
        let entry = server.entry(&tenant, "ACCOUNT_SAML_PROVIDER_UPDATED");
        assert_eq!((entry.actor_type.as_str(), entry.actor_id.as_str()), ("SYSTEM", "saml"));
        assert!(entry.metadata.contains(&new.fingerprint()), "{}", entry.metadata);
        assert_eq!(sink.received("/metadata").len(), 2);
        // A failed refresh is reported and retried sooner.
        sink.answers("/metadata", 500, "", "");
        server.env.advance(Duration::from_hours(6));
        await_on_second_instance(server, || shown()["metadata"]["error"].is_string());
        assert_eq!(sink.received("/metadata").len(), 3);
        server.env.advance(Duration::from_mins(15));
        sink.answers("/metadata", 200, "", &idp_metadata(ENTITY, &[&new]));
        await_on_second_instance(server, || shown()["metadata"].get("error").is_none());
        assert_eq!(recorded_changes(server, &tenant), ["CREATED", "UPDATED"]);
    });
}
