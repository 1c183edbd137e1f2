//! Roles that rules give to the members of groups.

use audit::{
    Event,
    events::roles::{RoleGiven, RoleRuleDeleted},
};
use directory::{LISTED, RoleRule, RoleRuleStore, RuleChange};
use kernel::{Ctx, GroupId, StoreResult, UserId};
use scim_core::MembersChanged;
use store::Tx;

/// Records that the members of a group changed who has which role. Step-up tokens were issued for the previous roles, so
/// unused ones are revoked.
pub(super) async fn after_change(
    ctx: &Ctx,
    tx: &mut Tx,
    group: &GroupId,
    members: &MembersChanged,
) -> StoreResult<Vec<Event>> {
    if members.joined.is_empty() && members.left.is_empty() {
        return Ok(Vec::new());
    }
    let rules = tx.role_rules_of_group(group).await?;
    if !rules.is_empty() {
        tx.revoke_grants_of_users(&members.joined, ctx.now).await?;
        tx.revoke_grants_of_users(&members.left, ctx.now).await?;
    }
    Ok(rules.iter().map(|rule| given(rule, &members.joined, &members.left)).collect())
}

fn given(rule: &RoleRule, joined: &[UserId], left: &[UserId]) -> Event {
    let users = joined.iter().chain(left).take(LISTED).map(UserId::to_string);
    let data = RoleGiven {
        role: rule.role.to_string(),
        gained: joined.len() as u64,
        lost: left.len() as u64,
        users: users.collect(),
    };
    Event::new(rule.id.as_str(), &data)
}

/// Deletes the rules of a group that is about to be deleted.
pub(super) async fn before_deletion(ctx: &Ctx, tx: &mut Tx, group: &GroupId) -> StoreResult<Vec<Event>> {
    let mut events = Vec::new();
    for rule in tx.role_rules_of_group(group).await? {
        let change = RuleChange { add: None, remove: Some(rule.clone()) };
        let lost = tx.effect_of(&change).await?.lose;
        tx.revoke_grants_of(&rule.source, ctx.now).await?;
        tx.delete_role_rule(&rule.id).await?;
        let data = RoleRuleDeleted {
            role: rule.role.to_string(),
            source: group.to_string(),
            lost: lost.count,
            users: lost.first.iter().map(UserId::to_string).collect(),
        };
        events.push(Event::new(rule.id.as_str(), &data));
    }
    Ok(events)
}
