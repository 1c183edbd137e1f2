//! SSO connections, as administrators manage them.

use std::time::Duration;

use credentials::SignInMode;
use directory::Role;
use kernel::Env;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{
    Answer, Browser, Idp, Server, Sink, Tenant, ending_in, eventually, idp_metadata, on_both,
};

const PROVIDERS: &str = "/api/settings/saml-providers";
const PURPOSE: &str = "SSO_PROVIDER_CHANGE";
const ENTITY: &str = "https://idp.example.com";

fn admin(server: &Server, slug: &str) -> (Tenant, Browser) {
    let tenant = server.tenant(slug);
    let (_, browser) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
    (tenant, browser)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// Requests an SSO connection with a step-up.
fn ask(server: &Server, browser: &Browser, body: &Value) -> Answer {
    server.proved(browser, PURPOSE).post(PROVIDERS, body)
}

/// Adds an SSO connection. Returns its path and the response.
fn add(server: &Server, browser: &Browser, body: &Value) -> (String, Value) {
    let made = ask(server, browser, body);
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json();
    (format!("{PROVIDERS}/{}", text(&made["id"])), made)
}

fn by_xml(idp: &Idp, domains: &[&str]) -> Value {
    json!({ "name": "Corp", "emailDomains": domains, "metadataXml": idp.metadata() })
}

/// Returns the event codes about SSO connections in the tenant's audit log, oldest first.
fn recorded_changes(server: &Server, tenant: &Tenant) -> Vec<String> {
    let mut entries = server.entries(tenant);
    entries.reverse();
    entries.retain(|entry| entry.resource_type == "saml_provider");
    entries.iter().map(|entry| entry.action.replace("ACCOUNT_SAML_PROVIDER_", "")).collect()
}

/// Waits until a second instance, which starts with a refresh, has refreshed.
fn await_on_second_instance(server: &Server, until: impl Fn() -> bool) {
    server.second(|_| eventually(&until));
}

#[test]
fn connection_is_created_changed_and_removed() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        assert_eq!(browser.get(PROVIDERS).json(), json!({ "providers": [], "signInMode": "SSO_ALLOWED" }));
        let idp = Idp::new("idp.acme.example");
        let made = ask(server, &browser, &by_xml(&idp, &["Corp.Example"]));
        assert_eq!((made.status, made.header("cache-control")), (200, "no-store"), "{}", made.text);
        let made = made.json();
        let names: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
        let shape = [
            "id",
            "name",
            "emailDomains",
            "verifiedDomains",
            "entityId",
            "ssoUrl",
            "ssoBinding",
            "certificates",
            "source",
            "metadata",
            "attributeMapping",
            "signRequests",
            "forceAuthn",
            "signOutAtProvider",
            "authnContexts",
            "serviceProvider",
            "createdAt",
            "updatedAt",
            "warnings",
        ];
        assert_eq!(names, shape);
        assert_eq!(
            (&made["emailDomains"], &made["verifiedDomains"], &made["source"]),
            (&json!(["corp.example"]), &json!([]), &json!("METADATA_XML"))
        );
        assert_eq!(
            (&made["signRequests"], &made["forceAuthn"], &made["authnContexts"], &made["attributeMapping"]),
            (&json!(true), &json!(false), &json!([]), &json!({}))
        );
        let certificate = &made["certificates"][0];
        assert_eq!(
            (&certificate["status"], &certificate["pem"]),
            (&json!("VALID"), &json!(idp.certificate()))
        );
        let id = text(&made["id"]);
        assert!(id.starts_with(&format!("sso_{}", tenant.id.key())));
        let (path, base) = (format!("{PROVIDERS}/{id}"), format!("http://localhost:8080/api/saml/{id}"));
        let service = &made["serviceProvider"];
        assert_eq!(
            (&service["entityId"], &service["metadataUrl"], &service["acsUrl"], &service["loginUrl"]),
            (
                &json!(format!("{base}/metadata")),
                &json!(format!("{base}/metadata")),
                &json!(format!("{base}/acs")),
                &json!(format!("{base}/login"))
            )
        );
        assert_eq!(
            (&service["certificates"][0]["use"], service["certificates"].as_array().unwrap().len()),
            (&json!("ACTIVE"), 1)
        );
        assert!(text(&made["warnings"][0]).starts_with("emailDomains: corp.example is not verified"));
        assert_eq!(browser.get(&path).json(), made);
        assert_eq!(browser.get(PROVIDERS).json()["providers"], json!([made]));

        // Omitted members return to their defaults, except for the identity provider's metadata.
        let change = json!({
            "name": "Corp", "emailDomains": ["corp.example", "corp.test"], "attributeMapping": { "email": "mail" },
            "signRequests": false, "authnContexts": ["urn:oasis:names:tc:SAML:2.0:ac:classes:Password"],
        });
        let changed = server.proved(&browser, PURPOSE).put(&path, &change);
        assert_eq!(changed.status, 200, "{}", changed.text);
        let changed = changed.json();
        assert_eq!(
            (&changed["certificates"], &changed["source"], &changed["serviceProvider"]),
            (&made["certificates"], &made["source"], &made["serviceProvider"])
        );
        assert_eq!(changed["attributeMapping"], json!({ "email": "mail" }));
        let entry = server.entry(&tenant, "ACCOUNT_SAML_PROVIDER_UPDATED");
        let data: Value = serde_json::from_str(&entry.metadata).unwrap();
        assert_eq!(
            data["changed"],
            json!(["emailDomains", "attributeMapping", "signRequests", "authnContexts"])
        );
        assert_eq!(data["certificates"], json!([certificate["fingerprint"]]));

        let gone = server.proved(&browser, PURPOSE).delete(&path);
        assert_eq!(gone.json(), json!({ "deleted": true }), "{}", gone.text);
        for gone in [
            server.proved(&browser, PURPOSE).delete(&path),
            server.proved(&browser, PURPOSE).put(&path, &change),
            browser.get(&path),
        ] {
            assert_eq!(gone.status, 404, "{}", gone.text);
        }
        assert_eq!(recorded_changes(server, &tenant), ["CREATED", "UPDATED", "DELETED"]);
    });
}

