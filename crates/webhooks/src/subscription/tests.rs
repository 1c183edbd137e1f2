use std::sync::Arc;

use kernel::{Actor, ManualEnv, TenantId};
use serde_json::{Value, from_value, json, to_value};

use super::*;
use crate::{MemoryQueue, MemorySubscriptions};

const URL: &str = "https://one.example/";

/// The subscriptions of a tenant.
struct Desk {
    env: Arc<ManualEnv>,
    ctx: Ctx,
    store: MemorySubscriptions,
    guard: AddressGuard,
    keys: SecretKeys,
}

impl Desk {
    fn new() -> Self {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        let store = MemoryQueue::default().of(&tenant);
        let ctx = Ctx::new(env.clone(), tenant, Actor::system("test"));
        let guard = AddressGuard::new(Vec::new(), false);
        Self { env, ctx, store, guard, keys: SecretKeys::sample() }
    }

    fn wait(&mut self, millis: i64) {
        self.env.advance_millis(millis);
        self.ctx.now = self.ctx.env.now();
    }

    async fn create(&mut self, body: Value) -> Result<Subscription, Error> {
        let new = from_value(body).unwrap();
        let created = create(&self.ctx, &mut self.store, (&self.guard, &self.keys), new).await?;
        Ok(created.0)
    }

    async fn change(
        &mut self,
        id: &SubscriptionId,
        body: Value,
    ) -> Result<(Subscription, Vec<&'static str>), Error> {
        let asked = from_value(body).unwrap();
        change(&self.ctx, &mut self.store, &self.guard, id, asked).await
    }

    async fn rotate(&mut self, id: &SubscriptionId, hours: u32) -> Result<Subscription, Error> {
        Ok(rotate(&self.ctx, &mut self.store, &self.keys, id, hours).await?.0)
    }

    async fn complete(&mut self, id: &SubscriptionId) -> Result<Subscription, Error> {
        complete_rotation(&self.ctx, &mut self.store, id).await
    }
}

#[tokio::test]
async fn a_new_webhook_is_enabled_and_receives_all_events() {
    let mut desk = Desk::new();
    let created = desk.create(json!({ "name": "One", "url": "HTTPS://One.example" })).await.unwrap();
    assert_eq!((created.name.as_str(), created.url.as_str()), ("One", URL));
    assert_eq!((created.enabled, created.ordered, created.disabled_reason), (true, false, None));
    assert_eq!((created.created_at, created.updated_at), (desk.ctx.now, desk.ctx.now));
    assert!(created.wants("ANYTHING") && created.require_enabled().is_ok());
    assert_eq!((created.secrets.current.number, &created.secrets.previous), (1, &None));
    assert_eq!(find(&mut desk.store, &created.id).await.unwrap(), created);
    assert_eq!(remove(&mut desk.store, &created.id).await.unwrap(), created);
    assert!(matches!(find(&mut desk.store, &created.id).await, Err(Error::NotFound)));
    assert!(matches!(remove(&mut desk.store, &created.id).await, Err(Error::NotFound)));
}

#[tokio::test]
async fn names_urls_and_filters_are_checked() {
    let mut desk = Desk::new();
    let longest = "é".repeat(100);
    for (name, is_accepted) in [
        ("a", true),
        (longest.as_str(), true),
        ("", false),
        (" a", false),
        ("a ", false),
        ("a\u{7}b", false),
        (&"a".repeat(101), false),
    ] {
        let created = desk.create(json!({ "name": name, "url": URL })).await;
        assert_eq!(created.is_ok(), is_accepted, "{name}");
        assert!(is_accepted || matches!(created, Err(Error::Name)));
    }
    let refused = desk.create(json!({ "name": "a", "url": "http://one.example/" })).await;
    assert!(matches!(refused, Err(Error::Url(_))));
    let refused = desk.create(json!({ "name": "a", "url": "https://10.0.0.1/" })).await;
    assert!(matches!(refused, Err(Error::NotPublic)));
    let filters = |count| vec!["A_*"; count];
    let new = |filters: Vec<&str>| json!({ "name": "a", "url": URL, "eventFilters": filters });
    assert_eq!(desk.create(new(filters(50))).await.unwrap().event_filters.len(), 50);
    assert!(matches!(desk.create(new(filters(51))).await, Err(Error::Filters)));
    let refused = desk.create(new(vec!["A_*", "A-B"])).await;
    assert!(matches!(refused, Err(Error::Filter { index: 1, .. })));
}

#[tokio::test]
async fn a_tenant_has_at_most_a_hundred_webhooks() {
    let mut desk = Desk::new();
    let new = || json!({ "name": "a", "url": URL });
    for _ in 0..100 {
        desk.create(new()).await.unwrap();
    }
    assert!(matches!(desk.create(new()).await, Err(Error::TooMany)));
}

#[tokio::test]
async fn filters_decide_what_is_received() {
    let mut desk = Desk::new();
    let new = json!({ "name": "a", "url": URL, "eventFilters": ["ACCOUNT_USER_*", "X"] });
    let created = desk.create(new).await.unwrap();
    assert!(created.wants("ACCOUNT_USER_CREATED") && created.wants("X") && !created.wants("Y"));
    let idle = created.idle_filters(&["ACCOUNT_USER_CREATED", "Y"]).map(EventFilter::as_str);
    assert_eq!(idle.collect::<Vec<_>>(), ["X"]);
}

