//! The attestation policy.

use std::rc::Rc;

use attestation::conformance::Authority;
use data_encoding::BASE64;
use directory::Role;
use kernel::UserId;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::{
    api::auth::passkeys::enrol,
    support::{Answer, Attests, Authenticator, Browser, Maker, Server, Tenant, authenticator, on_both},
};

const POLICY: &str = "/api/settings/attestation-policy";
const TEST: &str = "/api/settings/attestation-policy/test";
const IMPACT: &str = "/api/settings/attestation-policy/impact";
/// AAGUIDs of a YubiKey 5 FIPS, a YubiKey 5, Windows Hello with a TPM, and Google Password Manager.
const FIPS: &str = "73bb0cd4-e502-49b8-9c6f-b59445bf720b";
const HARDWARE: &str = "cb69481e-8ff7-4039-93ec-0a2729a154a8";
const WINDOWS: &str = "08987058-cadc-4b81-b6e1-30de50dcbe96";
/// AAGUID of authenticators that do not disclose their model.
const NOTHING: &str = "00000000-0000-0000-0000-000000000000";
const GOOGLE: &str = "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4";

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

/// Returns an enabled policy with these changed members.
#[expect(clippy::needless_pass_by_value, reason = "written where it is called")]
fn on(more: Value) -> Value {
    let mut body = json!({
        "mode": "ALLOWLIST",
        "allowedGroups": [],
        "allowedAaguids": [],
        "allowSyncedPasskeys": false,
        "allowPlatformAuthenticators": false,
        "requireVerifiedAttestation": false,
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn bytes(aaguid: &str) -> [u8; 16] {
    aaguid.parse::<attestation::Aaguid>().unwrap().0
}

/// Returns a security key of this model.
fn key(aaguid: &str) -> Authenticator {
    let mut device = authenticator();
    device.aaguid = bytes(aaguid);
    device.attachment = Some("cross-platform");
    device
}

/// Sets a policy as an administrator.
fn set(server: &Server, admin: &Browser, policy: &Value) -> Value {
    let answer = server.proved(admin, "ATTESTATION_POLICY_CHANGE").put(POLICY, policy);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// Enrols this passkey for a new user.
fn newcomer(server: &Server, tenant: &Tenant, device: &mut Authenticator) -> (Browser, Answer) {
    let email = format!("{}@example.com", UserId::new(&*server.env).key());
    let (_, browser) = server.signed_in(tenant, &email, Role::Member);
    let answer = enrol(&browser, device);
    (browser, answer)
}

#[test]
fn everybody_reads_the_policy_and_administrators_change_it_with_a_step_up() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, member) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let read = member.get(POLICY).json();
        assert_eq!(read["policy"], on(json!({ "mode": "OFF" })));
        let catalog = read["catalog"].as_array().unwrap();
        assert_eq!(catalog.len(), attestation::catalog().len());
        let windows = catalog.iter().find(|known| known["aaguid"] == WINDOWS).unwrap();
        assert_eq!((&windows["vendor"], &windows["group"]), (&json!("Microsoft"), &json!("PLATFORM")));
        assert!(windows["name"].is_string() && windows.as_object().unwrap().len() == 4, "{windows}");
        for answer in [member.put(POLICY, &on(json!({}))), member.post(IMPACT, &on(json!({})))] {
            assert_eq!(answer.json()["reason"], "ROLE_REQUIRED");
        }

        let wanted = on(
            json!({ "allowedGroups": ["HARDWARE", "FIPS_HARDWARE"], "allowedAaguids": [WINDOWS.to_uppercase()] }),
        );
        let asked = admin.put(POLICY, &wanted);
        is(&asked, 401, "STEP_UP_REQUIRED");
        assert_eq!(asked.json()["purpose"], "ATTESTATION_POLICY_CHANGE");
        let proved = || server.proved(&admin, "ATTESTATION_POLICY_CHANGE");
        for (body, begins) in [
            (json!({ "mode": "OFF" }), "allowedGroups: is required"),
            (on(json!({ "mode": "DENYLIST" })), "mode: "),
            (on(json!({ "allowedGroups": ["SOFTWARE"] })), "allowedGroups[0]: "),
            (
                on(json!({ "allowedAaguids": [FIPS, "73bb0cd4e50249b89c6fb59445bf720b"] })),
                "allowedAaguids[1]: ",
            ),
            (on(json!({ "catalog": [] })), "catalog: "),
            (on(json!({ "allowedAaguids": many(1001) })), "allowedAaguids: "),
        ] {
            let refused = proved().put(POLICY, &body);
            is(&refused, 400, "INVALID_REQUEST");
            let error = refused.json()["error"].as_str().unwrap().to_owned();
            assert!(error.starts_with(begins), "{error}");
        }
        let put = proved().put(POLICY, &wanted).json();
        let kept = on(json!({ "allowedGroups": ["FIPS_HARDWARE", "HARDWARE"], "allowedAaguids": [WINDOWS] }));
        assert_eq!(put, json!({ "policy": kept, "enrolled": 0, "refused": 0, "makes": [], "passkeys": [] }));
        assert_eq!(member.get(POLICY).json()["policy"], kept);
        // Setting the same policy again changes nothing. The maximum number of models is accepted.
        assert_eq!(proved().put(POLICY, &wanted).status, 200);
        assert_eq!(proved().put(POLICY, &on(json!({ "allowedAaguids": many(1000) }))).status, 200);
        let changes: Vec<_> = server
            .entries(&tenant)
            .into_iter()
            .filter(|entry| entry.action == "ACCOUNT_ATTESTATION_POLICY_CHANGED")
            .map(|entry| entry.metadata)
            .collect();
        assert_eq!(changes.len(), 2);
        assert!(
            changes[1].contains(r#"{"changed":["mode","allowedGroups","allowedAaguids"]}"#),
            "{}",
            changes[1]
        );
        // Another tenant has its own policy.
        let other = server.tenant("other");
        let (_, stranger) = server.signed_in(&other, "eve@example.com", Role::Admin);
        assert_eq!(stranger.get(POLICY).json()["policy"]["mode"], "OFF");
    });
}

fn many(count: u32) -> Vec<String> {
    (0..count).map(|number| format!("00000000-0000-4000-8000-{number:012}")).collect()
}

#[test]
fn policy_test_returns_the_decision_and_its_reasons() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, member) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let ask = |body: Value| member.post(TEST, &body).json();
        let unknown = "11111111-2222-4333-8444-555555555555";
        let nothing = json!({ "decision": "ALLOW", "reasons": [], "authenticator": null });
        assert_eq!(ask(json!({ "aaguid": unknown })), nothing);
        // The tested authenticator counts as attested.
        let policy = on(json!({ "allowedGroups": ["FIPS_HARDWARE"], "requireVerifiedAttestation": true }));
        set(server, &admin, &policy);
        let allowed = ask(json!({ "aaguid": FIPS.to_uppercase() }));
        assert_eq!((&allowed["decision"], allowed.get("reason")), (&json!("ALLOW"), None));
        assert_eq!(allowed["authenticator"]["aaguid"], FIPS);
        let synced = ask(json!({ "aaguid": GOOGLE }));
        let both = json!(["ALLOWLIST_NO_MATCH", "SYNCED_PASSKEY_DENIED"]);
        assert_eq!((&synced["decision"], &synced["reasons"]), (&json!("DENY"), &both));
        assert_eq!(synced["reason"], "ALLOWLIST_NO_MATCH");
        let all = ask(json!({ "aaguid": unknown, "isPlatformAuthenticator": true, "backupEligible": true }));
        let reasons = ["ALLOWLIST_NO_MATCH", "SYNCED_PASSKEY_DENIED", "PLATFORM_AUTHENTICATOR_DENIED"];
        assert_eq!((&all["reasons"], &all["authenticator"]), (&json!(reasons), &Value::Null));
        let flags = ask(json!({ "aaguid": FIPS, "isPlatformAuthenticator": true, "backupEligible": true }));
        assert_eq!(flags["reasons"], json!(reasons[1..]));
        assert_eq!(flags["reason"], "SYNCED_PASSKEY_DENIED");
        let local = ask(json!({ "aaguid": WINDOWS, "isPlatformAuthenticator": false }));
        assert_eq!(local["reasons"], json!(reasons[..1]));
        for (body, begins) in [
            (json!({}), "aaguid: is required"),
            (json!({ "aaguid": "x" }), "aaguid: write a UUID"),
            (json!({ "aaguid": FIPS, "backupEligible": "yes" }), "backupEligible: "),
            (json!({ "aaguid": FIPS, "proved": true }), "proved: "),
        ] {
            let refused = member.post(TEST, &body);
            is(&refused, 400, "INVALID_REQUEST");
            let error = refused.json()["error"].as_str().unwrap().to_owned();
            assert!(error.starts_with(begins), "{error}");
        }
        assert_eq!(member.get(POLICY).json()["policy"], policy, "the policy is unchanged");
    });
}