#[test]
fn errors_name_the_invalid_field() {
    let server = Server::start(Kind::Sqlite, &[]);
    let (_, browser) = admin(&server, "acme");
    let idp = Idp::new("idp.example.com");
    let ended = idp_metadata(ENTITY, &[&ending_in(server.env.now(), -3)]);
    let mut problems = Vec::new();
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("a\u{7}b")),
        ("emailDomains", json!([])),
        ("emailDomains", json!(["corp.example", "nonsense"])),
        ("emailDomains", json!(["corp.example", "CORP.example"])),
        ("attributeMapping", json!({ "email": "" })),
        ("attributeMapping", json!({ "mail": "x" })),
        ("authnContexts", json!(["nonsense"])),
        ("signRequests", json!("yes")),
        ("metadataXml", json!(null)),
        ("metadataXml", json!("nonsense")),
        ("metadataXml", json!("<!DOCTYPE x><x/>")),
        ("metadataXml", json!(idp.metadata().replace("HTTP-POST", "HTTP-Artifact"))),
        (
            "metadataXml",
            json!(idp.metadata().replace("https://idp.example.com/saml/sso", "http://idp.example.com/")),
        ),
        ("metadataXml", json!(ended)),
        ("metadataUrl", json!("https://idp.example.com/")),
        ("entityId", json!("https://idp.example.com/")),
        ("colour", json!("red")),
    ] {
        let mut body = by_xml(&idp, &["corp.example"]);
        body[field] = value;
        problems.push(refusal(&server, &browser, &body));
    }
    for body in [
        json!({ "metadataUrl": "http://user:secret@idp.example.com/" }),
        json!({ "metadataUrl": "https://192.0.2.1/metadata" }),
        json!({}),
        json!({ "entityId": "x", "ssoUrl": "https://idp.example.com/" }),
        json!({ "ssoUrl": "https://idp.example.com/", "certificates": [] }),
        json!({ "entityId": "", "ssoUrl": "https://idp.example.com/", "certificates": [idp.certificate()] }),
        json!({ "entityId": "x", "ssoUrl": "ftp://idp.example.com/", "certificates": [idp.certificate()] }),
        json!({ "entityId": "x", "ssoUrl": "https://idp.example.com/", "certificates": [] }),
        json!({ "entityId": "x", "ssoUrl": "https://idp.example.com/", "certificates": [idp.certificate(), "x"] }),
    ] {
        let mut whole = json!({ "name": "Corp", "emailDomains": ["corp.example"] });
        whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        problems.push(refusal(&server, &browser, &whole));
    }
    insta::assert_snapshot!(problems.join("\n"), @r#"
    name: write 1 to 100 printable characters, no space at either end
    name: write 1 to 100 printable characters, no space at either end
    emailDomains: write 1 to 100 domains, as in your users' email addresses after the @
    emailDomains[1]: write a domain such as example.com
    emailDomains[1]: corp.example is already in the list
    attributeMapping.email: write the name of an attribute: 1 to 256 printable characters, no space at either end
    attributeMapping.mail: unknown field `mail`, expected `email`
    authnContexts[0]: write a URI such as urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport
    signRequests: invalid type: string "yes", expected a boolean
    metadataXml: invalid type: null, expected a string
    metadataXml: not valid metadata: unknown token at 1:1
    metadataXml: not valid metadata: the document contains a DOCTYPE or declaration
    metadataXml: the metadata has no SingleSignOnService with the HTTP-POST or HTTP-Redirect binding
    metadataXml: the Location of SingleSignOnService does not begin with https://
    metadataXml: all signing certificates in the metadata have expired; get metadata with a valid one
    metadataXml: write one of metadataXml, metadataUrl, or entityId with ssoUrl and certificates
    metadataXml: write one of metadataXml, metadataUrl, or entityId with ssoUrl and certificates
    colour: unknown field `colour`, expected one of `name`, `emailDomains`, `metadataXml`, `metadataUrl`, `entityId`, `ssoUrl`, `certificates`, `attributeMapping`, `signRequests`, `forceAuthn`, `signOutAtProvider`, `authnContexts`
    metadataUrl: the URL contains a user name or password; remove everything up to the @
    metadataUrl: metadata is fetched from public addresses only; send it as metadataXml instead
    metadataXml: write metadataXml, metadataUrl, or entityId, ssoUrl and certificates
    certificates: entityId, ssoUrl and certificates have to be sent together
    entityId: entityId, ssoUrl and certificates have to be sent together
    entityId: write 1 to 1024 printable characters, no space at either end
    ssoUrl: the URL does not begin with https://
    certificates: write 1 to 10 signing certificates, as PEM or as base64 of their DER form
    certificates[1]: write an X.509 certificate as PEM, or its DER form as base64
    "#);
    assert_eq!(browser.get(PROVIDERS).json()["providers"], json!([]));
}

