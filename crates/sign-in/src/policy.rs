//! Changes of a tenant's sign-in policy.

use audit::{Audited, Event, Unaudited, events::policies::SignInPolicyChanged};
use credentials::{SignInPolicy, SignInStore};
use kernel::{Ctx, StoreResult};

/// Checks a policy, including the names of its scopes. The error begins with the JSON path.
pub fn check(policy: &SignInPolicy) -> Result<(), String> {
    policy.check().map_err(|error| error.to_string())?;
    let scopes = policy.pat.iter().flat_map(|pat| pat.allowed_scopes.iter().flatten());
    for (place, scope) in scopes.enumerate() {
        scope.parse::<tokens::Scope>().map_err(|error| format!("pat.allowedScopes[{place}]: {error}"))?;
    }
    Ok(())
}

/// Saves the tenant's policy. Without `pat`, the settings for personal access tokens stay unchanged.
pub async fn change<S: SignInStore>(
    ctx: &Ctx,
    store: &mut S,
    mut policy: SignInPolicy,
) -> StoreResult<Audited<SignInPolicy>> {
    let before = store.sign_in_policy_to_change().await?;
    policy.pat = policy.pat.or_else(|| before.pat.clone());
    let changed = policy.changed_from(&before);
    if changed.is_empty() {
        return Ok(Audited::without(policy, Unaudited::NothingChanged));
    }
    store.set_sign_in_policy(&policy).await?;
    let event = Event::new(ctx.tenant.as_str(), &SignInPolicyChanged { changed });
    Ok(Audited::new(policy, event))
}
