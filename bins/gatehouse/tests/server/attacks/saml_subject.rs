//! The identity provider reassigned an email address to another person. The persistent NameID distinguishes them.

use std::time::Duration;

use directory::Role;
use serde_json::{Value, json};

use crate::{
    api::saml::Site,
    support::{Answer, Server, eventually, on_both},
};

const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const TRANSIENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const ADDRESS: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
const ADA: &str = "ada@corp.example";
const BOB: &str = "bob@corp.example";

/// Signs in with a NameID of this format.
fn sign_in(server: &Server, site: &Site, email: &str, format: &str, name_id: &str) -> Answer {
    let browser = server.browser();
    let sent = site.begin(&browser, "");
    let mut says = sent.says(email, kernel::Env::now(&*server.env));
    says.name_id = Some((format.to_owned(), name_id.to_owned()));
    site.post(&browser.with("Accept", "application/json"), &site.idp.response(&says), &sent.relay_state)
}

/// Returns the newest refusal: reason and user.
fn refusal(server: &Server, site: &Site) -> (String, Option<String>) {
    let last = site.refusals(server).pop().unwrap();
    assert_eq!(last["step"], "ACCOUNT");
    (last["reason"].as_str().unwrap().to_owned(), last["user"].as_str().map(str::to_owned))
}

fn is_refused(answer: &Answer) {
    assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("SAML_REFUSED")), "{}", answer.text);
}

#[test]
fn reassigned_address_cannot_sign_in_as_its_former_owner() {
    on_both(|server: &Server| {
        let site = Site::new(server, "acme");
        let ada = server.person(&site.tenant, ADA, Role::Admin);
        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "id-of-ada").status, 303);
        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "id-of-ada").status, 303);
        let pinned = server.entry(&site.tenant, "ACCOUNT_SAML_SUBJECT_PINNED");
        assert_eq!(pinned.resource_id, ada.id.to_string());
        let pins = |server: &Server| {
            server.entries(&site.tenant).into_iter().filter(|one| one.action == pinned.action)
        };
        assert_eq!(pins(server).count(), 1);

        // The new owner of the address has another NameID, or makes the browser request another format.
        for (format, name_id) in [
            (PERSISTENT, "id-of-eve"),
            (PERSISTENT, "ID-OF-ADA"),
            (PERSISTENT, " "),
            (TRANSIENT, "id-of-ada"),
            (ADDRESS, ADA),
            ("urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified", "id-of-ada"),
        ] {
            is_refused(&sign_in(server, &site, ADA, format, name_id));
            let expected = ("SUBJECT_CHANGED".to_owned(), Some(ada.id.to_string()));
            assert_eq!(refusal(server, &site), expected, "{format} {name_id}");
        }
        is_refused(&site.sign_in(server, &server.browser().with("Accept", "application/json"), ADA));
        // Refused NameIDs are not pinned.
        assert_eq!(pins(server).count(), 1);
        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "id-of-ada").status, 303);
    });
}

#[test]
fn nameid_of_one_user_cannot_sign_in_as_another() {
    on_both(|server: &Server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, ADA, Role::Member);
        let bob = server.person(&site.tenant, BOB, Role::Admin);
        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "id-of-ada").status, 303);
        // At the identity provider, Ada's address is now Bob's.
        is_refused(&sign_in(server, &site, BOB, PERSISTENT, "id-of-ada"));
        let expected = ("SUBJECT_OF_ANOTHER_USER".to_owned(), Some(bob.id.to_string()));
        assert_eq!(refusal(server, &site), expected);
        assert_eq!(sign_in(server, &site, BOB, PERSISTENT, "id-of-bob").status, 303);
    });
}

#[test]
fn an_administrator_confirms_a_changed_nameid() {
    on_both(|server: &Server| {
        let site = Site::new(server, "acme");
        let ada = server.person(&site.tenant, ADA, Role::Member);
        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "old").status, 303);
        is_refused(&sign_in(server, &site, ADA, PERSISTENT, "new"));

        let list = format!("/api/settings/users/{}/saml-subjects", ada.id);
        let shown = site.admin.get(&list).json()["subjects"].clone();
        assert_eq!((shown[0]["providerId"].as_str(), shown[1].is_null()), (Some(site.id.as_str()), true));
        let last: Value = site.refusals(server).pop().unwrap();
        assert!(last["detail"].as_str().unwrap().contains(shown[0]["subject"].as_str().unwrap()), "{last}");

        let path = format!("{list}/{}", site.id);
        let unproved = site.admin.delete(&path);
        assert_eq!((unproved.status, &unproved.json()["code"]), (401, &json!("STEP_UP_REQUIRED")));
        let deleted = server.proved(&site.admin, "USER_ADMIN_CHANGE").delete(&path);
        assert_eq!((deleted.status, deleted.json()), (200, json!({ "deleted": true })));
        assert_eq!(server.proved(&site.admin, "USER_ADMIN_CHANGE").delete(&path).status, 404);
        assert_eq!(
            server.entry(&site.tenant, "ACCOUNT_SAML_SUBJECT_UNPINNED").resource_id,
            ada.id.to_string()
        );
        assert_eq!(site.admin.get(&list).json()["subjects"], json!([]));

        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "new").status, 303);
        is_refused(&sign_in(server, &site, ADA, PERSISTENT, "old"));

        // Deleting a user deletes the pinned NameID: a new user with the address gets a new one.
        let gone = server
            .proved(&site.admin, "USER_ADMIN_CHANGE")
            .delete(&format!("/api/settings/users/{}", ada.id));
        assert_eq!(gone.status, 200, "{}", gone.text);
        server.person(&site.tenant, ADA, Role::Member);
        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "new").status, 303);
    });
}

