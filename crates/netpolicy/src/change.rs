//! Changes to a policy that cannot lock everybody out by mistake.

use std::net::IpAddr;

use kernel::{Ctx, Id};

use crate::{Decision, Mode, NetworkPolicyStore, Policy, Rule, RuleId, Settings, Surface, error::Error};

/// Maximum number of rules per tenant.
pub const MAX_RULES: usize = 5_000;
/// Maximum number of characters of a label.
pub const MAX_LABEL: usize = 100;

/// The administrator who changes a policy.
#[derive(Debug, Clone, Copy)]
pub struct Editor {
    /// The administrator's address; `None` if unknown.
    pub address: Option<IpAddr>,
    /// Whether the administrator has confirmed that the change may block their own address.
    pub acknowledged: bool,
}

/// Refuses a change that lets nobody in, or that newly blocks the editor's own address without confirmation.
fn guard(by: Editor, before: &Policy, after: &Policy, rules: usize) -> Result<(), Error> {
    let settings = after.settings();
    if settings.mode == Mode::Allowlist && rules == 0 && !settings.admin_bypass {
        return Err(Error::Lockout);
    }
    let may = |policy: &Policy, surface| policy.decide(by.address, surface, true).decision == Decision::Allow;
    let shuts_out = |surface: &Surface| may(before, *surface) && !may(after, *surface);
    if !by.acknowledged && Surface::ALL.iter().any(shuts_out) {
        return Err(Error::CallerNotCovered);
    }
    Ok(())
}

/// Changes the settings and returns the previous ones.
pub async fn set(
    store: &mut dyn NetworkPolicyStore,
    by: Editor,
    settings: Settings,
) -> Result<Settings, Error> {
    let before = store.network_settings_to_change().await?;
    if settings == before {
        return Ok(before);
    }
    let rules = store.network_rules().await?;
    guard(by, &Policy::new(before, &rules), &Policy::new(settings, &rules), rules.len())?;
    store.set_network_settings(&settings).await?;
    Ok(before)
}

/// Adds a rule. An additional range never blocks anybody, so no lockout check is necessary.
pub async fn add(
    ctx: &Ctx,
    store: &mut dyn NetworkPolicyStore,
    cidr: &str,
    label: &str,
) -> Result<Rule, Error> {
    let (cidr, label) = (cidr.parse()?, checked(label)?);
    store.network_settings_to_change().await?;
    let rule = Rule { id: Id::new(&*ctx.env), cidr, label, created_at: ctx.now };
    let full = store.count_network_rules().await? >= MAX_RULES;
    if full && !store.network_rules().await?.iter().any(|other| other.cidr == cidr) {
        return Err(Error::TooMany);
    }
    if full || !store.insert_network_rule(&rule).await? {
        return Err(Error::Duplicate(cidr));
    }
    Ok(rule)
}

/// Changes the label of a rule. Returns the rule, and whether the label is different.
pub async fn rename(
    store: &mut dyn NetworkPolicyStore,
    id: &RuleId,
    label: &str,
) -> Result<(Rule, bool), Error> {
    let label = checked(label)?;
    store.network_settings_to_change().await?;
    let before = store.network_rule(id).await?.ok_or(Error::NotFound)?;
    let changed = before.label != label;
    let rule = Rule { label, ..before };
    if changed {
        store.rename_network_rule(&rule).await?;
    }
    Ok((rule, changed))
}

/// Removes a rule and returns it.
pub async fn remove(store: &mut dyn NetworkPolicyStore, by: Editor, id: &RuleId) -> Result<Rule, Error> {
    let settings = store.network_settings_to_change().await?;
    let mut rules = store.network_rules().await?;
    let before = Policy::new(settings, &rules);
    let place = rules.iter().position(|rule| rule.id == *id).ok_or(Error::NotFound)?;
    let removed = rules.remove(place);
    guard(by, &before, &Policy::new(settings, &rules), rules.len())?;
    store.delete_network_rule(id).await?;
    Ok(removed)
}

fn checked(label: &str) -> Result<String, Error> {
    let label = label.trim();
    let good = !label.is_empty() && label.chars().count() <= MAX_LABEL && !label.contains(char::is_control);
    if good { Ok(label.to_owned()) } else { Err(Error::Label) }
}
