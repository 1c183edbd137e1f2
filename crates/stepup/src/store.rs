//! What is kept of challenges and tokens.

use std::net::IpAddr;

use async_trait::async_trait;
use kernel::{Id, Kind, StoreResult, Timestamp, UserId};
use serde_json::Value;

use crate::Factor;

/// Marks ids of challenges.
#[derive(Debug, Clone, Copy)]
pub enum ChallengeKind {}
impl Kind for ChallengeKind {
    const PREFIX: &'static str = "sch";
}
/// `sch_…`
pub type ChallengeId = Id<ChallengeKind>;

/// Marks ids of tokens.
#[derive(Debug, Clone, Copy)]
pub enum GrantKind {}
impl Kind for GrantKind {
    const PREFIX: &'static str = "sup";
}
/// `sup_…`
pub type GrantId = Id<GrantKind>;

/// A question that waits for its answer, in one session and for one purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct Challenge {
    /// `sch_…`
    pub id: ChallengeId,
    /// Who was asked.
    pub user: UserId,
    /// In which session.
    pub session: String,
    /// The purpose's name.
    pub purpose: String,
    /// With what it may be answered.
    pub factors: Vec<Factor>,
    /// What the ceremony has to remember.
    pub state: Value,
    /// When it was asked.
    pub created_at: Timestamp,
    /// How many answers were wrong.
    pub wrong_answers: i64,
}

/// What is kept of a token: its text is with the client alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// `sup_…`
    pub id: GrantId,
    /// Who gave the proof.
    pub user: UserId,
    /// In which session.
    pub session: String,
    /// The purpose's name.
    pub purpose: String,
    /// Factor type that was proved.
    pub factor: Factor,
    /// Client address that the token is bound to.
    pub ip: IpAddr,
    /// When the token was issued.
    pub issued_at: Timestamp,
    /// From when on it is good for nothing.
    pub expires_at: Timestamp,
}

/// What became of an attempt to use a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consumption {
    /// It is used now, by this attempt and no other.
    Now,
    /// Another was first.
    Already,
    /// It was taken back, or was never there.
    Revoked,
}

/// Where one tenant's challenges and tokens are kept. One unit of work goes through one of these.
#[async_trait]
pub trait StepUpStore: Send {
    /// Keeps a new challenge, and of those in its session the `live` newest: the others are forgotten.
    async fn insert_challenge(&mut self, challenge: &Challenge, live: i64) -> StoreResult<()>;
    /// The challenge of this id, held until the end of the unit of work.
    async fn challenge(&mut self, id: &ChallengeId) -> StoreResult<Option<Challenge>>;
    /// Writes the number of wrong answers.
    async fn count_wrong_answer(&mut self, challenge: &Challenge) -> StoreResult<()>;
    /// Takes a challenge away: whether it was there. Of several who try at once one is told `true`.
    async fn take_challenge(&mut self, id: &ChallengeId) -> StoreResult<bool>;
    /// Keeps a new token.
    async fn insert_grant(&mut self, grant: &Grant) -> StoreResult<()>;
    /// Uses a token up, by one conditional statement: of several who try at once one is told [`Consumption::Now`].
    async fn consume_grant(&mut self, id: &GrantId, at: Timestamp) -> StoreResult<Consumption>;
    /// The freshest token of a person for a purpose that is neither used, taken back nor expired.
    async fn freshest_grant(
        &mut self,
        user: &UserId,
        purpose: &str,
        now: Timestamp,
    ) -> StoreResult<Option<Grant>>;
    /// Takes back what a person has not used, and forgets the challenges: how many tokens that were.
    async fn revoke_grants(&mut self, user: &UserId, at: Timestamp) -> StoreResult<usize>;
}
