//! The decision whether a token may remove a user.

use kernel::{Ctx, StoreResult};

use super::{HeldRemoval, Removal, RemovalLimit, RemovalState, RemovalStore};
use crate::ScimTokenId;

/// The time over which removals are counted, in milliseconds.
pub const WINDOW: i64 = 3_600_000;

/// The decision about a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The token may remove the user.
    Admitted,
    /// The removal is held, because this request exceeds the limit and pauses the token's removals.
    Paused {
        /// How many users the token has removed within the last hour.
        removed: u64,
        /// The limit.
        limit: RemovalLimit,
    },
    /// The removal is held, because the token's removals were paused before.
    Held,
}

/// Decides whether a token may remove a user now, and records the removal or holds it. Commit the unit of work in either
/// case. A revoked token may not remove anybody.
pub async fn admit(
    ctx: &Ctx,
    store: &mut dyn RemovalStore,
    token: &ScimTokenId,
    removal: &Removal,
) -> StoreResult<Admission> {
    // Nobody depends on a user who is younger than the window, and those who try a directory delete what they created.
    if ctx.now < removal.created.plus_millis(WINDOW) {
        return Ok(Admission::Admitted);
    }
    let limit = store.removal_limit().await?;
    let Some(state) = store.removal_state(token).await? else { return Ok(Admission::Held) };
    let held = HeldRemoval { user: removal.user.clone(), kind: removal.kind, at: ctx.now };
    if state.paused_at.is_some() {
        store.hold_removal(token, &held).await?;
        return Ok(Admission::Held);
    }
    if limit.enabled {
        let before = store.count_removals(token, &removal.user, ctx.now.plus_millis(-WINDOW)).await?;
        let removed_users = before + u64::from(!removal.was_active);
        if before >= u64::from(limit.users)
            && limit.is_exceeded(before + 1, users_of(ctx, store, token, state, removed_users).await?)
        {
            store.hold_removal(token, &held).await?;
            let paused = RemovalState { paused_at: Some(ctx.now), ..RemovalState::default() };
            store.set_removal_state(token, &paused).await?;
            return Ok(Admission::Paused { removed: before, limit });
        }
    }
    store.record_removal(token, &removal.user, ctx.now).await?;
    Ok(Admission::Admitted)
}

/// Returns the number of users from which the share is computed. They are counted once within an hour: those who are
/// active and were created before the window, so that a token cannot raise the number, and the `removed` ones.
async fn users_of(
    ctx: &Ctx,
    store: &mut dyn RemovalStore,
    token: &ScimTokenId,
    state: RemovalState,
    removed: u64,
) -> StoreResult<u64> {
    match state.counted {
        Some((users, at)) if ctx.now < at.plus_millis(WINDOW) => return Ok(users),
        _ => {}
    }
    let users = store.count_active_users(ctx.now.plus_millis(-WINDOW)).await? + removed;
    store.set_removal_state(token, &RemovalState { counted: Some((users, ctx.now)), ..state }).await?;
    Ok(users)
}

/// Ends the pause of a token's removals. With `is_new_window`, the removals so far do not count any more; otherwise the
/// next removal pauses the token again as long as those of the last hour exceed the limit.
pub async fn resume(
    store: &mut dyn RemovalStore,
    token: &ScimTokenId,
    is_new_window: bool,
) -> StoreResult<()> {
    if is_new_window {
        store.forget_removals(token).await?;
    }
    store.set_removal_state(token, &RemovalState::default()).await
}