/// Returns the message of a 400, without the position in the text.
fn refusal(server: &Server, browser: &Browser, body: &Value) -> String {
    let refused = ask(server, browser, body);
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (400, &json!("INVALID_REQUEST")),
        "{}",
        refused.text
    );
    text(&refused.json()["error"]).split(" at line ").next().unwrap().to_owned()
}

#[test]
fn tokens_may_only_read_and_users_change_with_a_step_up() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let (path, _) = add(server, &browser, &by_xml(&Idp::new("idp.acme.example"), &["corp.example"]));
        let body = by_xml(&Idp::new("idp.other.example"), &["other.example"]);
        let minted = server
            .proved(&browser, "PAT_MINT_ADMIN")
            .post("/api/me/tokens", &json!({ "name": "CI", "scopes": ["admin:tenant"] }));
        let pat = server.anonymous().bearer(&text(&minted.json()["token"]));
        assert_eq!((pat.get(PROVIDERS).status, pat.get(&path).status), (200, 200));
        let (_, member) = server.signed_in(&tenant, "bob@acme.example", Role::Member);
        assert_eq!(member.get(PROVIDERS).json()["reason"], "ROLE_REQUIRED");
        let acts = [
            ("POST", PROVIDERS.to_owned(), true),
            ("PUT", path.clone(), true),
            ("POST", format!("{path}/rotate-certificate"), true),
            ("POST", format!("{path}/rotate-certificate/complete"), true),
            ("POST", format!("{path}/test"), false),
            ("POST", format!("{path}/refresh"), false),
            ("POST", "/api/settings/domains/corp.example/verify".into(), true),
            ("DELETE", "/api/settings/domains/corp.example".into(), true),
            ("DELETE", path.clone(), true),
        ];
        for (method, path, is_guarded) in acts {
            let by_token = pat.send(method, &path, Some("application/json"), &body.to_string());
            assert_eq!((by_token.status, &by_token.json()["reason"]), (403, &json!("CREDENTIAL_KIND")));
            assert_eq!(member.send(method, &path, Some(&body)).status, 403, "{method} {path}");
            let unproved = browser.send(method, &path, Some(&body));
            let asked = (unproved.status, &unproved.json()["purpose"]) == (401, &json!(PURPOSE));
            assert_eq!(asked, is_guarded, "{method} {path}: {}", unproved.text);
        }
        assert_eq!(recorded_changes(server, &tenant), ["CREATED", "TESTED"]);
    });
}

