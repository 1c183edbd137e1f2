//! The storage of a policy.

use async_trait::async_trait;
use kernel::StoreResult;

use crate::{Rule, RuleId, Settings};

/// Stores one tenant's policy, within one unit of work. Methods with a default may be implemented by one statement.
#[async_trait]
pub trait NetworkPolicyStore: Send {
    /// Returns the tenant's settings, or the default if none are stored.
    async fn network_settings(&mut self) -> StoreResult<Settings>;
    /// Stores the tenant's settings.
    async fn set_network_settings(&mut self, settings: &Settings) -> StoreResult<()>;
    /// Returns the rules, oldest first.
    async fn network_rules(&mut self) -> StoreResult<Vec<Rule>>;
    /// Inserts a rule. Returns `false` if another rule has the same range.
    async fn insert_network_rule(&mut self, rule: &Rule) -> StoreResult<bool>;
    /// Updates the label of a rule.
    async fn rename_network_rule(&mut self, rule: &Rule) -> StoreResult<()>;
    /// Deletes a rule.
    async fn delete_network_rule(&mut self, id: &RuleId) -> StoreResult<()>;

    /// Returns the tenant's settings and locks them until the end of the unit of work, which serializes changes to
    /// settings and rules. The default is for stores that run one unit of work at a time.
    async fn network_settings_to_change(&mut self) -> StoreResult<Settings> {
        self.network_settings().await
    }
    /// Returns a consistent snapshot of the settings and the rules, oldest first. The default is for stores that run
    /// one unit of work at a time.
    async fn network_policy(&mut self) -> StoreResult<(Settings, Vec<Rule>)> {
        Ok((self.network_settings().await?, self.network_rules().await?))
    }
    /// Returns the rule with this id.
    async fn network_rule(&mut self, id: &RuleId) -> StoreResult<Option<Rule>> {
        Ok(self.network_rules().await?.into_iter().find(|rule| rule.id == *id))
    }
    /// Returns the number of rules.
    async fn count_network_rules(&mut self) -> StoreResult<usize> {
        Ok(self.network_rules().await?.len())
    }
}
