//! Groups that sign-ins name, and the settings of SSO connections for accounts.

use audit::{
    Audited, Event, Unaudited,
    events::roles::{ConnectionAccountsChanged, RoleGiven, RoleRuleDeleted},
};
use directory::{ConnectionAccountStore, ConnectionAccounts, RoleRule, RuleSource, kept_groups};
use kernel::{Ctx, StoreResult, UserId};
use saml_sp::ProviderId;

/// Keeps the groups that a sign-in named, if the connection names a claim for them. The user gets and loses the roles of
/// rules for them at once.
pub(super) async fn keep_groups<S: ConnectionAccountStore>(
    ctx: &Ctx,
    store: &mut S,
    (provider, user): (&ProviderId, &UserId),
    named: impl FnOnce(&str) -> Vec<String> + Send,
) -> StoreResult<Vec<Event>> {
    let provider = provider.as_str();
    let Some(claim) = store.connection_accounts(provider).await?.groups_claim else { return Ok(Vec::new()) };
    let rules = store.rules_of_connection(provider).await?;
    let ruled: Vec<(String, &RoleRule)> = rules
        .iter()
        .filter_map(|rule| match &rule.source {
            RuleSource::Claim { value, .. } => Some((value.clone(), rule)),
            RuleSource::Group(_) => None,
        })
        .collect();
    let values: Vec<&str> = ruled.iter().map(|(value, _)| value.as_str()).collect();
    let named = named(&claim);
    let kept = kept_groups(named.iter().map(String::as_str), &values);
    let changed = store.replace_claimed_groups(user, provider, &kept).await?;
    let mut events = Vec::new();
    for (value, rule) in &ruled {
        let (gained, lost) = (changed.joined.contains(value), changed.left.contains(value));
        if gained || lost {
            let data = RoleGiven {
                role: rule.role.to_string(),
                gained: u64::from(gained),
                lost: u64::from(lost),
                users: vec![user.to_string()],
            };
            events.push(Event::new(rule.id.as_str(), &data));
        }
    }
    if !events.is_empty() {
        store.revoke_step_ups(user, ctx.now).await?;
    }
    Ok(events)
}

/// Sets what sign-ins through a connection do with accounts. If another claim names the groups, those that earlier
/// sign-ins named give no roles any more.
pub async fn change_accounts<S: ConnectionAccountStore>(
    ctx: &Ctx,
    store: &mut S,
    provider: &ProviderId,
    accounts: ConnectionAccounts,
) -> StoreResult<Audited<ConnectionAccounts>> {
    let before = store.connection_accounts(provider.as_str()).await?;
    if before == accounts {
        return Ok(Audited::without(accounts, Unaudited::NothingChanged));
    }
    let mut events = Vec::new();
    if before.groups_claim != accounts.groups_claim {
        let ended = store.drop_claimed_groups(provider.as_str(), ctx.now).await?;
        for (rule, lost) in ended.into_iter().filter(|(_, lost)| *lost > 0) {
            let data = RoleGiven { role: rule.role.to_string(), gained: 0, lost, users: Vec::new() };
            events.push(Event::new(rule.id.as_str(), &data));
        }
    }
    store.set_connection_accounts(provider.as_str(), &accounts).await?;
    let data = ConnectionAccountsChanged {
        groups_claim: accounts.groups_claim.clone(),
        new_user_role: accounts.creation.as_ref().map(|creation| creation.role.to_string()),
        new_user_domains: accounts.creation.as_ref().map(|creation| creation.email_domains.clone()),
    };
    let event = Event::new(provider.as_str(), &data);
    Ok(Audited::new(accounts, event).with(events))
}

/// Ends the roles that rules give for groups of a connection, which is about to be removed with its rules.
pub(super) async fn end_roles<S: ConnectionAccountStore>(
    ctx: &Ctx,
    store: &mut S,
    provider: &ProviderId,
) -> StoreResult<Vec<Event>> {
    let ended = store.drop_claimed_groups(provider.as_str(), ctx.now).await?;
    let deleted = |(rule, lost): (RoleRule, u64)| {
        let value = match rule.source {
            RuleSource::Claim { value, .. } => value,
            RuleSource::Group(group) => group.to_string(),
        };
        let data = RoleRuleDeleted {
            role: rule.role.to_string(),
            source: format!("{provider} {value}"),
            lost,
            users: Vec::new(),
        };
        Event::new(rule.id.as_str(), &data)
    };
    Ok(ended.into_iter().map(deleted).collect())
}
