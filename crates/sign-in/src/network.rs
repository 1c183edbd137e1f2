//! Enforces the network policy at sign-in.

use std::net::IpAddr;

use audit::{Event, events::policies::NetworkPolicyBlocked};
use directory::{PeopleStore, Person};
use kernel::{Ctx, StoreResult};
use netpolicy::{Decision, NetworkPolicyStore, Policy, Surface};

use crate::error::{Error, NetworkBlocked};

/// Returns whether the tenant's policy lets this person sign in from an address.
pub(crate) async fn allows<S: NetworkPolicyStore + PeopleStore>(
    store: &mut S,
    ip: Option<IpAddr>,
    person: &Person,
) -> StoreResult<bool> {
    if !store.network_settings().await?.looks_at(Surface::SignIn) {
        return Ok(true);
    }
    let is_admin = store.held_roles(person).await?.is_admin();
    allows_role(store, ip, is_admin).await
}

/// Returns whether the tenant's policy lets an administrator, or somebody else, sign in from an address.
pub(crate) async fn allows_role<S: NetworkPolicyStore>(
    store: &mut S,
    ip: Option<IpAddr>,
    is_admin: bool,
) -> StoreResult<bool> {
    let settings = store.network_settings().await?;
    if !settings.looks_at(Surface::SignIn) {
        return Ok(true);
    }
    let policy = Policy::new(settings, &store.network_rules().await?);
    Ok(policy.decide(ip, Surface::SignIn, is_admin).decision == Decision::Allow)
}

/// Refuses a user whose first factor is proved but whose address the tenant's policy blocks.
pub(crate) async fn admit<S: NetworkPolicyStore + PeopleStore>(
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