#[test]
fn a_connection_test_shows_a_changed_nameid_and_pins_nothing() {
    on_both(|server: &Server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, ADA, Role::Member);
        let test = |name_id: &str| {
            let begun = site
                .admin
                .send("POST", &format!("/api/settings/saml-providers/{}/test", site.id), None)
                .json();
            let page = begun["loginUrl"].as_str().unwrap();
            let page = page.split_once("/api/").map(|(_, rest)| format!("/api/{rest}")).unwrap();
            let sent = crate::support::sent(&site.admin.get(&page));
            let mut says = sent.says(ADA, kernel::Env::now(&*server.env));
            says.name_id = Some((PERSISTENT.to_owned(), name_id.to_owned()));
            assert_eq!(site.post(&site.admin, &site.idp.response(&says), &sent.relay_state).status, 303);
            let id = begun["id"].as_str().unwrap();
            site.admin.get(&format!("/api/settings/saml-providers/{}/tests/{id}", site.id)).json()
        };
        assert!(test("id-of-eve").to_string().contains("\"status\":\"PASSED\""));
        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "id-of-ada").status, 303);
        assert!(test("id-of-eve").to_string().contains("\"reason\":\"SUBJECT_CHANGED\""));
        assert_eq!(sign_in(server, &site, ADA, PERSISTENT, "id-of-ada").status, 303);
    });
}

#[test]
fn response_with_more_than_ten_thousand_groups_is_refused() {
    on_both(|server: &Server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, ADA, Role::Member);
        for (groups, expected) in [(400, 303), (saml_sp::MAX_VALUES - 1, 303), (saml_sp::MAX_VALUES, 401)] {
            let browser = server.browser();
            let sent = site.begin(&browser, "");
            let mut says = sent.says(ADA, kernel::Env::now(&*server.env));
            says.groups = groups;
            let answer = site.post(&browser, &site.idp.response(&says), &sent.relay_state);
            assert_eq!(answer.status, expected, "{groups}: {:.300}", answer.text);
        }
        assert_eq!(site.refusals(server).pop().unwrap()["reason"], "XML_OUT_OF_BOUNDS");
    });
}

#[test]
fn domain_without_its_record_loses_verification_after_a_week() {
    on_both(|server: &Server| {
        let site = Site::new(server, "acme");
        let shown = || site.admin.get("/api/settings/domains").json()["domains"][0].clone();
        let record = shown()["record"].clone();
        let (name, value) = (record["name"].as_str().unwrap(), record["value"].as_str().unwrap());
        server.dns.set(name, &[value]);
        let proved = server.proved(&site.admin, "SSO_PROVIDER_CHANGE");
        assert_eq!(proved.send("POST", "/api/settings/domains/corp.example/verify", None).status, 200);

        let count =
            |action: &str| server.entries(&site.tenant).iter().filter(|one| one.action == action).count();
        // A second instance checks as soon as it starts.
        let days = |days: u64, done: &dyn Fn() -> bool| {
            server.env.advance(Duration::from_hours(24 * days));
            server.second(|_| eventually(done));
        };
        let nothing_due = || server.due_domains() == 0;

        // The record is still there after one month and after two.
        days(31, &nothing_due);
        days(31, &nothing_due);
        assert_eq!(count("ACCOUNT_DOMAIN_PROOF_LOST"), 0);
        // Without a DNS response the domain stays verified, however long that lasts.
        server.dns.fail(name);
        days(31, &nothing_due);
        days(31, &nothing_due);
        assert_eq!((count("ACCOUNT_DOMAIN_PROOF_LOST"), count("ACCOUNT_DOMAIN_UNVERIFIED")), (0, 0));
        // A record with another tenant's token does not count.
        server.dns.set(name, &["gatehouse-domain-verification=aaaa"]);
        days(31, &|| count("ACCOUNT_DOMAIN_PROOF_LOST") == 1);
        days(2, &nothing_due);
        server.dns.set(name, &[value]);
        days(2, &nothing_due);
        // The record was back in between, so the week starts again.
        server.dns.set(name, &[]);
        days(31, &|| count("ACCOUNT_DOMAIN_PROOF_LOST") == 2);
        days(6, &nothing_due);
        assert_eq!(count("ACCOUNT_DOMAIN_UNVERIFIED"), 0);
        days(2, &|| count("ACCOUNT_DOMAIN_UNVERIFIED") == 1);
        let after = server.browser();
        after.sign_in("admin@acme.example", crate::support::PASSWORD);
        let domain = after.get("/api/settings/domains").json()["domains"][0].clone();
        assert_eq!(domain["status"], "UNVERIFIED", "{domain}");
    });
}
