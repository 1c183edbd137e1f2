//! Concurrent changes of an SSO connection lock it before its tenant, as a sign-in does. Another order deadlocks on
//! PostgreSQL.

use credentials::SignInStore;
use directory::Role;
use saml_sp::{ProviderId, ProviderStore};
use serde_json::{Value, json};
use store::testing::Kind;
use tokio::sync::oneshot;

use crate::support::{Answer, Browser, Idp, Server, Sink, Tenant, eventually};

const PROVIDERS: &str = "/api/settings/saml-providers";
const PURPOSE: &str = "SSO_PROVIDER_CHANGE";

/// Sends a request while another transaction has locked the connection, and lets that transaction lock the tenant once
/// the request waits.
fn during_change(
    server: &Server,
    tenant: &Tenant,
    id: &ProviderId,
    request: impl FnOnce() -> Answer,
) -> Answer {
    let (locked, is_locked) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    let id = id.clone();
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            server.write(&tenant.id, async move |_, tx| {
                tx.provider(&id).await?;
                locked.send(()).unwrap();
                let _released = released.await;
                tx.sign_in_policy_to_change().await
            });
        });
        is_locked.blocking_recv().unwrap();
        scope.spawn(|| {
            eventually(|| server.waiting_for_locks() > 0);
            release.send(()).unwrap();
        });
        let response = request();
        other.join().unwrap();
        response
    })
}

fn add(server: &Server, browser: &Browser, body: &Value) -> ProviderId {
    let created = server.proved(browser, PURPOSE).post(PROVIDERS, body);
    assert_eq!(created.status, 200, "{}", created.text);
    created.json()["id"].as_str().unwrap().parse().unwrap()
}

#[test]
fn concurrent_changes_of_a_connection_do_not_deadlock() {
    let server = Server::start(Kind::Postgres, &[("webhooks_allow_cidrs", "127.0.0.0/8")]);
    let tenant = server.tenant("acme");
    let (_, browser) = server.signed_in(&tenant, "admin@acme.example", Role::Admin);
    let (idp, sink) = (Idp::new("idp.acme.example"), Sink::start());
    sink.answers("/metadata", 200, "", &idp.metadata());
    let body =
        json!({ "name": "Corp", "emailDomains": ["corp.example"], "metadataUrl": sink.url("/metadata") });
    let id = add(&server, &browser, &body);
    let path = format!("{PROVIDERS}/{id}");
    for action in ["test", "refresh"] {
        let send = || browser.send("POST", &format!("{path}/{action}"), None);
        let response = during_change(&server, &tenant, &id, send);
        assert_eq!(response.status, 200, "{action}: {}", response.text);
    }
    for action in ["rotate-certificate", "rotate-certificate/complete"] {
        let proved = server.proved(&browser, PURPOSE);
        let send = || proved.send("POST", &format!("{path}/{action}"), None);
        let response = during_change(&server, &tenant, &id, send);
        assert_eq!(response.status, 200, "{action}: {}", response.text);
    }
    let proved = server.proved(&browser, PURPOSE);
    let replaced = during_change(&server, &tenant, &id, || proved.put(&path, &body));
    assert_eq!(replaced.status, 200, "{}", replaced.text);
}
