//! Removal of old entries and erasure of addresses.

use audit::{
    Audited, Event, Filter, StoredEntry, Unaudited,
    events::audit_log::AuditAddressesErased,
    follow,
    log::{Checkpoint, Finding, Nodes, Removal, RetentionStore, VerifyStore, inclusion, removable},
};
use kernel::{Ctx, StoreError, TenantId, Timestamp};
use store::Tx;

use super::{behind, declare, keys, read, record, retain, sealed, verified};
use crate::support::{World, on_both};

#[tokio::test(flavor = "multi_thread")]
async fn old_entries_are_removed_and_the_others_stay_provable() {
    on_both(async |world: World| {
        for hundred in 0..10 {
            record(&world, hundred * 100..hundred * 100 + 100).await;
            sealed(&world).await;
        }
        record(&world, 1000..1010).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        let old = async |from: u64| {
            let (name, keys) = (tenant.to_string(), keys().of(tenant.as_str()));
            let time = Timestamp::from_unix_millis(1_700_000_000_000 + 700 * 1000);
            let look = async move |tx: &mut Tx| removable(tx, &name, &keys, from, time).await;
            world.store.read::<_, StoreError>(tenant.clone(), look).await
        };
        let removable = old(0).await.unwrap().unwrap();
        assert_eq!(removable.before, 512, "whole groups");
        // Within a batch, entries are ordered by id.
        let newest = (removable.newest.unix_millis() - 1_700_000_000_000) / 1000;
        assert!((511..600).contains(&newest), "{newest}");
        assert_eq!(old(512).await.unwrap(), None);
        // A changed entry prevents the removal of its group.
        let change = |value: &str| {
            format!(
                "UPDATE audit_entries SET actor_id = '{value}' WHERE id = (SELECT entry_id FROM audit_sealed \
                 WHERE tenant_id = '{tenant}' AND sequence = 300)"
            )
        };
        behind(&world, &change("x")).await;
        assert!(old(0).await.is_err());
        behind(&world, &change("usr_1")).await;
        let (note, _) = read(&world, async |tx| tx.newest_checkpoint().await).await.unwrap();
        let known = Checkpoint::read(&note).unwrap();
        let removal = Removal {
            from: 0,
            before: 512,
            root: data_encoding::BASE64.encode(&removable.root),
            newest: removable.newest,
            days: 30,
            at: world.env.now(),
        };
        retain(&world, Some(30)).await;
        for before in [300, 1024] {
            let removal = Removal { before, ..removal.clone() };
            let declare = async move |_: &Ctx, tx: &mut Tx| tx.declare_removal(&removal, "").await;
            assert!(world.change(&tenant, declare).await.is_err(), "only whole groups that are sealed");
        }
        let removal = Removal { at: world.env.now(), ..removal };
        declare(&world, &removal).await;
        // Entries that are declared but not removed yet are verified like the others.
        let halfway = verified(&world, Vec::new()).await;
        assert_eq!((halfway.dropped, halfway.entries, halfway.count), (512, 1010, 0), "{halfway:?}");
        let remove = async |ctx: &Ctx, tx: &mut Tx| {
            let keys = keys().of(ctx.tenant.as_str());
            let removed = tx.remove_declared(&keys).await?;
            Ok::<_, StoreError>(Audited::without(removed, Unaudited::Announced))
        };
        assert_eq!(world.store.write(world.ctx(), remove).await.unwrap(), 512);
        assert_eq!(world.store.write(world.ctx(), remove).await.unwrap(), 0);
        sealed(&world).await;
        let left = verified(&world, vec![known]).await;
        assert_eq!((left.size, left.dropped, left.entries, left.count), (1012, 512, 500, 0), "{left:?}");
        // The remaining entries are still provable, and followers continue with them.
        let page = read(&world, async |tx| follow(tx, &Filter::default(), 0, 5).await).await;
        assert_eq!(page.entries.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [512, 513, 514, 515, 516]);
        let path = async |tx: &mut Tx| inclusion(tx, &mut Nodes::default(), 600, 1012).await;
        assert!(read(&world, path).await.is_some());
        let path = async |tx: &mut Tx| inclusion(tx, &mut Nodes::default(), 100, 1012).await;
        assert_eq!(read(&world, path).await, None);
        // A checkpoint of removed entries cannot be compared, which is reported.
        let lost = Checkpoint { origin: String::new(), size: 100, root: [0; 32] };
        assert_eq!(verified(&world, vec![lost]).await.findings, [Finding::NotCompared { size: 100 }]);
        // An attacker who removes entries and adds only the row in `audit_drops` is detected.
        let forged = format!("INSERT INTO audit_drops VALUES ('{tenant}', 768, '2026-01-01 00:00:00')");
        world.raw(&forged).await;
        world.raw(&format!("DELETE FROM audit_sealed WHERE tenant_id = '{tenant}' AND sequence < 768")).await;
        let found = verified(&world, Vec::new()).await.findings;
        assert!(found.contains(&Finding::Missing { from: 512, to: 768 }), "{found:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn erasing_an_address_keeps_proofs_valid() {
    on_both(async |world: World| {
        record(&world, 0..20).await;
        sealed(&world).await;
        let erase = async |_: &Ctx, tx: &mut Tx| tx.erase_addresses("usr_1").await;
        let declared = async |_: &Ctx, tx: &mut Tx| {
            let entries = tx.erase_addresses("usr_1").await?;
            Ok::<_, StoreError>(Audited::new(entries, Event::new("usr_1", &AuditAddressesErased { entries })))
        };
        assert_eq!(world.store.write(world.ctx(), declared).await.unwrap(), 20);
        assert_eq!(world.change(&world.ctx().tenant, erase).await.unwrap(), 0);
        let found = verified(&world, Vec::new()).await;
        assert_eq!((found.erased, found.count), (20, 0));
        // An erasure without a declaration is detected, whether the entries are sealed or not.
        record(&world, 20..22).await;
        assert_eq!(world.change(&world.ctx().tenant, erase).await.unwrap(), 2);
        let undeclared = Finding::ErasedUndeclared { actor: "usr_1".into(), erased: 22, declared: 20 };
        assert_eq!(verified(&world, Vec::new()).await.findings, std::slice::from_ref(&undeclared));
        sealed(&world).await;
        assert_eq!(verified(&world, Vec::new()).await.findings, [undeclared]);
        let rows = read(&world, async |tx| tx.sealed(0, 20).await).await;
        let is_gone = |entry: &StoredEntry| entry.ip.is_none() && entry.salt.is_none();
        assert!(rows.iter().all(|row| row.entry.as_ref().is_some_and(is_gone)));
        let other: TenantId = world.other_tenant();
        assert_eq!(world.change(&other, erase).await.unwrap(), 0);
    })
    .await;
}
