//! What is kept of a policy.

use async_trait::async_trait;
use kernel::StoreResult;

use crate::{Rule, RuleId, Settings};

/// Where one tenant's policy is kept. One unit of work goes through one of these.
#[async_trait]
pub trait NetworkPolicyStore: Send {
    /// What the tenant has set; the default where it never has.
    async fn network_settings(&mut self) -> StoreResult<Settings>;
    /// The same, held until the end of the unit of work: whoever else changes settings or rules comes before or after.
    async fn network_settings_to_change(&mut self) -> StoreResult<Settings>;
    /// Keeps what the tenant has set.
    async fn set_network_settings(&mut self, settings: &Settings) -> StoreResult<()>;
    /// What the tenant has set and its rules, oldest first, as they were at one moment.
    async fn network_policy(&mut self) -> StoreResult<(Settings, Vec<Rule>)>;
    /// The rules, oldest first.
    async fn network_rules(&mut self) -> StoreResult<Vec<Rule>>;
    /// The rule with this id.
    async fn network_rule(&mut self, id: &RuleId) -> StoreResult<Option<Rule>>;
    /// How many rules there are.
    async fn count_network_rules(&mut self) -> StoreResult<usize>;
    /// Keeps a new rule; `false` where its range is another's already.
    async fn insert_network_rule(&mut self, rule: &Rule) -> StoreResult<bool>;
    /// Keeps the label of a rule.
    async fn rename_network_rule(&mut self, rule: &Rule) -> StoreResult<()>;
    /// Takes a rule away.
    async fn delete_network_rule(&mut self, id: &RuleId) -> StoreResult<()>;
}
