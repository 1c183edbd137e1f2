//! Stored challenges and tokens, and the storage trait.

use std::net::IpAddr;

use async_trait::async_trait;
use kernel::{Id, Kind, StoreResult, Timestamp, UserId};
use serde_json::Value;

use crate::Factor;

/// The kind of [`ChallengeId`].
#[derive(Debug, Clone, Copy)]
pub enum ChallengeKind {}
impl Kind for ChallengeKind {
    const PREFIX: &'static str = "sch";
}
/// `sch_…`
pub type ChallengeId = Id<ChallengeKind>;

/// The kind of [`GrantId`].
#[derive(Debug, Clone, Copy)]
pub enum GrantKind {}
impl Kind for GrantKind {
    const PREFIX: &'static str = "sup";
}
/// `sup_…`
pub type GrantId = Id<GrantKind>;

/// A pending challenge, in one session and for one purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct Challenge {
    /// `sch_…`
    pub id: ChallengeId,
    /// The user who has to answer.
    pub user: UserId,
    /// The user's session.
    pub session: String,
    /// The name of the purpose.
    pub purpose: String,
    /// The factors that may answer it.
    pub factors: Vec<Factor>,
    /// State of the ceremony.
    pub state: Value,
    /// When the challenge was issued.
    pub created_at: Timestamp,
    /// Number of wrong answers.
    pub wrong_answers: i64,
}

/// The stored record of a token. Only the client has the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// `sup_…`
    pub id: GrantId,
    /// The user who completed the step-up.
    pub user: UserId,
    /// The user's session.
    pub session: String,
    /// The name of the purpose.
    pub purpose: String,
    /// Factor type that was proved.
    pub factor: Factor,
    /// Client address that the token is bound to.
    pub ip: IpAddr,
    /// When the token was issued.
    pub issued_at: Timestamp,
    /// When the token expires.
    pub expires_at: Timestamp,
}

/// The result of consuming a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consumption {
    /// This call consumed the token.
    Now,
    /// The token had been consumed before.
    Already,
    /// The token was revoked, or never existed.
    Revoked,
}

/// Stores one tenant's challenges and tokens, within one unit of work.
#[async_trait]
pub trait StepUpStore: Send {
    /// Inserts a challenge and deletes the oldest of its session, so that at most `live` remain.
    async fn insert_challenge(&mut self, challenge: &Challenge, live: i64) -> StoreResult<()>;
    /// Returns the challenge with this id, locked until the end of the unit of work.
    async fn challenge(&mut self, id: &ChallengeId) -> StoreResult<Option<Challenge>>;
    /// Updates the number of wrong answers.
    async fn count_wrong_answer(&mut self, challenge: &Challenge) -> StoreResult<()>;
    /// Deletes a challenge. Returns whether it existed. Of concurrent calls, one returns `true`.
    async fn take_challenge(&mut self, id: &ChallengeId) -> StoreResult<bool>;
    /// Inserts the record of a token.
    async fn insert_grant(&mut self, grant: &Grant) -> StoreResult<()>;
    /// Consumes a token by one conditional statement. Of concurrent calls, one returns [`Consumption::Now`].
    async fn consume_grant(&mut self, id: &GrantId, at: Timestamp) -> StoreResult<Consumption>;
    /// Returns the most recent token of a user for a purpose that is neither consumed, revoked nor expired.
    async fn freshest_grant(
        &mut self,
        user: &UserId,
        purpose: &str,
        now: Timestamp,
    ) -> StoreResult<Option<Grant>>;
    /// Revokes a user's unused tokens and deletes their challenges. Returns the number of revoked tokens.
    async fn revoke_grants(&mut self, user: &UserId, at: Timestamp) -> StoreResult<usize>;
}