#[test]
fn domain_belongs_to_one_connection_even_with_concurrent_requests() {
    on_both(|server| {
        let ((_, browser), (_, stranger)) = (admin(server, "acme"), admin(server, "globex"));
        let body = by_xml(&Idp::new("idp.example.com"), &["corp.example"]);
        let proofs = [0; 4].map(|_| server.proof(&browser, PURPOSE));
        let outcomes = std::thread::scope(|scope| {
            let asked = proofs.map(|proof| {
                let (browser, body) = (browser.with("X-StepUp-Token", &proof), &body);
                scope.spawn(move || browser.post(PROVIDERS, body))
            });
            asked.map(|asked| asked.join().unwrap())
        });
        let (made, refused): (Vec<_>, Vec<_>) = outcomes.iter().partition(|answer| answer.status == 200);
        assert_eq!((made.len(), refused.len()), (1, 3), "{outcomes:?}");
        for refused in refused {
            assert_eq!((refused.status, &refused.json()["reason"]), (409, &json!("DOMAIN_TAKEN")));
        }
        // Another tenant is not affected, and does not see the connection.
        let path = format!("{PROVIDERS}/{}", text(&made[0].json()["id"]));
        add(server, &stranger, &body);
        assert_eq!(stranger.get(&path).status, 404);
        assert_eq!(stranger.get(PROVIDERS).json()["providers"].as_array().unwrap().len(), 1);
        // A change cannot take the domain, either.
        let (other, _) = add(server, &browser, &by_xml(&Idp::new("idp.example.com"), &["other.example"]));
        let taken = json!({ "name": "x", "emailDomains": ["other.example", "corp.example"] });
        let taken = server.proved(&browser, PURPOSE).put(&other, &taken);
        assert_eq!((taken.status, &taken.json()["reason"]), (409, &json!("DOMAIN_TAKEN")), "{}", taken.text);
    });
}

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

#[test]
fn expiry_of_the_last_certificate_is_announced_in_time() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let now = server.env.now();
        let (first, last) = (ending_in(now, 5), ending_in(now, 20));
        let body = |certificates: &[&saml_sp::Certificate]| {
            let metadata = idp_metadata(ENTITY, certificates);
            json!({ "name": "Corp", "emailDomains": ["corp.example"], "metadataXml": metadata })
        };
        let (path, made) = add(server, &browser, &body(&[&first, &last]));
        assert_eq!(made["certificates"][0]["status"], "EXPIRING");
        let warnings = made["warnings"].to_string();
        assert!(warnings.contains("certificates[0]: expires on ") && warnings.contains("certificates[1]: "));
        let ends = || {
            let mut entries = server.entries(&tenant);
            entries.retain(|entry| entry.action == "ACCOUNT_SAML_PROVIDER_CERTIFICATE_EXPIRING");
            entries
        };
        await_on_second_instance(server, || ends().len() == 1);
        let entry = ends().remove(0);
        let data: Value = serde_json::from_str(&entry.metadata).unwrap();
        assert_eq!((&data["days"], &data["certificate"]), (&json!(30), &json!(last.fingerprint())));
        assert_eq!(data["expiresAt"], json!(last.not_after()));
        assert_eq!(
            (entry.actor_type.as_str(), entry.resource_id.as_str()),
            ("SYSTEM", text(&made["id"]).as_str())
        );
        let metrics = server.anonymous().get("/metrics").text;
        for name in [
            "gatehouse_saml_providers",
            "gatehouse_saml_certificates_expiring",
            "gatehouse_saml_certificates_expired",
            "gatehouse_saml_certificate_soonest_expiry_seconds",
        ] {
            assert!(metrics.contains(&format!("\n{name} ")), "{name}");
        }
        // New certificates are added, and their expiry is announced when it is near.
        let longer = ending_in(now, 400);
        let changed = server.proved(&browser, PURPOSE).put(&path, &body(&[&longer]));
        assert_eq!((changed.status, &changed.json()["certificates"][0]["status"]), (200, &json!("VALID")));
        server.env.advance(Duration::from_hours(24 * 394));
        await_on_second_instance(server, || ends().len() == 2);
        assert!(ends().iter().any(|entry| entry.metadata.contains("\"days\":7")));
    });
}