#[tokio::test]
async fn a_change_names_what_it_changed() {
    let mut desk = Desk::new();
    let created = desk.create(json!({ "name": "a", "url": URL })).await.unwrap();
    desk.wait(1);
    let same = json!({ "name": "a", "url": URL, "eventFilters": [], "ordered": false, "enabled": true });
    for body in [json!({}), same] {
        assert_eq!(desk.change(&created.id, body).await.unwrap(), (created.clone(), Vec::new()));
    }
    let other = json!({
        "name": "b",
        "url": "https://two.example/",
        "eventFilters": ["X"],
        "ordered": true,
        "enabled": false,
    });
    let (changed, names) = desk.change(&created.id, other).await.unwrap();
    assert_eq!(names, ["name", "url", "eventFilters", "ordered", "enabled"]);
    assert_eq!((changed.name.as_str(), changed.url.as_str()), ("b", "https://two.example/"));
    assert!(changed.ordered && !changed.enabled && !changed.wants("Y"));
    assert!(matches!(changed.require_enabled(), Err(Error::Disabled)));
    assert_eq!((changed.created_at, changed.updated_at), (created.created_at, desk.ctx.now));
    assert_eq!(find(&mut desk.store, &created.id).await.unwrap(), changed);
    for wrong in [json!({ "name": "" }), json!({ "url": "x" }), json!({ "eventFilters": ["-"] })] {
        assert!(desk.change(&created.id, wrong).await.is_err());
    }
    assert!(from_value::<SubscriptionChange>(json!({ "name": null })).is_err());
    assert!(from_value::<SubscriptionChange>(json!({ "secret": "x" })).is_err());
}

#[tokio::test]
async fn a_webhook_is_disabled_once_until_it_is_enabled_again() {
    let mut desk = Desk::new();
    let id = desk.create(json!({ "name": "a", "url": URL })).await.unwrap().id;
    desk.wait(1);
    let gone = DisabledReason::Gone;
    let disabled = disable(&desk.ctx, &mut desk.store, &id, gone).await.unwrap().unwrap();
    assert_eq!((disabled.enabled, disabled.disabled_reason), (false, Some(gone)));
    assert_eq!(disabled.updated_at, desk.ctx.now);
    assert_eq!(find(&mut desk.store, &id).await.unwrap(), disabled);
    assert!(disable(&desk.ctx, &mut desk.store, &id, DisabledReason::Failing).await.unwrap().is_none());
    let unknown = SubscriptionId::new(&*desk.env);
    assert!(disable(&desk.ctx, &mut desk.store, &unknown, gone).await.unwrap().is_none());
    let (renamed, _) = desk.change(&id, json!({ "name": "b" })).await.unwrap();
    assert_eq!(renamed.disabled_reason, Some(gone));
    let (enabled, names) = desk.change(&id, json!({ "enabled": true })).await.unwrap();
    assert_eq!((enabled.disabled_reason, names), (None, vec!["enabled"]));
}

#[tokio::test]
async fn both_secrets_sign_until_a_rotation_is_over_or_completed() {
    let mut desk = Desk::new();
    let created = desk.create(json!({ "name": "a", "url": URL })).await.unwrap();
    let id = created.id.clone();
    assert!(matches!(desk.complete(&id).await, Err(Error::NoRotation)));
    assert!(matches!(desk.rotate(&id, 169).await, Err(Error::Overlap)));
    desk.wait(1);
    let rotated = desk.rotate(&id, 168).await.unwrap();
    let until = desk.ctx.now.plus_millis(168 * 3_600_000);
    let previous = PreviousSecret { generation: created.secrets.current.clone(), until };
    assert_eq!((rotated.secrets.current.number, &rotated.secrets.previous), (2, &Some(previous)));
    assert_eq!(rotated.updated_at, desk.ctx.now);
    assert_eq!(find(&mut desk.store, &id).await.unwrap(), rotated);
    assert!(matches!(desk.rotate(&id, 1).await, Err(Error::RotationUnderWay)));

    desk.wait(1);
    let completed = desk.complete(&id).await.unwrap();
    assert_eq!((completed.secrets.current.number, &completed.secrets.previous), (2, &None));
    assert_eq!(completed.updated_at, desk.ctx.now);
    assert_eq!(find(&mut desk.store, &id).await.unwrap(), completed);

    desk.rotate(&id, 1).await.unwrap();
    let leaked = desk.rotate(&id, 0).await.unwrap();
    assert_eq!((leaked.secrets.current.number, &leaked.secrets.previous), (4, &None), "it stops at once");

    desk.rotate(&id, 1).await.unwrap();
    desk.wait(3_600_000);
    assert!(matches!(desk.complete(&id).await, Err(Error::NoRotation)), "the overlap is over");
    assert_eq!(desk.rotate(&id, 1).await.unwrap().secrets.current.number, 6);
}

#[test]
fn a_rotation_overlaps_for_a_day_unless_it_says_otherwise() {
    assert_eq!(from_value::<Rotation>(json!({})).unwrap().overlap_hours, 24);
    assert_eq!(Rotation::default().overlap_hours, 24);
    assert_eq!(from_value::<Rotation>(json!({ "overlapHours": 0 })).unwrap().overlap_hours, 0);
}

#[test]
fn codes_of_reasons_are_those_of_their_json() {
    for reason in [DisabledReason::Gone, DisabledReason::Failing] {
        assert_eq!(to_value(reason).unwrap(), reason.as_str());
        assert_eq!(DisabledReason::read(reason.as_str()), Some(reason));
    }
    assert_eq!(DisabledReason::read("gone"), None);
}