#[test]
fn the_policy_decides_at_enrolment() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (ann, browser) = server.signed_in(&tenant, "ann@example.com", Role::Member);
        let begin = || browser.post("/api/me/factors/passkeys/options", &json!({})).json();
        assert_eq!(begin()["webauthn"]["attestation"], "none");
        set(server, &admin, &on(json!({ "allowedGroups": ["HARDWARE", "PLATFORM"] })));
        let begun = begin();
        assert_eq!(begun["webauthn"]["attestation"], "direct");

        // The policy at the end of the enrolment decides, not the one at its start.
        let mut phone = authenticator();
        (phone.aaguid, phone.backup_eligible) = (bytes(GOOGLE), true);
        let body =
            json!({ "challengeId": begun["challengeId"], "credential": phone.create(&begun["webauthn"]) });
        let refused = browser.post("/api/me/factors/passkeys/verify", &body);
        is(&refused, 403, "ATTESTATION_POLICY_BLOCKED");
        assert_eq!(refused.json()["reason"], "ALLOWLIST_NO_MATCH");
        assert!(!refused.text.contains(GOOGLE), "the response must not name the model: {}", refused.text);
        let factors = browser.get("/api/me/factors").json();
        assert_eq!(factors["factors"], json!([]), "nothing is stored");
        let entry = server.entry(&tenant, "ACCOUNT_ATTESTATION_POLICY_BLOCKED");
        let data: Value = serde_json::from_str(&entry.metadata).unwrap();
        assert_eq!(
            data,
            json!({
                "user": ann.id.as_str(),
                "aaguid": GOOGLE,
                "trust": "claimed",
                "backupEligible": true,
                "isPlatformAuthenticator": true,
                "reasons": ["ALLOWLIST_NO_MATCH", "SYNCED_PASSKEY_DENIED", "PLATFORM_AUTHENTICATOR_DENIED"],
            })
        );
        assert_eq!(entry.actor_id, ann.id.as_str());

        // The browser's claim that it is not built in does not help a built-in model.
        let mut hello = key(WINDOWS);
        let refused = enrol(&browser, &mut hello);
        assert_eq!(refused.json()["reason"], "PLATFORM_AUTHENTICATOR_DENIED", "{}", refused.text);
        let mut copied = key(HARDWARE);
        copied.backup_eligible = true;
        let refused = enrol(&browser, &mut copied);
        assert_eq!(refused.json()["reason"], "SYNCED_PASSKEY_DENIED", "{}", refused.text);
        let mut inside = key(HARDWARE);
        inside.attachment = Some("platform");
        let refused = enrol(&browser, &mut inside);
        assert_eq!(refused.json()["reason"], "PLATFORM_AUTHENTICATOR_DENIED", "{}", refused.text);

        let made = enrol(&browser, &mut key(HARDWARE)).json();
        assert_eq!((&made["aaguid"], &made["trust"]), (&json!(HARDWARE), &json!("claimed")));
        assert!(made["authenticator"].as_str().unwrap().starts_with("YubiKey 5"), "{made}");
        let metrics = server.anonymous().get("/metrics").text;
        assert!(metrics.contains(r#"gatehouse_attestation_denials_total{reason="ALLOWLIST_NO_MATCH"}"#));

        set(server, &admin, &on(json!({ "mode": "OFF" })));
        let (other, answer) = newcomer(server, &tenant, &mut phone);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(
            other.get("/api/me/factors").json()["factors"][0]["authenticator"],
            "Google Password Manager"
        );
    });
}