#[test]
fn a_rotation_shows_both_certificates() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let (path, made) = add(server, &browser, &by_xml(&Idp::new("idp.acme.example"), &["corp.example"]));
        let rotate = |rest: &str| {
            server.proved(&browser, PURPOSE).send("POST", &format!("{path}/rotate-certificate{rest}"), None)
        };
        let none = rotate("/complete");
        assert_eq!((none.status, &none.json()["reason"]), (409, &json!("NO_ROTATION")), "{}", none.text);
        let rotated = rotate("");
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        let ours = rotated.json()["serviceProvider"]["certificates"].clone();
        assert_eq!(ours[0], made["serviceProvider"]["certificates"][0]);
        assert_eq!((&ours[1]["use"], &ours[1]["status"]), (&json!("NEXT"), &json!("VALID")));
        assert_eq!(browser.get(&path).json()["serviceProvider"]["certificates"], ours);
        let again = rotate("");
        assert_eq!((again.status, &again.json()["reason"]), (409, &json!("ROTATION_UNDER_WAY")));
        let done = rotate("/complete").json()["serviceProvider"]["certificates"].clone();
        assert_eq!((done.as_array().unwrap().len(), &done[0]["fingerprint"]), (1, &ours[1]["fingerprint"]));
        let phases: Vec<Value> = server
            .entries(&tenant)
            .iter()
            .filter(|entry| entry.action == "ACCOUNT_SAML_PROVIDER_KEY_ROTATED")
            .map(|entry| serde_json::from_str::<Value>(&entry.metadata).unwrap())
            .collect();
        assert!(phases.iter().all(|data| data["certificate"] == ours[1]["fingerprint"]), "{phases:?}");
        let mut phases: Vec<_> = phases.iter().map(|data| text(&data["phase"])).collect();
        phases.sort();
        assert_eq!(phases, ["COMPLETED", "STARTED"]);
    });
}

#[test]
fn connection_test_starts_with_configuration_checks() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let idp = Idp::new("idp.acme.example");
        let wants = idp
            .metadata()
            .replace("<md:IDPSSODescriptor ", "<md:IDPSSODescriptor WantAuthnRequestsSigned=\"true\" ");
        let body = json!({
            "name": "Corp", "emailDomains": ["corp.example"], "metadataXml": wants, "signRequests": false,
        });
        let (path, made) = add(server, &browser, &body);
        server.policy(&tenant, |policy| policy.sign_in_mode = SignInMode::CredentialsOnly);
        let begun = browser.send("POST", &format!("{path}/test"), None);
        assert_eq!(begun.status, 200, "{}", begun.text);
        let begun = begun.json();
        let id = text(&begun["id"]);
        let login = format!("{}?test={id}", text(&made["serviceProvider"]["loginUrl"]));
        assert_eq!(begun["loginUrl"], json!(login));
        let checks: Vec<_> = begun["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|check| (text(&check["check"]), text(&check["outcome"])))
            .collect();
        let expected = [
            ("SIGN_IN_POLICY", "FAILED"),
            ("DOMAINS", "WARNING"),
            ("CERTIFICATES", "PASSED"),
            ("METADATA", "PASSED"),
            ("REQUESTS", "WARNING"),
            ("KEYS", "PASSED"),
        ];
        assert_eq!(checks, expected.map(|(check, outcome)| (check.to_owned(), outcome.to_owned())));
        let warnings = browser.get(&path).json()["warnings"].clone();
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(warnings, @r#"
            [
              "signInMode is CREDENTIALS_ONLY: nobody can sign in through an identity provider; allow single sign-on in the sign-in policy",
              "emailDomains: corp.example is not verified; add the DNS record so that the sign-in page finds this connection, and use loginUrl until then",
              "signRequests: the metadata requires signed requests, but they are not signed; the identity provider may refuse them"
            ]
            "#);
        }
        assert!(server.entry(&tenant, "ACCOUNT_SAML_PROVIDER_TESTED").metadata.contains(&id));

        let waiting = browser.get(&format!("{path}/tests/{id}")).json();
        assert_eq!((&waiting["status"], &waiting["id"]), (&json!("WAITING"), &json!(id)));
        let outcomes = waiting["checks"].as_array().unwrap();
        assert!(outcomes.len() == 13 && outcomes.iter().all(|check| check["outcome"] == "NOT_REACHED"));
        // The test exists only under its own connection.
        let (other, _) = add(server, &browser, &by_xml(&idp, &["other.example"]));
        assert_eq!(browser.get(&format!("{other}/tests/{id}")).status, 404);
        server.env.advance(Duration::from_mins(15));
        assert_eq!(browser.get(&format!("{path}/tests/{id}")).json()["status"], "EXPIRED");
    });
}
