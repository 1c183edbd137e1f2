//! Connection tests: sign-ins that produce a report instead of a session.

use kernel::{Id, Kind, Timestamp, UserId};
use serde_json::Value;

use crate::id::ProviderId;

/// Marks ids of connection tests.
#[derive(Debug, Clone, Copy)]
pub enum ConnectionTestKind {}
impl Kind for ConnectionTestKind {
    const PREFIX: &'static str = "try";
}
/// `try_…`
pub type ConnectionTestId = Id<ConnectionTestKind>;

/// A connection test.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionTest {
    /// `try_…`
    pub id: ConnectionTestId,
    /// The tested provider.
    pub provider: ProviderId,
    /// The user who started the test.
    pub user: UserId,
    /// When the test was started.
    pub created_at: Timestamp,
    /// When the test stops accepting a response and may be purged.
    pub expires_at: Timestamp,
    /// The result as the host's JSON; `None` until there is one.
    pub report: Option<Value>,
}
