//! Refused SCIM requests.

use audit::{Audited, Unaudited};
use kernel::{Ctx, StoreError, TenantId, Timestamp};
use store::Tx;
use tokens::{ScimRefusal, ScimTokenId};

use crate::support::{World, on_both};

fn refusal(token: &ScimTokenId, subject: &str, last_at: Timestamp) -> ScimRefusal {
    ScimRefusal {
        token: token.clone(),
        method: "POST".into(),
        target: "/Users".into(),
        subject: Some(subject.into()),
        status: 409,
        scim_type: Some("uniqueness".into()),
        detail: "userName: is taken".into(),
        times: 1,
        last_at,
    }
}

async fn record(world: &World, tenant: &TenantId, refusals: Vec<ScimRefusal>) {
    let work = async move |_: &Ctx, tx: &mut Tx| {
        tx.record_scim_refusals(&refusals).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::LastUse))
    };
    world.store.write(Ctx { tenant: tenant.clone(), ..world.ctx() }, work).await.unwrap();
}

async fn stored(world: &World, tenant: &TenantId) -> Vec<ScimRefusal> {
    let find = async |tx: &mut Tx| tx.scim_refusals(1_000).await;
    world.store.read(tenant.clone(), find).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_refusals_are_counted_and_only_the_newest_are_kept() {
    on_both(async |world: World| {
        let (tenant, other) = (world.ctx().tenant, world.other_tenant());
        let (token, now) = (ScimTokenId::new(&*world.env), world.ctx().now);
        record(&world, &other, vec![refusal(&token, "neighbour", now)]).await;

        record(&world, &tenant, vec![refusal(&token, "ada", now)]).await;
        record(&world, &tenant, vec![refusal(&token, "ada", now.plus_millis(5))]).await;
        let twice = ScimRefusal { times: 2, ..refusal(&token, "ada", now.plus_millis(5)) };
        assert_eq!(stored(&world, &tenant).await, [twice]);

        let later = |number: i64| now.plus_millis(10 + number);
        let count = i64::try_from(ScimRefusal::KEPT).unwrap();
        let many = (0..count).map(|number| refusal(&token, &number.to_string(), later(number))).collect();
        record(&world, &tenant, many).await;
        let kept = stored(&world, &tenant).await;
        assert_eq!(kept.len(), ScimRefusal::KEPT);
        assert_eq!(kept[0].subject.as_deref(), Some("49"), "newest first");
        assert!(kept.iter().all(|refusal| refusal.subject.as_deref() != Some("ada")));
        assert_eq!(stored(&world, &other).await.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_purged_after_thirty_days() {
    on_both(async |world: World| {
        let (tenant, token, now) = (world.ctx().tenant, ScimTokenId::new(&*world.env), world.ctx().now);
        let days = |count: i64| now.plus_millis(-count * 24 * 3_600_000);
        let both = vec![refusal(&token, "old", days(31)), refusal(&token, "new", days(29))];
        record(&world, &tenant, both).await;
        world.store.purge_expired(&world.env).await.unwrap();
        let left = stored(&world, &tenant).await;
        assert_eq!(left.iter().map(|refusal| refusal.subject.as_deref()).collect::<Vec<_>>(), [Some("new")]);
    })
    .await;
}