#[test]
fn repeated_refusals_do_not_flood_the_audit_log() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        set(server, &admin, &on(json!({})));
        let (_, browser) = server.signed_in(&tenant, "ann@example.com", Role::Member);
        for _ in 0..5 {
            is(&enrol(&browser, &mut key(FIPS)), 403, "ATTESTATION_POLICY_BLOCKED");
        }
        let entries = server.entries(&tenant);
        let blocked = |entry: &&audit::StoredEntry| entry.action == "ACCOUNT_ATTESTATION_POLICY_BLOCKED";
        assert_eq!(entries.iter().filter(blocked).count(), 1);
    });
}

/// The picture of the models in the metadata.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\npicture";

#[test]
fn pages_show_the_picture_of_a_model_or_a_symbol() {
    let maker = Rc::new(Maker::of_any_model());
    let (_folder, settings) = proofs(&maker, &maker, &maker);
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let server = &Server::start(Kind::Sqlite, &settings);
    let picture = server.anonymous().get(&format!("/authenticators/{WINDOWS}"));
    assert_eq!((picture.status, picture.header("content-type")), (200, "image/png"));
    assert!(picture.header("content-security-policy").starts_with("default-src 'none';"));
    for unknown in [FIPS, "nonsense", "fa2b99dc-9e39-4257-8f92-4a30d23c4118"] {
        assert_eq!(server.anonymous().get(&format!("/authenticators/{unknown}")).status, 404, "{unknown}");
    }
    let tenant = server.tenant("acme");
    let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
    assert_eq!(enrol(&admin, &mut key(WINDOWS)).status, 200);
    let page = admin.get("/account/security").text;
    assert!(page.contains(&format!("src=\"/authenticators/{WINDOWS}\"")), "{page}");
    let models = admin.get("/settings/authenticators").text;
    assert!(models.contains(&format!("src=\"/authenticators/{HARDWARE}\"")));
    assert!(models.contains("/security-key.svg") && models.contains("/synced.svg"));
}

