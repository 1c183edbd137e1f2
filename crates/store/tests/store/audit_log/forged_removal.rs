//! Attempts of someone with SQL access to make the operator's removal delete other entries.

use audit::{
    Audited, Unaudited,
    log::{Finding, GROUP, Removal, Retention, RetentionStore, Statement, VerifyStore, removable},
};
use data_encoding::BASE64;
use kernel::{Ctx, StoreError, StoreResult, Timestamp};
use store::Tx;

use crate::{
    audit_log::{behind, declare, keys, read, record, retain, sealed, verified},
    support::{World, on_both},
};

/// Sets the retention at the given time.
async fn retain_at(world: &World, days: u32, at: Timestamp) {
    let set = async move |ctx: &Ctx, tx: &mut Tx| {
        let retention = Retention { days: Some(days), at };
        let note = retention.sign(ctx.tenant.as_str(), &keys()).unwrap();
        tx.set_retention(&retention, &note).await
    };
    world.change(&world.ctx().tenant, set).await.unwrap();
}

/// Builds the removal of the first two groups, as the command line would.
async fn removal_of_512(world: &World, days: u32) -> Removal {
    let (tenant, now) = (world.ctx().tenant, world.env.now());
    let checkpoints = keys().of(tenant.as_str());
    let look = async move |tx: &mut Tx| removable(tx, tenant.as_str(), &checkpoints, 0, now).await;
    let old = read(world, look).await.unwrap();
    assert_eq!(old.before, 2 * GROUP);
    let root = BASE64.encode(&old.root);
    Removal { from: 0, before: old.before, root, newest: old.newest, days, at: now }
}

/// Runs one removal.
async fn removed(world: &World) -> StoreResult<u64> {
    let remove = async |ctx: &Ctx, tx: &mut Tx| {
        let removed = tx.remove_declared(&keys().of(ctx.tenant.as_str())).await?;
        Ok::<_, StoreError>(Audited::without(removed, Unaudited::Announced))
    };
    world.store.write(world.ctx(), remove).await
}

async fn entries_left(world: &World) -> usize {
    let rows = read(world, async |tx: &mut Tx| tx.sealed(0, 600).await).await;
    rows.iter().filter(|row| row.entry.is_some()).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn replayed_retention_is_found_and_not_in_force() {
    on_both(async |world: World| {
        record(&world, 0..600).await;
        sealed(&world).await;
        let now = world.env.now();
        retain_at(&world, 1, now.plus_millis(-2000)).await;
        retain_at(&world, 36_500, now.plus_millis(-1000)).await;
        let copy = |number: u64, of: u64| {
            format!(
                "INSERT INTO audit_statements SELECT tenant_id, kind, {number}, created_at, note FROM audit_statements \
                 WHERE kind = 'retention' AND number = {of}"
            )
        };
        let out_of_order =
            |number: u64| Finding::OutOfOrder { statement: format!("retention setting {number}") };
        world.raw(&copy(99, 0)).await;
        assert_eq!(verified(&world, Vec::new()).await.findings, [out_of_order(99)]);
        // A copy of the newest statement changes nothing, but is found too.
        world.raw(&copy(100, 1)).await;
        assert_eq!(verified(&world, Vec::new()).await.findings, [out_of_order(99), out_of_order(100)]);
        // A removal based on the replayed retention counts as early.
        declare(&world, &removal_of_512(&world, 1).await).await;
        let found = verified(&world, Vec::new()).await.findings;
        assert!(found.contains(&Finding::RemovedEarly { from: 0, to: 512 }), "{found:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_declaration_removes_nothing() {
    on_both(async |world: World| {
        record(&world, 0..600).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        let row = format!("INSERT INTO audit_drops VALUES ('{tenant}', 9999999, '2026-01-01 00:00:00')");
        world.raw(&row).await;
        assert_eq!((removed(&world).await.unwrap(), entries_left(&world).await), (0, 600));
        let found = verified(&world, Vec::new()).await.findings;
        assert_eq!(found, [Finding::NotSigned { statement: "the removal before 9999999".into() }]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_entries_that_a_signed_removal_covers_are_removed() {
    on_both(async |world: World| {
        record(&world, 0..600).await;
        sealed(&world).await;
        retain(&world, Some(1)).await;
        declare(&world, &removal_of_512(&world, 1).await).await;
        // Swap an entry that stays with one that is removed.
        let tenant = world.ctx().tenant;
        let rows = read(&world, async |tx: &mut Tx| tx.sealed(0, 600).await).await;
        let place = |at: usize, id: &str| {
            format!(
                "UPDATE audit_sealed SET entry_id = '{id}' WHERE tenant_id = '{tenant}' AND sequence = {at};"
            )
        };
        let swap = [place(3, "aside"), place(590, &rows[3].id), place(3, &rows[590].id)].concat();
        behind(&world, &swap).await;
        let before = entries_left(&world).await;
        assert!(removed(&world).await.is_err());
        assert_eq!(entries_left(&world).await, before);
        let back = [place(3, "aside"), place(590, &rows[590].id), place(3, &rows[3].id)].concat();
        behind(&world, &back).await;
        assert_eq!(removed(&world).await.unwrap(), 512);
        assert_eq!(verified(&world, Vec::new()).await.count, 0);
    })
    .await;
}
