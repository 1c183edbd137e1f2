//! The rules that give roles, and the groups that sign-ins name.

use std::collections::BTreeSet;

use async_trait::async_trait;
use kernel::{GroupId, StoreResult, Timestamp, UserId};

use super::MemoryPeople;
use crate::{
    connection_accounts::{ConnectionAccountStore, ConnectionAccounts, GroupsChanged},
    people::Person,
    permission::Permissions,
    role::{HeldRoles, Role},
    role_rule::{Affected, LISTED, RoleRule, RoleRuleId, RoleRuleStore, RuleChange, RuleEffect, RuleSource},
};

impl MemoryPeople {
    /// Returns the groups that a person is a member of.
    pub(super) fn groups_of(&self, person: &Person) -> Vec<GroupId> {
        let has = self.groups.iter().filter(|(_, members)| members.contains(&person.id));
        has.map(|(group, _)| group.clone()).collect()
    }

    /// Whether a rule with this source gives its role to the person.
    fn applies(&self, source: &RuleSource, person: &Person) -> bool {
        match source {
            RuleSource::Group(group) => {
                self.groups.get(group).is_some_and(|members| members.contains(&person.id))
            }
            RuleSource::Claim { provider, value } => {
                self.claimed.contains(&(person.id.clone(), provider.clone(), value.clone()))
            }
        }
    }

    /// Returns the roles of a person, not counting one rule.
    pub(super) fn roles_of(&self, person: &Person, except: Option<&RoleRuleId>) -> HeldRoles {
        let rules = self.rules.iter().filter(|rule| Some(&rule.id) != except);
        let given: Vec<Role> =
            rules.filter(|rule| self.applies(&rule.source, person)).map(|rule| rule.role.clone()).collect();
        let held = given.iter().chain([&person.role]);
        let own = held.filter_map(|role| match role {
            Role::Own(id) => self.roles.iter().find(|own| own.id == *id),
            _ => None,
        });
        let permissions = own.fold(Permissions::NONE, |all, role| all.union(role.permissions));
        HeldRoles::new(person.role.clone(), given, permissions)
    }

    /// Returns the people who have a role by this source, and otherwise not.
    fn affected(&self, source: &RuleSource, role: &Role, except: Option<&RoleRuleId>) -> Affected {
        let has_it = |person: &&Person| self.roles_of(person, except).iter().any(|held| held == role);
        let mut people: Vec<_> = self.people.iter().filter(|person| self.applies(source, person)).collect();
        people.retain(|person| !has_it(person));
        people.sort_by(|one, other| one.id.cmp(&other.id));
        let first = people.iter().take(LISTED).map(|person| person.id.clone()).collect();
        Affected { count: people.len() as u64, first }
    }
}

#[async_trait]
impl RoleRuleStore for MemoryPeople {
    async fn role_rules(&mut self) -> StoreResult<Vec<RoleRule>> {
        let mut rules = self.rules.clone();
        rules.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(rules)
    }

    async fn role_rule(&mut self, id: &RoleRuleId) -> StoreResult<Option<RoleRule>> {
        Ok(self.rules.iter().find(|rule| rule.id == *id).cloned())
    }

    async fn has_source(&mut self, source: &RuleSource) -> StoreResult<bool> {
        Ok(match source {
            RuleSource::Group(group) => self.groups.contains_key(group),
            RuleSource::Claim { provider, .. } => self.connections.contains_key(provider),
        })
    }

    async fn insert_role_rule(&mut self, rule: &RoleRule) -> StoreResult<bool> {
        let is_new = self.rules.iter().all(|kept| (&kept.source, &kept.role) != (&rule.source, &rule.role));
        if is_new {
            self.rules.push(rule.clone());
        }
        Ok(is_new)
    }

    async fn delete_role_rule(&mut self, id: &RoleRuleId) -> StoreResult<()> {
        self.rules.retain(|rule| rule.id != *id);
        Ok(())
    }

    async fn effect_of(&mut self, change: &RuleChange) -> StoreResult<RuleEffect> {
        let gain = change
            .add
            .as_ref()
            .map(|(source, role)| self.affected(source, role, change.remove.as_ref().map(|rule| &rule.id)));
        let lose = change.remove.as_ref().map(|rule| self.affected(&rule.source, &rule.role, Some(&rule.id)));
        Ok(RuleEffect { gain: gain.unwrap_or_default(), lose: lose.unwrap_or_default() })
    }

    async fn revoke_grants_of(&mut self, _: &RuleSource, _: Timestamp) -> StoreResult<()> {
        Ok(())
    }
}

#[async_trait]
impl ConnectionAccountStore for MemoryPeople {
    async fn connection_accounts(&mut self, provider: &str) -> StoreResult<ConnectionAccounts> {
        Ok(self.connections.get(provider).cloned().unwrap_or_default())
    }

    async fn set_connection_accounts(
        &mut self,
        provider: &str,
        accounts: &ConnectionAccounts,
    ) -> StoreResult<()> {
        self.connections.insert(provider.to_owned(), accounts.clone());
        Ok(())
    }

    async fn rules_of_connection(&mut self, provider: &str) -> StoreResult<Vec<RoleRule>> {
        let is_of = |rule: &&RoleRule| match &rule.source {
            RuleSource::Claim { provider: of, .. } => of == provider,
            RuleSource::Group(_) => false,
        };
        Ok(self.rules.iter().filter(is_of).cloned().collect())
    }

    async fn revoke_step_ups(&mut self, _: &UserId, _: Timestamp) -> StoreResult<()> {
        Ok(())
    }

    async fn drop_claimed_groups(
        &mut self,
        provider: &str,
        _: Timestamp,
    ) -> StoreResult<Vec<(RoleRule, u64)>> {
        let mut lost = Vec::new();
        for rule in self.rules_of_connection(provider).await? {
            let count = self.affected(&rule.source, &rule.role, Some(&rule.id)).count;
            lost.push((rule, count));
        }
        self.claimed.retain(|(_, of, _)| of != provider);
        Ok(lost)
    }

    async fn replace_claimed_groups(
        &mut self,
        user: &UserId,
        provider: &str,
        groups: &[String],
    ) -> StoreResult<GroupsChanged> {
        let of_user = self.claimed.iter().filter(|(of, by, _)| of == user && by == provider);
        let before: BTreeSet<String> = of_user.map(|(_, _, group)| group.clone()).collect();
        let after: BTreeSet<String> = groups.iter().cloned().collect();
        self.claimed.retain(|(of, by, _)| of != user || by != provider);
        let named = after.iter().map(|group| (user.clone(), provider.to_owned(), group.clone()));
        self.claimed.extend(named);
        Ok(GroupsChanged {
            joined: after.difference(&before).cloned().collect(),
            left: before.difference(&after).cloned().collect(),
        })
    }
}