/// Returns trust anchors: a folder with root certificates, and metadata in which the model `revoked` is revoked.
fn proofs(any: &Maker, fips: &Maker, revoked: &Maker) -> (tempfile::TempDir, Vec<(&'static str, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let roots = place("roots");
    std::fs::create_dir(&roots).unwrap();
    std::fs::write(roots.join("any.pem"), any.root()).unwrap();
    std::fs::write(roots.join(format!("{FIPS}.pem")), fips.root()).unwrap();
    std::fs::write(roots.join("README"), "what is not called so is not read").unwrap();
    let authority = Authority::new("mds.example").unwrap();
    let certificate = BASE64.encode(revoked.certificate());
    let entry = |aaguid: &str, status: &str| {
        json!({
            "aaguid": aaguid,
            "metadataStatement": {
                "attestationRootCertificates": [certificate],
                "icon": format!("data:image/png;base64,{}", BASE64.encode(PICTURE)),
            },
            "statusReports": [{ "status": "FIDO_CERTIFIED" }, { "status": status }],
        })
    };
    let entries = [entry(HARDWARE, "REVOKED"), entry(WINDOWS, "FIDO_CERTIFIED_L2plus")];
    let payload = json!({ "no": 1, "nextUpdate": "2199-01-01", "entries": entries });
    std::fs::write(place("blob.jwt"), authority.sign(&payload).unwrap()).unwrap();
    std::fs::write(place("root.pem"), authority.root()).unwrap();
    let path = |name: &str| place(name).to_str().unwrap().to_owned();
    let settings = vec![
        ("attestation_roots", path("roots")),
        ("attestation_metadata", path("blob.jwt")),
        ("attestation_metadata_root", path("root.pem")),
        ("attestation_metadata_signer", "mds.example".to_owned()),
    ];
    (folder, settings)
}

#[test]
fn attestation_level_is_stored_with_the_passkey() {
    let (any, fips, metadata, unknown) = (
        Rc::new(Maker::of_any_model()),
        Rc::new(Maker::of_any_model()),
        Rc::new(Maker::of_any_model()),
        Rc::new(Maker::of_any_model()),
    );
    let (_folder, settings) = proofs(&any, &fips, &metadata);
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for kind in Kind::ALL {
        let server = &Server::start(kind, &settings);
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let groups = json!(["FIPS_HARDWARE", "HARDWARE", "PLATFORM"]);
        let open = on(json!({ "allowedGroups": groups, "allowPlatformAuthenticators": true }));
        set(server, &admin, &open);
        let by = |maker: &Rc<Maker>| Attests::By(Rc::clone(maker));
        let of_another = Rc::new(Maker::of(Some(bytes(HARDWARE)), 2100));
        let ended = Rc::new(Maker::of(None, 2001));
        let trusted = |aaguid: &'static str, attests: Attests, trust: &str| {
            let mut device = key(aaguid);
            device.attests = attests;
            let (browser, answer) = newcomer(server, &tenant, &mut device);
            assert_eq!(
                (answer.status, &answer.json()["trust"]),
                (200, &json!(trust)),
                "{aaguid}: {}",
                answer.text
            );
            let factors = browser.get("/api/me/factors").json();
            assert_eq!(factors["factors"][0]["trust"], trust);
        };
        trusted(FIPS, Attests::Nothing, "claimed");
        trusted(FIPS, Attests::Oddly, "claimed");
        trusted(FIPS, Attests::Itself, "self");
        trusted(FIPS, by(&unknown), "signed");
        trusted(FIPS, by(&ended), "signed");
        trusted(FIPS, by(&any), "trusted");
        trusted(FIPS, by(&fips), "trusted");
        // A root file named after a model vouches for no other; a certificate listed in the metadata is its own trust
        // anchor.
        trusted(WINDOWS, by(&fips), "signed");
        trusted(WINDOWS, by(&metadata), "trusted");
        // No certificate vouches for a model with a revoked status.
        trusted(HARDWARE, by(&metadata), "signed");
        trusted(HARDWARE, by(&any), "signed");
        // A passkey with an invalid signature, or with an attestation for another model, is not enrolled.
        for attests in [Attests::Falsely, by(&of_another), Attests::U2f(Rc::clone(&fips))] {
            let mut device = key(FIPS);
            device.attests = attests;
            is(&newcomer(server, &tenant, &mut device).1, 401, "FACTOR_INVALID");
        }
        let mut device = key(FIPS);
        device.attests = Attests::Repeatedly(Rc::clone(&any), 9);
        is(&newcomer(server, &tenant, &mut device).1, 400, "INVALID_REQUEST");
        // U2F attests the manufacturer and not the model.
        let mut device = key(NOTHING);
        device.attests = Attests::U2f(Rc::clone(&any));
        let refused = newcomer(server, &tenant, &mut device).1;
        assert_eq!(refused.json()["reason"], "ALLOWLIST_NO_MATCH", "{}", refused.text);

        let proof = on(
            json!({ "allowedGroups": groups, "allowPlatformAuthenticators": true, "requireVerifiedAttestation": true }),
        );
        let impact = admin.post(IMPACT, &proof).json();
        assert_eq!((&impact["enrolled"], &impact["refused"]), (&json!(11), &json!(8)));
        let mut put = set(server, &admin, &proof);
        assert_eq!(put.as_object_mut().unwrap().shift_remove("policy"), Some(proof.clone()));
        assert_eq!(put, impact, "the preview equals the result");
        let mut device = key(FIPS);
        device.attests = by(&unknown);
        let refused = newcomer(server, &tenant, &mut device).1;
        is(&refused, 403, "ATTESTATION_POLICY_BLOCKED");
        assert_eq!(refused.json()["reason"], "ALLOWLIST_NO_MATCH");
        trusted(FIPS, by(&fips), "trusted");
    }
}

