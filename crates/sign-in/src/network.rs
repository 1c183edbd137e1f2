//! Enforces the network policy at sign-in.

use audit::{Event, events::policies::NetworkPolicyBlocked};
use directory::{Person, Role};
use kernel::Ctx;
use netpolicy::{Decision, NetworkPolicyStore, Policy, Surface};

use crate::error::{Error, NetworkBlocked};

/// Refuses a user whose first factor is proved but whose address the tenant's policy blocks.
pub(crate) async fn admit<S: NetworkPolicyStore>(
    ctx: &Ctx,
    store: &mut S,
    person: &Person,
) -> Result<(), Error> {
    let settings = store.network_settings().await?;
    if !settings.looks_at(Surface::SignIn) {
        return Ok(());
    }
    let policy = Policy::new(settings, &store.network_rules().await?);
    if policy.decide(ctx.ip, Surface::SignIn, person.role == Role::Admin).decision == Decision::Allow {
        return Ok(());
    }
    let surface = Surface::SignIn.as_str();
    let data = NetworkPolicyBlocked { surface, credential: person.id.to_string(), suppressed: None };
    let event = Event::new(ctx.tenant.as_str(), &data);
    Err(Error::NetworkBlocked(Box::new(NetworkBlocked { ctx: ctx.clone(), event })))
}
