//! What is kept of a policy.

use async_trait::async_trait;
use kernel::StoreError;

use crate::{Rule, RuleId, Settings};

/// Where one tenant's policy is kept. One unit of work goes through one of these.
#[async_trait]
pub trait NetworkPolicyStore: Send {
    /// What the tenant has set; the default where it never has.
    async fn network_settings(&mut self) -> Result<Settings, StoreError>;
    /// The same, held until the end of the unit of work: whoever else changes settings or rules comes before or after.
    async fn network_settings_to_change(&mut self) -> Result<Settings, StoreError>;
    /// Keeps what the tenant has set.
    async fn set_network_settings(&mut self, settings: &Settings) -> Result<(), StoreError>;
    /// What the tenant has set and its rules, oldest first, as they were at one moment.
    async fn network_policy(&mut self) -> Result<(Settings, Vec<Rule>), StoreError>;
    /// The rules, oldest first.
    async fn network_rules(&mut self) -> Result<Vec<Rule>, StoreError>;
    /// The rule with this id.
    async fn network_rule(&mut self, id: &RuleId) -> Result<Option<Rule>, StoreError>;
    /// How many rules there are.
    async fn count_network_rules(&mut self) -> Result<usize, StoreError>;
    /// Keeps a new rule; `false` where its range is another's already.
    async fn insert_network_rule(&mut self, rule: &Rule) -> Result<bool, StoreError>;
    /// Keeps the label of a rule.
    async fn rename_network_rule(&mut self, rule: &Rule) -> Result<(), StoreError>;
    /// Takes a rule away.
    async fn delete_network_rule(&mut self, id: &RuleId) -> Result<(), StoreError>;
}
