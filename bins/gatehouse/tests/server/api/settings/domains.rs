//! Domain verification by DNS record.

use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Idp, Server, Tenant, on_both};

const DOMAINS: &str = "/api/settings/domains";
const PURPOSE: &str = "SSO_PROVIDER_CHANGE";

/// Creates a tenant with an administrator, and an SSO connection for these domains.
fn site(server: &Server, slug: &str, domains: &[&str]) -> (Tenant, Browser, String) {
    let tenant = server.tenant(slug);
    let (_, browser) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
    let body = json!({
        "name": "Corp", "emailDomains": domains, "metadataXml": Idp::new("idp.example.com").metadata(),
    });
    let made = server.proved(&browser, PURPOSE).post("/api/settings/saml-providers", &body);
    assert_eq!(made.status, 200, "{}", made.text);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    (tenant, browser, id)
}

fn verify(server: &Server, browser: &Browser, domain: &str) -> Answer {
    server.proved(browser, PURPOSE).send("POST", &format!("{DOMAINS}/{domain}/verify"), None)
}

fn value(shown: &Value) -> String {
    shown["record"]["value"].as_str().unwrap().to_owned()
}

fn refused(answer: &Answer, reason: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (409, &json!("CONFLICT")), "{}", answer.text);
    assert_eq!(answer.json()["reason"], reason, "{}", answer.text);
}

#[test]
fn domain_is_verified_by_its_record_and_removed() {
    on_both(|server| {
        let (tenant, browser, id) = site(server, "acme", &["corp.example", "corp.test"]);
        let listed = browser.get(DOMAINS).json()["domains"].clone();
        let record = value(&listed[0]);
        assert!(record.starts_with("gatehouse-domain-verification="), "{record}");
        assert_ne!(value(&listed[1]), record, "each domain has its own record");
        assert_eq!(
            listed[0],
            json!({
                "domain": "corp.example",
                "status": "UNVERIFIED",
                "providers": [id],
                "record": { "name": "_gatehouse.corp.example", "type": "TXT", "value": record },
            })
        );
        let missing = verify(server, &browser, "corp.example");
        refused(&missing, "DNS_RECORD_MISSING");
        server.dns.set("_gatehouse.corp.example", &["v=spf1 -all", "gatehouse-domain-verification=x"]);
        refused(&verify(server, &browser, "corp.example"), "DNS_RECORD_MISSING");
        server.dns.fail("_gatehouse.corp.example");
        let failed = verify(server, &browser, "corp.example");
        refused(&failed, "DNS_UNAVAILABLE");
        insta::allow_duplicates! {
            insta::assert_snapshot!(missing.json()["error"].as_str().unwrap(), @"there is no TXT record _gatehouse.corp.example with the value that the list of domains shows. A new record can take minutes, up to hours, to become visible");
            insta::assert_snapshot!(failed.json()["error"].as_str().unwrap(), @"_gatehouse.corp.example could not be resolved, because no DNS server answered. Try again in a few minutes");
        }

        server.dns.set("_gatehouse.corp.example", &["v=spf1 -all", &record]);
        let verified = verify(server, &browser, "Corp.Example");
        assert_eq!(verified.status, 200, "{}", verified.text);
        let shown = verified.json();
        assert_eq!(
            (&shown["domain"], &shown["status"], &shown["method"]),
            (&json!("corp.example"), &json!("VERIFIED"), &json!("DNS"))
        );
        assert!(shown["verifiedAt"].is_string());
        let provider = format!("/api/settings/saml-providers/{id}");
        assert_eq!(browser.get(&provider).json()["verifiedDomains"], json!(["corp.example"]));
        let entry = server.entry(&tenant, "ACCOUNT_DOMAIN_VERIFIED");
        assert_eq!((entry.resource_type.as_str(), entry.resource_id.as_str()), ("domain", "corp.example"));
        // The record is not needed any more after verification.
        server.dns.set("_gatehouse.corp.example", &[]);
        assert_eq!(verify(server, &browser, "corp.example").json(), shown);
        server.entry(&tenant, "ACCOUNT_DOMAIN_VERIFIED");

        // The list shows the record that was found, although the key of today would make another token.
        server.write(&tenant.id, async |ctx, tx| {
            let domain = "corp.example".parse().unwrap();
            let state =
                saml_sp::DomainRecheck { token: Some("found".into()), missing_since: None, next_at: ctx.now };
            saml_sp::DomainStore::reschedule_domain(tx, &domain, &state).await
        });
        let found = value(&browser.get(DOMAINS).json()["domains"][0]);
        assert_eq!(found, "gatehouse-domain-verification=found");

        let path = format!("{DOMAINS}/corp.example");
        let gone = server.proved(&browser, PURPOSE).delete(&path);
        assert_eq!(gone.json(), json!({ "deleted": true }), "{}", gone.text);
        assert_eq!(server.proved(&browser, PURPOSE).delete(&path).status, 404);
        server.entry(&tenant, "ACCOUNT_DOMAIN_REMOVED");
        assert_eq!(browser.get(DOMAINS).json()["domains"], listed);
    });
}

#[test]
fn domain_is_verified_for_one_tenant_only() {
    on_both(|server| {
        let (_, ours, _) = site(server, "acme", &["corp.example"]);
        let (_, theirs, _) = site(server, "globex", &["corp.example"]);
        let records = [&ours, &theirs].map(|browser| value(&browser.get(DOMAINS).json()["domains"][0]));
        assert_ne!(records[0], records[1]);
        // The record of one tenant does not verify the domain for another.
        server.dns.set("_gatehouse.corp.example", &[&records[0]]);
        refused(&verify(server, &theirs, "corp.example"), "DNS_RECORD_MISSING");
        assert_eq!(verify(server, &ours, "corp.example").status, 200);
        server.dns.set("_gatehouse.corp.example", &[&records[0], &records[1]]);
        refused(&verify(server, &theirs, "corp.example"), "DOMAIN_TAKEN");
        assert_eq!(theirs.get(DOMAINS).json()["domains"][0]["status"], "UNVERIFIED");
        // Other tenants cannot remove it.
        let path = format!("{DOMAINS}/corp.example");
        assert_eq!(server.proved(&theirs, PURPOSE).delete(&path).status, 404);
        assert_eq!(server.proved(&ours, PURPOSE).delete(&path).status, 200);
        assert_eq!(verify(server, &theirs, "corp.example").status, 200);
        for unknown in ["other.example", "nonsense", "127.0.0.1"] {
            assert_eq!(verify(server, &ours, unknown).status, 404, "{unknown}");
        }
    });
}

#[test]
fn failed_verification_keeps_the_step_up_token() {
    on_both(|server| {
        let (_, browser, _) = site(server, "acme", &["corp.example"]);
        let path = format!("{DOMAINS}/corp.example/verify");
        let proved = server.proved(&browser, PURPOSE);
        refused(&proved.send("POST", &path, None), "DNS_RECORD_MISSING");
        server.dns.set("_gatehouse.corp.example", &[&value(&browser.get(DOMAINS).json()["domains"][0])]);
        assert_eq!(proved.send("POST", &path, None).status, 200);
        let again = proved.send("POST", &path, None);
        assert_eq!((again.status, &again.json()["reason"]), (401, &json!("ALREADY_USED")), "{}", again.text);
    });
}
