//! Searches, seals and proofs of the audit log.

use audit::{
    AuditQueryStore, AuditStore, Entry, Event, EventData, Filter, Position, Span,
    events::users::UserDeactivated,
    follow,
    log::{
        CheckpointKeys, Lease, Nodes, Removal, Retention, RetentionStore, SealPolicy, Statement, VerifyKeys,
        inclusion, removable, seal, verify,
    },
};
use kernel::{Ctx, StoreResult};
use store::Tx;

/// Searches the audit log by each of its indexes.
pub(super) async fn search(ctx: &Ctx, tx: &mut Tx) -> StoreResult<()> {
    let position = Position { timestamp: ctx.now, id: "aud_1".into() };
    let text = || Some("x".to_owned());
    let filters = [
        Filter::default(),
        Filter { actor: text(), ..Filter::default() },
        Filter { actions: Some(vec!["A".into()]), ..Filter::default() },
        Filter { actions: Some(vec!["A".into(), "B".into()]), resource_type: text(), ..Filter::default() },
        Filter { resource_id: text(), text: text(), ..Filter::default() },
        Filter { actor: text(), actions: Some(vec!["A".into(), "B".into()]), ..Filter::default() },
        Filter { from: Some(ctx.now), to: Some(ctx.now), text: text(), ..Filter::default() },
    ];
    for filter in &filters {
        for after in [None, Some(&position)] {
            tx.entries(filter, Span { after, until: None }, 10).await?;
            tx.entries(filter, Span { after, until: Some(&position) }, 10).await?;
            let range = Filter { text: None, resource_type: None, ..filter.clone() };
            if range.actions.as_ref().is_none_or(|actions| actions.len() == 1) {
                tx.further(&range, after, 10).await?;
            }
        }
    }
    Ok(())
}

/// Seals, proves, verifies, removes and erases audit entries.
pub(super) async fn run(ctx: &Ctx, tx: &mut Tx) -> StoreResult<()> {
    let keys = CheckpointKeys::derive(
        &kernel::MasterKeys::new(vec![("test".to_owned(), kernel::Secret::new(vec![7; 32]))]).unwrap(),
    );
    let lease = Lease { owner: "test".into(), now: ctx.now, until: ctx.now };
    // Enough entries for a subtree.
    let entries: Vec<_> =
        (0..300).map(|_| Entry::new(ctx, Event::new("test", &UserDeactivated {}))).collect();
    tx.append(&entries).await?;
    tx.latest(1).await?;
    let entry_keys = store::testing::entry_keys();
    let policy = SealPolicy { checkpoints: &keys, entries: &entry_keys, accepts_missing_macs: false };
    assert_eq!(seal(tx, policy, &ctx.tenant, &lease, None).await?.count, 300);
    let filter =
        Filter { actor: Some("x".into()), text: Some("x".into()), from: Some(ctx.now), ..Filter::default() };
    for filter in [filter, Filter { actions: Some(vec!["A".into()]), ..Filter::default() }, Filter::default()]
    {
        follow(tx, &filter, 0, 10).await?;
    }
    for action in [None, Some(UserDeactivated::CODE)] {
        assert_eq!(tx.count(action, ctx.now, ctx.now.plus_millis(1), 100).await?, 100);
    }
    tx.position_of(entries[0].id.as_str()).await?;
    tx.entry(entries[0].id.as_str()).await?;
    tx.newest_checkpoint().await?;
    inclusion(tx, &mut Nodes::default(), 10, 300).await?;
    let verifying = keys.of(ctx.tenant.as_str());
    let verifying = VerifyKeys { checkpoints: &verifying, entries: Some(&entry_keys), retired: &[] };
    assert_eq!(verify(tx, ctx.tenant.as_str(), verifying, Vec::new()).await?.count, 0);
    tx.set_retention(&Retention { days: Some(7), at: ctx.now }, "a note").await?;
    tx.retention_days().await?;
    tx.newest_of_action("A").await?;
    let later = ctx.now.plus_millis(1);
    let old = removable(tx, ctx.tenant.as_str(), verifying.checkpoints, 0, later).await?.unwrap();
    let removal = Removal {
        from: 0,
        before: old.before,
        root: data_encoding::BASE64.encode(&old.root),
        newest: old.newest,
        days: 7,
        at: ctx.now,
    };
    let note = removal.sign(ctx.tenant.as_str(), &keys).unwrap();
    tx.declare_removal(&removal, &note).await?;
    assert_eq!(tx.remove_declared(verifying.checkpoints).await?, 256);
    tx.erase_addresses(&ctx.actor.id).await?;
    Ok(())
}
