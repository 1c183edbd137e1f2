//! Creating, changing and removing connections.

use directory::Role;
use kernel::Env;
use serde_json::{Value, json};
use store::testing::Kind;

use super::{ENTITY, PROVIDERS, PURPOSE, add, admin, ask, by_xml, recorded_changes, refusal, text};
use crate::support::{Idp, Server, ending_in, idp_metadata, on_both};

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
