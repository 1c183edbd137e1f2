//! Enforces the network policy at sign-in.

use std::net::IpAddr;

use audit::{Event, events::policies::NetworkPolicyBlocked};
use directory::{Person, Role};
use kernel::{Ctx, StoreResult};
use netpolicy::{Decision, NetworkPolicyStore, Policy, Surface};

use crate::error::{Error, NetworkBlocked};

/// Returns whether the tenant's policy lets this person sign in from an address.
pub(crate) async fn allows<S: NetworkPolicyStore>(
    store: &mut S,
    ip: Option<IpAddr>,
    person: &Person,
) -> StoreResult<bool> {
    let settings = store.network_settings().await?;
    if !settings.looks_at(Surface::SignIn) {
        return Ok(true);
    }
    let policy = Policy::new(settings, &store.network_rules().await?);
    Ok(policy.decide(ip, Surface::SignIn, person.role == Role::Admin).decision == Decision::Allow)
}

/// Refuses a user whose first factor is proved but whose address the tenant's policy blocks.
pub(crate) async fn admit<S: NetworkPolicyStore>(
    ctx: &Ctx,
    store: &mut S,
    person: &Person,
) -> Result<(), Error> {
    if allows(store, ctx.ip, person).await? {
        return Ok(());
    }
    let surface = Surface::SignIn.as_str();
    let data = NetworkPolicyBlocked { surface, credential: person.id.to_string(), suppressed: None };
    let event = Event::new(ctx.tenant.as_str(), &data);
    Err(Error::NetworkBlocked(Box::new(NetworkBlocked { ctx: ctx.clone(), event })))
}
