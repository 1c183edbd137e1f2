//! Changes of a tenant's sign-in policy and network policy.

use audit::{
    Audited, Event, Unaudited,
    events::policies::{NetworkPolicyChanged, SignInPolicyChanged},
};
use credentials::{SignInPolicy, SignInStore};
use kernel::{Ctx, StoreResult};
use netpolicy::{Editor, NetworkPolicyStore, Settings};

/// Checks a policy, including the names of its scopes. The error begins with the JSON path.
pub fn check_policy(policy: &SignInPolicy) -> Result<(), String> {
    policy.check().map_err(|error| error.to_string())?;
    let scopes = policy.pat.iter().flat_map(|pat| pat.allowed_scopes.iter().flatten());
    for (place, scope) in scopes.enumerate() {
        scope.parse::<tokens::Scope>().map_err(|error| format!("pat.allowedScopes[{place}]: {error}"))?;
    }
    Ok(())
}

/// Saves the tenant's policy. Without `pat`, the settings for personal access tokens stay unchanged.
pub async fn change_policy<S: SignInStore>(
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

/// Saves the settings of the tenant's network policy. The rules stay.
pub async fn change_network_policy<S: NetworkPolicyStore>(
    ctx: &Ctx,
    store: &mut S,
    by: Editor,
    settings: Settings,
) -> Result<Audited<Settings>, netpolicy::Error> {
    let before = netpolicy::set(store, by, settings).await?;
    let changed: Vec<_> = settings.changed_from(&before).into_iter().map(str::to_owned).collect();
    if changed.is_empty() {
        return Ok(Audited::without(settings, Unaudited::NothingChanged));
    }
    Ok(Audited::new(settings, Event::new(ctx.tenant.as_str(), &NetworkPolicyChanged { changed })))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use credentials::PatPolicy;
    use kernel::{Actor, ManualEnv, TenantId};

    use super::*;
    use crate::MemoryStore;

    #[tokio::test]
    async fn limits_of_tokens_stay_without_pat_and_scopes_are_checked() {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"));
        let mut store = MemoryStore::new(&ctx.tenant);
        let pat = |scope: &str| PatPolicy { max_days: Some(30), allowed_scopes: Some(vec![scope.into()]) };
        let limited = SignInPolicy { pat: Some(pat("read:profile")), ..SignInPolicy::default() };
        assert_eq!(check_policy(&limited), Ok(()));
        let (_, events) = change_policy(&ctx, &mut store, limited.clone()).await.unwrap().into_parts();
        assert_eq!(events.len(), 1);
        let (kept, events) =
            change_policy(&ctx, &mut store, SignInPolicy::default()).await.unwrap().into_parts();
        assert_eq!((kept, events.len()), (limited, 0));
        let unknown = SignInPolicy { pat: Some(pat("read:all")), ..SignInPolicy::default() };
        assert!(check_policy(&unknown).unwrap_err().starts_with("pat.allowedScopes[0]: "));
    }
}