#[test]
fn policy_change_reports_passkeys_that_no_longer_comply() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, one) = server.signed_in(&tenant, "one@example.com", Role::Member);
        let (two, other) = server.signed_in(&tenant, "two@example.com", Role::Member);
        let kept = enrol(&one, &mut key(HARDWARE)).json();
        let mut phone = authenticator();
        (phone.aaguid, phone.backup_eligible) = (bytes(GOOGLE), true);
        let copied = enrol(&other, &mut phone).json();
        // Passkeys of another tenant are not listed.
        let neighbour = server.tenant("other");
        assert_eq!(newcomer(server, &neighbour, &mut key(FIPS)).1.status, 200);

        let put = set(server, &admin, &on(json!({ "allowedGroups": ["HARDWARE", "SYNCED"] })));
        assert_eq!((&put["enrolled"], &put["refused"]), (&json!(2), &json!(1)));
        assert_eq!(
            put["passkeys"],
            json!([{
                "id": copied["id"], "userId": two.id.as_str(), "userName": "two@example.com", "name": "Laptop",
                "aaguid": GOOGLE, "trust": "claimed", "reason": "SYNCED_PASSKEY_DENIED",
                "reasons": ["SYNCED_PASSKEY_DENIED", "PLATFORM_AUTHENTICATOR_DENIED"],
            }])
        );
        let of =
            |model: &Value| (model["aaguid"].clone(), model["enrolled"].clone(), model["refused"].clone());
        let models: Vec<_> = put["makes"].as_array().unwrap().iter().map(of).collect();
        assert_eq!(models, [(json!(HARDWARE), json!(1), json!(0)), (json!(GOOGLE), json!(1), json!(1))]);
        assert_eq!(put["makes"][1]["authenticator"]["name"], "Google Password Manager");
        assert_eq!(kept["aaguid"], HARDWARE);

        // The passkey stays valid for sign-in.
        let (_, answer) = crate::api::auth::passkeys::first(&server.browser(), &mut phone);
        assert_eq!(answer.json()["status"], "SIGNED_IN", "{}", answer.text);
    });
}
