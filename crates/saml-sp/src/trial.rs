//! "Test connection": a sign-in that is looked at instead of let in.

use async_trait::async_trait;
use kernel::{Id, Kind, StoreError, Timestamp, UserId};
use serde_json::Value;

use crate::id::ProviderId;

/// Marks ids of trials.
#[derive(Debug, Clone, Copy)]
pub enum OfTrial {}
impl Kind for OfTrial {
    const PREFIX: &'static str = "try";
}
/// `try_…`
pub type TrialId = Id<OfTrial>;

/// One test of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// `try_…`
    pub id: TrialId,
    /// Of which provider.
    pub provider: ProviderId,
    /// Who has asked for it.
    pub user: UserId,
    /// When.
    pub created_at: Timestamp,
    /// Until when an answer is taken, and it is kept.
    pub expires_at: Timestamp,
    /// What came of it, once something did: JSON of the host's.
    pub report: Option<Value>,
}

/// Where trials of one tenant are kept.
#[async_trait]
pub trait TrialStore: Send {
    /// Keeps a new one.
    async fn insert_trial(&mut self, trial: &Trial) -> Result<(), StoreError>;
    /// The one of this id, over or not.
    async fn trial(&mut self, id: &TrialId) -> Result<Option<Trial>, StoreError>;
    /// Keeps what came of it, if nothing has yet: whether it did so.
    async fn report_trial(&mut self, id: &TrialId, report: &Value) -> Result<bool, StoreError>;
}
