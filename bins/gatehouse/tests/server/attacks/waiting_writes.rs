//! The attacker's write waits for a database lock while their credential loses permissions. Only PostgreSQL runs
//! several writes concurrently.

use directory::{PeopleStore, Person, Role};
use kernel::{Ctx, StoreResult, UserId};
use serde_json::json;
use sessions::{SessionId, SessionStore};
use store::{Tx, testing::Kind};
use tokio::sync::oneshot;

use crate::support::{Browser, Server, Tenant, eventually};

/// Runs `act` while another transaction locks the tenant's row. Returns its status after that transaction has made its
/// change and committed.
fn while_waiting(
    server: &Server,
    tenant: &Tenant,
    change: impl AsyncFnOnce(&Ctx, &mut Tx) -> StoreResult<bool> + Send + 'static,
    act: impl Fn() -> (u16, serde_json::Value),
) -> (u16, serde_json::Value) {
    let (locked, is_locked) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            server.write(&tenant.id, async move |ctx, tx| {
                credentials::SignInStore::sign_in_policy_to_change(tx).await?;
                locked.send(()).unwrap();
                let _asked = released.await;
                change(ctx, tx).await
            });
        });
        is_locked.blocking_recv().unwrap();
        scope.spawn(|| {
            eventually(|| server.waiting_for_locks() > 0);
            release.send(()).unwrap();
        });
        let answered = act();
        other.join().unwrap();
        answered
    })
}

/// Changes a user.
fn person(
    id: &str,
    change: impl Fn(&mut Person) + Send + 'static,
) -> impl AsyncFnOnce(&Ctx, &mut Tx) -> StoreResult<bool> + Send + 'static {
    let id: UserId = id.parse().unwrap();
    async move |ctx: &Ctx, tx: &mut Tx| {
        let before = tx.person(&id).await?.unwrap();
        let mut after = Person { updated_at: ctx.now, ..before.clone() };
        change(&mut after);
        tx.update_person(&before, &after).await
    }
}

struct Attack {
    server: Server,
    tenant: Tenant,
    id: String,
    browser: Browser,
}

impl Attack {
    fn new() -> Self {
        let server = Server::start(Kind::Postgres, &[]);
        let tenant = server.tenant("acme");
        let (mallory, browser) = server.signed_in(&tenant, "mallory@example.com", Role::Admin);
        server.signed_in(&tenant, "root@example.com", Role::Admin);
        Self { tenant, id: mallory.id.to_string(), browser, server }
    }

    fn webhook_while(
        &self,
        change: impl AsyncFnOnce(&Ctx, &mut Tx) -> StoreResult<bool> + Send + 'static,
    ) -> (u16, serde_json::Value) {
        let body = json!({ "name": "mine", "url": "https://hooks.example.com/" });
        while_waiting(&self.server, &self.tenant, change, || {
            let answer = self.browser.post("/api/settings/webhooks", &body);
            (answer.status, answer.json())
        })
    }
}

#[test]
fn waiting_write_of_a_demoted_or_disabled_user_is_refused() {
    let attack = Attack::new();
    let (status, answer) = attack.webhook_while(person(&attack.id, |person| person.role = Role::Member));
    assert_eq!((status, &answer["reason"]), (403, &json!("ROLE_REQUIRED")), "{answer}");
    let attack = Attack::new();
    let (status, answer) = attack.webhook_while(person(&attack.id, |person| person.active = false));
    assert_eq!((status, &answer["code"]), (401, &json!("ACCOUNT_DISABLED")), "{answer}");
    // If the user loses no permission, the write succeeds.
    let attack = Attack::new();
    let (status, answer) =
        attack.webhook_while(person(&attack.id, |person| person.title = Some("Root".into())));
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn waiting_write_of_a_session_that_got_another_id_is_refused() {
    let attack = Attack::new();
    let sessions = attack.browser.get("/api/me/sessions").json();
    let id: SessionId = sessions["sessions"][0]["id"].as_str().unwrap().parse().unwrap();
    let (status, answer) = attack.webhook_while(async move |ctx: &Ctx, tx: &mut Tx| {
        let mut session = tx.session(&id).await?.unwrap();
        sessions::renew(ctx, tx, &mut session).await.map(|_| true)
    });
    assert_eq!((status, &answer["code"]), (401, &json!("UNAUTHENTICATED")), "{answer}");
}
