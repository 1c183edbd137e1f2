//! In-memory storage for tests and for services with a single process.

use async_trait::async_trait;
use kernel::StoreResult;

use crate::{NetworkPolicyStore, Policy, Rule, RuleId, Settings};

/// Keeps everything in memory. The owner's mutex serializes changes.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    settings: Settings,
    rules: Vec<Rule>,
}

impl MemoryStore {
    /// Returns the current policy, ready to decide.
    pub fn policy(&self) -> Policy {
        Policy::new(self.settings, &self.rules)
    }
}

#[async_trait]
impl NetworkPolicyStore for MemoryStore {
    async fn network_settings(&mut self) -> StoreResult<Settings> {
        Ok(self.settings)
    }

    async fn set_network_settings(&mut self, settings: &Settings) -> StoreResult<()> {
        self.settings = *settings;
        Ok(())
    }

    async fn network_rules(&mut self) -> StoreResult<Vec<Rule>> {
        let mut rules = self.rules.clone();
        rules.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(rules)
    }

    async fn insert_network_rule(&mut self, rule: &Rule) -> StoreResult<bool> {
        let is_new = self.rules.iter().all(|other| other.cidr != rule.cidr);
        if is_new {
            self.rules.push(rule.clone());
        }
        Ok(is_new)
    }

    async fn rename_network_rule(&mut self, rule: &Rule) -> StoreResult<()> {
        if let Some(kept) = self.rules.iter_mut().find(|kept| kept.id == rule.id) {
            kept.label.clone_from(&rule.label);
        }
        Ok(())
    }

    async fn delete_network_rule(&mut self, id: &RuleId) -> StoreResult<()> {
        self.rules.retain(|rule| rule.id != *id);
        Ok(())
    }
}
