//! The storage of transmitters and of the tokens that they have sent.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp};

use super::transmitter::{KeysRead, TransmitterId, TrustedTransmitter};
use crate::ReceivedEvent;

/// Stores a tenant's trusted transmitters.
#[async_trait]
pub trait TransmitterStore: Send {
    /// Returns all transmitters, oldest first.
    async fn transmitters(&mut self) -> StoreResult<Vec<TrustedTransmitter>>;
    /// Returns a transmitter, locked until the end of a unit of work that writes.
    async fn transmitter(&mut self, id: &TransmitterId) -> StoreResult<Option<TrustedTransmitter>>;
    /// Counts the transmitters, and locks their number until the end of the unit of work.
    async fn count_transmitters(&mut self) -> StoreResult<usize>;
    /// Adds a transmitter.
    async fn insert_transmitter(&mut self, transmitter: &TrustedTransmitter) -> StoreResult<()>;
    /// Changes a transmitter.
    async fn update_transmitter(&mut self, transmitter: &TrustedTransmitter) -> StoreResult<()>;
    /// Stores when the keys were read or tried, which needs no audit entry while the keys are the same.
    async fn note_keys_read(&mut self, id: &TransmitterId, keys: &KeysRead) -> StoreResult<()>;
    /// Deletes a transmitter and forgets the tokens that it has sent.
    async fn delete_transmitter(&mut self, id: &TransmitterId) -> StoreResult<()>;
}

/// A received token, as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedToken {
    /// SHA-256 of its ID.
    pub id: [u8; 32],
    /// The state that its event [restores](ReceivedEvent::restores), see [`ReceivedEvent::state_key`].
    pub restored: Option<[u8; 32]>,
    /// When its event happened.
    pub occurred_at: Timestamp,
    /// Until when it is remembered.
    pub until: Timestamp,
}

impl ReceivedToken {
    /// Returns what to remember of the token of an event.
    pub fn of(event: &ReceivedEvent, now: Timestamp) -> Self {
        Self {
            id: event.id_hash(),
            restored: event.state_key().filter(|_| event.restores()),
            occurred_at: event.occurred_at(now),
            until: event.remember_until(),
        }
    }
}

/// Stores which tokens were received.
#[async_trait]
pub trait ReceivedStore: Send {
    /// Remembers a token. Returns `false` if it was received before. Of concurrent calls, one returns `true`.
    async fn remember_token(
        &mut self,
        transmitter: &TransmitterId,
        token: &ReceivedToken,
    ) -> StoreResult<bool>;
    /// Whether an event was received that restored this state after `at`.
    async fn was_restored(
        &mut self,
        transmitter: &TransmitterId,
        state: &[u8; 32],
        at: Timestamp,
    ) -> StoreResult<bool>;
}
