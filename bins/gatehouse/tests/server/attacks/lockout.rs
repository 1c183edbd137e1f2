//! An administrator, or an attacker with their session, tries to leave a tenant without an administrator who can sign
//! in.

use credentials::{SignInMode, SignInStore};
use directory::{PeopleStore, Role};
use serde_json::{Value, json};
use sessions::{Method, Session, SessionStore};

use crate::{
    api::auth::passkeys::enrol,
    support::{
        Answer, Browser, Idp, Person, Server, Tenant, authenticator, ending_in, idp_metadata, on_both,
    },
};

fn refused(answer: &Answer, missing: &str) {
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (409, &json!("LOCKOUT_PROTECTION")),
        "{}",
        answer.text
    );
    assert!(answer.json()["error"].as_str().unwrap().contains(missing), "{}", answer.text);
}

fn set_mode(server: &Server, admin: &Browser, mode: &str) -> Answer {
    let mut policy = admin.get("/api/settings/sign-in-policy").json();
    policy["signInMode"] = json!(mode);
    server.proved(admin, "SIGN_IN_POLICY_CHANGE").put("/api/settings/sign-in-policy", &policy)
}

/// Marks the session as started through an identity provider.
fn by_sso(server: &Server, tenant: &Tenant, browser: &Browser) {
    let id: sessions::SessionId = browser.cookie("as_sid").parse().unwrap();
    server.write(&tenant.id, async move |_, tx| {
        let session = tx.session(&id).await?.unwrap();
        tx.update_session(&Session { methods: vec![Method::Sso], ..session }).await
    });
}

fn break_glass(server: &Server, tenant: &Tenant, person: &Person, on: bool) {
    let id = person.id.clone();
    server.write(&tenant.id, async move |ctx, tx| {
        let before = tx.person(&id).await?.unwrap();
        let after = directory::Person { break_glass: on, updated_at: ctx.now, ..before.clone() };
        tx.update_person(&before, &after).await
    });
}

fn provider(server: &Server, admin: &Browser, domain: &str, metadata: &str) -> String {
    let body = json!({ "name": "Corp", "emailDomains": [domain], "metadataXml": metadata });
    let made = server.proved(admin, "SSO_PROVIDER_CHANGE").post("/api/settings/saml-providers", &body);
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn sso_can_be_required_only_if_an_administrator_can_still_sign_in() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (person, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        refused(&set_mode(server, &admin, "SSO_REQUIRED"), "no SSO connection");
        assert_eq!(admin.get("/api/settings/sign-in-policy").json()["signInMode"], "SSO_ALLOWED");
        // A connection for another domain, or with an expired certificate, is not enough.
        let idp = Idp::new("idp.example.com");
        let other = provider(server, &admin, "elsewhere.example", &idp.metadata());
        refused(&set_mode(server, &admin, "SSO_REQUIRED"), "no SSO connection");
        let ending = ending_in(kernel::Env::now(&*server.env), 1);
        let metadata = idp_metadata("https://ended.example.com", &[&ending]);
        let ended = provider(server, &admin, "example.com", &metadata);
        server.env.advance(std::time::Duration::from_hours(48));
        let admin = server.browser();
        assert_eq!(admin.sign_in(&person.email, person.password).status, 200);
        refused(&set_mode(server, &admin, "SSO_REQUIRED"), "no SSO connection");
        for id in [other, ended] {
            let proved = server.proved(&admin, "SSO_PROVIDER_CHANGE");
            assert_eq!(proved.delete(&format!("/api/settings/saml-providers/{id}")).status, 200);
        }
        // A break-glass administrator is enough.
        break_glass(server, &tenant, &person, true);
        assert_eq!(set_mode(server, &admin, "SSO_REQUIRED").status, 200);
        assert_eq!(set_mode(server, &admin, "SSO_ALLOWED").status, 200);
        break_glass(server, &tenant, &person, false);
        // A working connection is enough.
        let id = provider(server, &admin, "example.com", &idp.metadata());
        let set = set_mode(server, &admin, "SSO_REQUIRED");
        assert_eq!(set.status, 200, "{}", set.text);
        // The connection cannot be removed while it is the only way to sign in. The policy has ended password
        // sessions.
        by_sso(server, &tenant, &admin);
        let path = format!("/api/settings/saml-providers/{id}");
        let proved = server.proved(&admin, "SSO_PROVIDER_CHANGE");
        refused(&proved.delete(&path), "no SSO connection");
        let moved = json!({ "name": "Corp", "emailDomains": ["elsewhere.example"] });
        refused(&proved.put(&path, &moved), "no SSO connection");
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        let own = format!("/api/settings/users/{}", person.id);
        let other_domain = json!({ "email": "admin@elsewhere.example" });
        refused(&proved.send("PATCH", &own, Some(&other_domain)), "no SSO connection");
        let none_left = json!({ "name": "Corp", "emailDomains": ["example.com", "elsewhere.example"] });
        assert_eq!(server.proved(&admin, "SSO_PROVIDER_CHANGE").put(&path, &none_left).status, 200);
    });
}

