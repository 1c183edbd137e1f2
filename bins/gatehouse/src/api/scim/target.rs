//! The users and groups that a request reads and changes: the tenant's, or those of a dry run.

use std::sync::Arc;

use audit::{Audited, Unaudited};
use gate::{
    access::WorkError,
    permissions::{ScimRead, ScimWrite},
};
use kernel::{Ctx, StoreResult};
use scim_core::{Error, Overlay, OverlayChanges, ScimStore};
use store::{Cost, Tx};
use tokens::ScimToken;

use crate::api::Call;

/// Maximum number of changed users, groups and memberships of a dry run.
pub(crate) const MAX_CHANGES: usize = 1_000;

/// Maximum size of the attributes of a dry run's users in bytes. Each request reads them.
const MAX_SIZE: usize = 2 << 20;

fn size(changes: &OverlayChanges) -> usize {
    changes.users.values().flatten().map(|user| user.attributes.text().len()).sum()
}

/// The users and groups that a request is about.
pub(super) enum Target<'t> {
    /// Those of the tenant.
    Tenant(&'t mut Tx),
    /// Those of the tenant after the changes of a dry run.
    DryRun(Overlay<'t, Tx>),
}

impl Target<'_> {
    /// Returns the users and groups.
    pub(super) fn store(&mut self) -> &mut dyn ScimStore {
        match self {
            Self::Tenant(tx) => *tx,
            Self::DryRun(overlay) => overlay,
        }
    }

    /// Returns the unit of work, except in a dry run, in which changes have no further effects.
    pub(super) fn tx(&mut self) -> Option<&mut Tx> {
        match self {
            Self::Tenant(tx) => Some(tx),
            Self::DryRun(_) => None,
        }
    }
}

/// Runs a search on the users and groups of the caller.
pub(super) async fn search<T: Send + 'static>(
    call: &Call<ScimRead>,
    cost: Cost,
    work: impl AsyncFnOnce(&mut dyn ScimStore) -> Result<T, Error> + Send + 'static,
) -> Result<T, WorkError<Error>> {
    let token = Arc::clone(call.caller());
    // A dry run compares each resource with its changes.
    let cost = if token.dry_run { Cost::Scan } else { cost };
    call.search(cost, async move |_: &Ctx, tx: &mut Tx| match dry_run(tx, &token).await? {
        None => work(tx).await,
        Some(mut changes) => work(&mut Overlay::new(tx, &mut changes)).await,
    })
    .await
}

/// Makes a change with its audit entries, or simulates it in a dry run.
pub(super) async fn change<T: Send + 'static>(
    call: &Call<ScimWrite>,
    work: impl AsyncFnOnce(&Ctx, &mut Target<'_>) -> Result<Audited<T>, Error> + Send + 'static,
) -> Result<T, WorkError<Error>> {
    call.write(on_target(call, work)).await
}

/// Does the same for a change whose work grows with the tenant.
pub(super) async fn change_large<T: Send + 'static>(
    call: &Call<ScimWrite>,
    work: impl AsyncFnOnce(&Ctx, &mut Target<'_>) -> Result<Audited<T>, Error> + Send + 'static,
) -> Result<T, WorkError<Error>> {
    call.write_large(on_target(call, work)).await
}

/// Wraps a change, so that it is made or simulated as the caller's token says.
fn on_target<T: Send + 'static>(
    call: &Call<ScimWrite>,
    work: impl AsyncFnOnce(&Ctx, &mut Target<'_>) -> Result<Audited<T>, Error> + Send + 'static,
) -> impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, Error> + Send + 'static {
    let token = Arc::clone(call.caller());
    async move |ctx: &Ctx, tx: &mut Tx| {
        let Some(before) = dry_run(tx, &token).await? else {
            return work(ctx, &mut Target::Tenant(tx)).await;
        };
        let mut changes = before.clone();
        let simulated = work(ctx, &mut Target::DryRun(Overlay::new(tx, &mut changes))).await?;
        if changes.len() > MAX_CHANGES.max(before.len()) || size(&changes) > MAX_SIZE.max(size(&before)) {
            return Err(Error::TooMany(format!(
                "This dry run has the maximum size: {MAX_CHANGES} changes, or {} MiB. Create another token to start a \
                 new one.",
                MAX_SIZE >> 20
            )));
        }
        tx.save_dry_run(&token.id, &before, &changes).await?;
        let (value, _) = simulated.into_parts();
        Ok(Audited::without(value, Unaudited::Simulated))
    }
}

/// Returns the changes of the token's dry run, if its changes are not made.
async fn dry_run(tx: &mut Tx, token: &ScimToken) -> StoreResult<Option<OverlayChanges>> {
    if token.dry_run { tx.dry_run(&token.id).await.map(Some) } else { Ok(None) }
}
