//! "Test connection": a sign-in that is looked at instead of let in.

use kernel::{Id, Kind, Timestamp, UserId};
use serde_json::Value;

use crate::id::ProviderId;

/// Marks ids of trials.
#[derive(Debug, Clone, Copy)]
pub enum ConnectionTestKind {}
impl Kind for ConnectionTestKind {
    const PREFIX: &'static str = "try";
}
/// `try_…`
pub type ConnectionTestId = Id<ConnectionTestKind>;

/// One test of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionTest {
    /// `try_…`
    pub id: ConnectionTestId,
    /// Of which provider.
    pub provider: ProviderId,
    /// Who has asked for it.
    pub user: UserId,
    /// When the test was started.
    pub created_at: Timestamp,
    /// Until when an answer is taken, and it is kept.
    pub expires_at: Timestamp,
    /// What came of it, once something did: JSON of the host's.
    pub report: Option<Value>,
}
