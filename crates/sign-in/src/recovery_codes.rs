//! Recovery codes, which replace a lost factor.

use audit::{Event, events::credentials::RecoveryCodesGenerated};
use credentials::{FactorStore, recovery};
use kernel::{Ctx, Secret, StoreResult, UserId};

/// Replaces a user's recovery codes by new ones. Returns the codes, which are shown once, and the audit event.
pub async fn generate<S: FactorStore>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
) -> StoreResult<(Vec<Secret<String>>, Event)> {
    let codes = recovery::new_codes(&*ctx.env);
    let hashes: Vec<_> = codes.iter().map(|code| recovery::hash(&ctx.tenant, user, code.expose())).collect();
    store.replace_codes(user, &hashes).await?;
    Ok((codes, Event::new(user.as_str(), &RecoveryCodesGenerated {})))
}
