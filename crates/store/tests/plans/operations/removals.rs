//! Removals of users by SCIM tokens, and dry runs.

use kernel::{Ctx, StoreResult, UserId};
use scim_core::{Group, GroupDraft, MembershipChanges, OverlayChanges, User, UserDraft};
use serde_json::json;
use store::Tx;
use tokens::{
    NewScimToken, ScimTokenId,
    removals::{HeldRemoval, RemovalKind, RemovalLimit, RemovalState, RemovalStore},
};

/// Runs the operations.
pub(super) async fn run(ctx: &Ctx, tx: &mut Tx) -> StoreResult<()> {
    let new = NewScimToken { name: "Entra".into(), create_conflict: false, dry_run: false };
    let (token, _) = tokens::mint(ctx, tx, new).await.unwrap();
    assert_eq!(tx.removal_limit().await?, RemovalLimit::default());
    for percent in [30, 40] {
        let limit = RemovalLimit { enabled: true, percent, users: 5 };
        tx.set_removal_limit(&limit).await?;
        assert_eq!(tx.removal_limit().await?, limit);
    }
    assert_eq!(tx.removal_state(&token.id).await?, Some(RemovalState::default()));
    let state = RemovalState { counted: Some((7, ctx.now)), ..RemovalState::default() };
    tx.set_removal_state(&token.id, &state).await?;
    assert_eq!(tx.removal_state(&token.id).await?, Some(state));
    tx.count_active_users(ctx.now).await?;

    let mut users: Vec<_> = (0..3).map(|_| UserId::new(&*ctx.env)).collect();
    users.sort();
    for user in users.iter().chain(&users) {
        tx.record_removal(&token.id, user, ctx.now).await?;
    }
    assert_eq!(tx.count_removals(&token.id, &users[0], ctx.now.plus_millis(-1)).await?, 2);
    assert_eq!(tx.count_removals(&token.id, &users[0], ctx.now).await?, 0);
    tx.forget_removals(&token.id).await?;
    for (user, kind) in [
        (&users[0], RemovalKind::Delete),
        (&users[1], RemovalKind::Deactivate),
        (&users[2], RemovalKind::Deactivate),
        (&users[0], RemovalKind::Deactivate),
    ] {
        tx.hold_removal(&token.id, &HeldRemoval { user: user.clone(), kind, at: ctx.now }).await?;
    }
    assert_eq!(tx.count_held_removals(&token.id).await?, 3);
    let first = tx.held_removals(&token.id, None, 1).await?;
    assert_eq!(first, [HeldRemoval { user: users[0].clone(), kind: RemovalKind::Delete, at: ctx.now }]);
    assert_eq!(tx.held_removals(&token.id, Some(&users[0]), 9).await?.len(), 2);
    tx.drop_held_removal(&token.id, &users[1]).await?;
    assert_eq!(tx.count_held_removals(&token.id).await?, 2);
    dry_run(ctx, tx, &token.id).await?;
    tokens::revoke(ctx, tx, &token.id).await.unwrap();
    assert_eq!(tx.count_held_removals(&token.id).await?, 0, "a revoked token holds nothing");
    assert_eq!(tx.removal_state(&token.id).await?, None);
    Ok(())
}

/// Stores the changes of a dry run.
async fn dry_run(ctx: &Ctx, tx: &mut Tx, token: &ScimTokenId) -> StoreResult<()> {
    let draft = UserDraft::read(&json!({ "userName": "dry@example.com", "title": "Clerk" })).unwrap();
    let user = User::new(ctx, draft).unwrap();
    let group =
        Group::new(ctx, &GroupDraft { display_name: Some("Dry".into()), ..GroupDraft::default() }).unwrap();
    let mut changes = OverlayChanges::default();
    changes.users.insert(user.id.clone(), Some(user.clone()));
    changes.users.insert(UserId::new(&*ctx.env), None);
    changes.groups.insert(group.id.clone(), Some(group.clone()));
    let joined =
        MembershipChanges { joined: [user.id.clone()].into(), left: [UserId::new(&*ctx.env)].into() };
    changes.members.insert(group.id.clone(), joined);
    tx.save_dry_run(token, &OverlayChanges::default(), &changes).await?;
    assert_eq!(tx.dry_run(token).await?, changes);
    let mut later = changes.clone();
    later.groups.insert(group.id.clone(), None);
    later.members.clear();
    tx.save_dry_run(token, &changes, &later).await?;
    assert_eq!(tx.dry_run(token).await?, later);
    Ok(())
}
