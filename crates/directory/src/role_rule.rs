//! Rules that give a role to the members of a group, or to the people whose sign-in names a group.
//!
//! A rule adds to a person's assigned role and never takes it. So the last administrator, and the accounts for
//! emergencies, keep their role whatever a directory says: only an assigned ADMIN counts as the last one.

use async_trait::async_trait;
use kernel::{Ctx, GroupId, Id, Kind, StoreResult, Timestamp, UserId};

use crate::{
    error::Error,
    own_role::{RoleStore, require_assignable},
    role::{HeldRoles, Role},
};

/// Maximum number of rules in a tenant.
pub const MAX_RULES: usize = 200;
/// Maximum number of characters in the name of a group that a sign-in names.
pub const CLAIMED_GROUP_MAX: usize = 256;
/// Number of people that an effect lists.
pub const LISTED: usize = 200;

/// The kind of [`RoleRuleId`].
#[derive(Debug, Clone, Copy)]
pub enum RoleRuleKind {}
impl Kind for RoleRuleKind {
    const PREFIX: &'static str = "rrl";
}
/// `rrl_…`
pub type RoleRuleId = Id<RoleRuleKind>;

/// The users who get the role of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSource {
    /// The members of a group that SCIM manages.
    Group(GroupId),
    /// The people whose last sign-in through an SSO connection named this group.
    Claim {
        /// The ID of the connection.
        provider: String,
        /// The group as the identity provider names it, compared exactly.
        value: String,
    },
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRule {
    /// `rrl_…`
    pub id: RoleRuleId,
    /// The users who get the role.
    pub source: RuleSource,
    /// The role.
    pub role: Role,
    /// Creation time.
    pub created_at: Timestamp,
}

/// A rule to add, one to remove, or one that replaces another.
#[derive(Debug, Clone, Default)]
pub struct RuleChange {
    /// The rule to add.
    pub add: Option<(RuleSource, Role)>,
    /// The rule to remove.
    pub remove: Option<RoleRule>,
}

/// People whose roles change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affected {
    /// Their number.
    pub count: u64,
    /// At most [`LISTED`] of them.
    pub first: Vec<UserId>,
}

/// Who gains and who loses a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleEffect {
    /// The people who get the role of the added rule and do not have it otherwise.
    pub gain: Affected,
    /// The people who lose the role of the removed rule because they do not have it otherwise.
    pub lose: Affected,
}

/// Stores one tenant's rules.
#[async_trait]
pub trait RoleRuleStore: RoleStore {
    /// Returns the rules, ordered by id.
    async fn role_rules(&mut self) -> StoreResult<Vec<RoleRule>>;
    /// Returns the rule with this id. Locks the row in a unit of work that writes.
    async fn role_rule(&mut self, id: &RoleRuleId) -> StoreResult<Option<RoleRule>>;
    /// Returns whether the tenant has the group, or the connection.
    async fn has_source(&mut self, source: &RuleSource) -> StoreResult<bool>;
    /// Inserts a rule. Returns `false` if there is one for the same source and role.
    async fn insert_role_rule(&mut self, rule: &RoleRule) -> StoreResult<bool>;
    /// Deletes a rule.
    async fn delete_role_rule(&mut self, id: &RoleRuleId) -> StoreResult<()>;
    /// Returns who would gain and who would lose a role.
    async fn effect_of(&mut self, change: &RuleChange) -> StoreResult<RuleEffect>;
    /// Revokes the unused step-up tokens of all users with a role by the rule.
    async fn revoke_grants_of(&mut self, source: &RuleSource, at: Timestamp) -> StoreResult<()>;
}

async fn checked<S: RoleRuleStore>(
    store: &mut S,
    by: &HeldRoles,
    source: &RuleSource,
    role: &Role,
) -> Result<(), Error> {
    if let RuleSource::Claim { value, .. } = source {
        let fits = (1..=CLAIMED_GROUP_MAX).contains(&value.chars().count());
        if !fits || value.trim() != value || value.chars().any(char::is_control) {
            return Err(Error::ClaimedGroup);
        }
    }
    if *role == Role::Member {
        return Err(Error::RuleForMember);
    }
    if !store.has_source(source).await? {
        return Err(Error::NoSuchSource);
    }
    require_assignable(store, by, role).await
}

/// Returns who would gain and who would lose a role if the rule replaced the one with the given ID.
pub async fn preview_rule<S: RoleRuleStore>(
    store: &mut S,
    by: &HeldRoles,
    add: Option<(RuleSource, Role)>,
    remove: Option<&RoleRuleId>,
) -> Result<RuleEffect, Error> {
    if let Some((source, role)) = &add {
        checked(store, by, source, role).await?;
    }
    let remove = match remove {
        Some(id) => Some(store.role_rule(id).await?.ok_or(Error::NotFound)?),
        None => None,
    };
    Ok(store.effect_of(&RuleChange { add, remove }).await?)
}

/// Creates a rule. It is in force from the next request on.
pub async fn create_rule<S: RoleRuleStore>(
    ctx: &Ctx,
    store: &mut S,
    by: &HeldRoles,
    source: RuleSource,
    role: Role,
) -> Result<(RoleRule, RuleEffect), Error> {
    checked(store, by, &source, &role).await?;
    if store.role_rules().await?.len() >= MAX_RULES {
        return Err(Error::TooManyRules);
    }
    let change = RuleChange { add: Some((source.clone(), role.clone())), remove: None };
    let effect = store.effect_of(&change).await?;
    let rule = RoleRule { id: RoleRuleId::new(&*ctx.env), source, role, created_at: ctx.now };
    if !store.insert_role_rule(&rule).await? {
        return Err(Error::RuleExists);
    }
    store.revoke_grants_of(&rule.source, ctx.now).await?;
    Ok((rule, effect))
}

/// Replaces the source and the role of a rule, and returns it as it was before and as it is now.
pub async fn replace_rule<S: RoleRuleStore>(
    ctx: &Ctx,
    store: &mut S,
    by: &HeldRoles,
    id: &RoleRuleId,
    (source, role): (RuleSource, Role),
) -> Result<(RoleRule, RoleRule, RuleEffect), Error> {
    let before = store.role_rule(id).await?.ok_or(Error::NotFound)?;
    require_assignable(store, by, &before.role).await?;
    checked(store, by, &source, &role).await?;
    if (&before.source, &before.role) == (&source, &role) {
        return Ok((before.clone(), before, RuleEffect::default()));
    }
    let change = RuleChange { add: Some((source.clone(), role.clone())), remove: Some(before.clone()) };
    let effect = store.effect_of(&change).await?;
    let after = RoleRule { id: id.clone(), source, role, created_at: before.created_at };
    store.delete_role_rule(id).await?;
    if !store.insert_role_rule(&after).await? {
        return Err(Error::RuleExists);
    }
    for source in [&before.source, &after.source] {
        store.revoke_grants_of(source, ctx.now).await?;
    }
    Ok((before, after, effect))
}

/// Deletes a rule, and returns it.
pub async fn delete_rule<S: RoleRuleStore>(
    ctx: &Ctx,
    store: &mut S,
    by: &HeldRoles,
    id: &RoleRuleId,
) -> Result<(RoleRule, RuleEffect), Error> {
    let rule = store.role_rule(id).await?.ok_or(Error::NotFound)?;
    require_assignable(store, by, &rule.role).await?;
    let effect = store.effect_of(&RuleChange { add: None, remove: Some(rule.clone()) }).await?;
    store.delete_role_rule(id).await?;
    store.revoke_grants_of(&rule.source, ctx.now).await?;
    Ok((rule, effect))
}