#[test]
fn last_break_glass_administrator_keeps_access() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (glass, admin) = server.signed_in(&tenant, "glass@example.com", Role::Admin);
        let other = server.person(&tenant, "other@example.com", Role::Admin);
        break_glass(server, &tenant, &glass, true);
        assert_eq!(set_mode(server, &admin, "SSO_REQUIRED").status, 200);
        let act = |method: &str, path: &str, body: Value| {
            let path = format!("/api/settings/users/{}{path}", glass.id);
            server.proved(&admin, "USER_ADMIN_CHANGE").send(
                method,
                &path,
                Some(&body).filter(|body| !body.is_null()),
            )
        };
        let all = |refused: &dyn Fn(&Answer)| {
            refused(&act("PATCH", "", json!({ "active": false })));
            refused(&act("PATCH", "", json!({ "role": "MEMBER" })));
            refused(&act("POST", "/reset-password", json!({})));
            refused(&act("DELETE", "", Value::Null));
        };
        all(&|answer| refused(answer, "break-glass"));
        assert_eq!(admin.get("/api/me").status, 200, "nothing was done");
        // With a second break-glass administrator it is allowed.
        break_glass(server, &tenant, &other, true);
        assert_eq!(act("PATCH", "", json!({ "role": "MEMBER" })).status, 200);
    });
}

#[test]
fn last_usable_administrator_password_cannot_be_removed() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (person, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        assert_eq!(set_mode(server, &admin, "CREDENTIALS_ONLY").status, 200);
        let path = format!("/api/settings/users/{}/reset-password", person.id);
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        refused(&proved.post(&path, &json!({})), "password or a passkey");
        server.policy(&tenant, |policy| policy.sign_in_mode = SignInMode::SsoAllowed);
        let id = person.id.clone();
        server.write(&tenant.id, async move |_, tx| tx.delete_password(&id).await);
        refused(&set_mode(server, &admin, "CREDENTIALS_ONLY"), "password or a passkey");
    });
}

/// Returns a policy that allows only one model, which nobody has.
fn nobodys_model() -> Value {
    json!({
        "mode": "ALLOWLIST",
        "allowedGroups": [],
        "allowedAaguids": ["00000000-0000-0000-0000-0000000000ff"],
        "allowSyncedPasskeys": false,
        "allowPlatformAuthenticators": false,
        "requireVerifiedAttestation": true,
    })
}

#[test]
fn passkeys_can_be_the_only_factor_if_an_administrator_has_or_may_enrol_one() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let attestation = |body: &Value| {
            let proved = server.proved(&admin, "ATTESTATION_POLICY_CHANGE");
            proved.put("/api/settings/attestation-policy", body)
        };
        let only_passkeys = || {
            let mut policy = admin.get("/api/settings/sign-in-policy").json();
            policy["mfa"] =
                json!({ "required": true, "acceptedFactors": ["WEBAUTHN"], "trustSsoMfa": false });
            server.proved(&admin, "SIGN_IN_POLICY_CHANGE").put("/api/settings/sign-in-policy", &policy)
        };
        // Both changes together are refused, in either order.
        assert_eq!(attestation(&nobodys_model()).status, 200);
        refused(&only_passkeys(), "models that may be enrolled");
        assert_eq!(attestation(&json!({ "mode": "OFF", "allowedGroups": [], "allowedAaguids": [], "allowSyncedPasskeys": true, "allowPlatformAuthenticators": true, "requireVerifiedAttestation": false })).status, 200);
        server.policy(&tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.accepted_factors = vec![credentials::FactorKind::Webauthn];
        });
        // Under this policy the administrator must enrol a passkey first.
        let mut device = authenticator();
        assert_eq!(enrol(&admin, &mut device).status, 200);
        assert_eq!(attestation(&nobodys_model()).status, 200, "the administrator has a passkey");
        let me = admin.get("/api/me").json()["id"].as_str().unwrap().to_owned();
        let reset = server.proved(&admin, "USER_ADMIN_CHANGE");
        refused(
            &reset.post(&format!("/api/settings/users/{me}/reset-factors"), &json!({})),
            "models that may be enrolled",
        );
    });
}

#[test]
fn expired_neighbour_session_does_not_count_as_access() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let id: sessions::SessionId = admin.cookie("as_sid").parse().unwrap();
        server.write(&tenant.id, async move |ctx, tx| {
            let session = tx.session(&id).await?.unwrap();
            let idle = ctx.now.plus_millis(-400 * 86_400_000);
            let old = Session {
                id: sessions::SessionId::new(&*ctx.env),
                foreign: Some([7; 32]),
                created_at: idle,
                last_seen_at: idle,
                ..session
            };
            tx.insert_session(&old).await
        });
        refused(&set_mode(server, &admin, "SSO_REQUIRED"), "no SSO connection");
    });
}

#[test]
fn concurrent_removal_of_the_last_two_credentials_keeps_one() {
    on_both(|server| {
        for round in 0..5 {
            let tenant = server.tenant(&format!("acme{round}"));
            let both = ["one", "two"].map(|name| {
                let email = format!("{name}@tenant{round}.example.com");
                let (person, browser) = server.signed_in(&tenant, &email, Role::Admin);
                assert_eq!(enrol(&browser, &mut authenticator()).status, 200);
                let id = person.id.clone();
                server.write(&tenant.id, async move |_, tx| tx.delete_password(&id).await);
                server.proved(&browser, "ACCOUNT_SECURITY_CHANGE")
            });
            let mut answers = std::thread::scope(|scope| {
                both.map(|browser| scope.spawn(move || browser.delete("/api/me/factors")))
                    .map(|one| one.join().unwrap())
            });
            answers.sort_by_key(|answer| answer.status);
            assert_eq!(answers[0].status, 200, "{}", answers[0].text);
            refused(&answers[1], "password or a passkey");
        }
    });
}
