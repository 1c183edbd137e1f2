//! The storage that the rules need.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{Factor, FactorId, Salt, SignInPolicy, Ticket, attempts::AttemptKey};

/// Stores one tenant's factors and recovery codes.
#[async_trait]
pub trait FactorStore: Send {
    /// Returns a user's factors, verified or not, oldest first. Locks them in a unit of work that writes.
    async fn factors(&mut self, user: &UserId) -> StoreResult<Vec<Factor>>;
    /// Returns the factor with this WebAuthn credential id.
    async fn factor_of_credential(&mut self, credential: &[u8]) -> StoreResult<Option<Factor>>;
    /// Inserts a factor. Returns `false` if the tenant has one with the same credential.
    async fn insert_factor(&mut self, factor: &Factor) -> StoreResult<bool>;
    /// Updates the name, the time of verification, the data and the time of last use.
    async fn update_factor(&mut self, factor: &Factor) -> StoreResult<()>;
    /// Consumes a time step of an authenticator app. Returns `false` if this or a later step was used before.
    async fn use_step(&mut self, factor: &Factor, step: i64, at: Timestamp) -> StoreResult<bool>;
    /// Updates the signature counter and the time of last use of a passkey. This needs no audit entry, because the
    /// act that the passkey has proved gets one.
    async fn record_use(&mut self, factor: &Factor) -> StoreResult<()>;
    /// Deletes enrolments that were not finished.
    async fn drop_pending(&mut self, user: &UserId) -> StoreResult<()>;
    /// Deletes a factor. Returns whether it existed.
    async fn delete_factor(&mut self, user: &UserId, id: &FactorId) -> StoreResult<bool>;
    /// Returns the number of unused recovery codes.
    async fn unused_codes(&mut self, user: &UserId) -> StoreResult<usize>;
    /// Replaces all recovery codes. An empty slice deletes them.
    async fn replace_codes(&mut self, user: &UserId, hashes: &[[u8; 32]]) -> StoreResult<()>;
    /// Consumes a recovery code. Returns `false` if it is unknown or used. Of concurrent calls, one returns `true`.
    async fn use_code(&mut self, user: &UserId, hash: &[u8; 32], at: Timestamp) -> StoreResult<bool>;
    /// Returns the user's number of consecutive wrong codes.
    async fn wrong_codes(&mut self, user: &UserId) -> StoreResult<i64>;
    /// Increments the number of consecutive wrong codes.
    async fn count_wrong_code(&mut self, user: &UserId) -> StoreResult<()>;
    /// Resets the number of consecutive wrong codes.
    async fn clear_wrong_codes(&mut self, user: &UserId) -> StoreResult<()>;
}

/// Stores one tenant's tickets.
#[async_trait]
pub trait TicketStore: Send {
    /// Inserts a ticket.
    async fn insert_ticket(&mut self, ticket: &Ticket) -> StoreResult<()>;
    /// Returns the ticket with this hash, locked until the end of the unit of work.
    async fn ticket(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Ticket>>;
    /// Deletes a ticket. Returns whether it existed. Of concurrent calls, one returns `true`.
    async fn take_ticket(&mut self, hash: &[u8; 32]) -> StoreResult<bool>;
    /// Updates a ticket's state and its number of wrong answers.
    async fn update_ticket(&mut self, ticket: &Ticket) -> StoreResult<()>;
    /// Deletes all of a user's tickets.
    async fn drop_tickets(&mut self, user: &UserId) -> StoreResult<()>;
}

/// Whether an origin has signed a user in before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginHistory {
    /// The origin has signed this user in before.
    Known,
    /// The user's first origin.
    First,
    /// A new origin for a user who has signed in from others.
    New,
}

/// Stores one tenant's passwords, sign-in policy, origins and notices.
#[async_trait]
pub trait SignInStore: Send {
    /// Returns the hash of a user's password.
    async fn password(&mut self, user: &UserId) -> StoreResult<Option<String>>;
    /// Stores the hash of a user's password.
    async fn set_password(&mut self, user: &UserId, hash: &str, at: Timestamp) -> StoreResult<()>;
    /// Replaces the hash of a user's password, which stays the same: the new one has the current cost or salt. Needs no
    /// audit entry.
    async fn renew_password_hash(&mut self, user: &UserId, hash: &str) -> StoreResult<()>;
    /// Returns the salt that the passwords of a sign-in address share ([`kernel::Email::key`]). Stores `new` if there
    /// is none yet.
    async fn password_salt(&mut self, email_key: &str, new: Salt) -> StoreResult<Salt>;
    /// Whether the user has signed in from this origin before.
    async fn knows_origin(&mut self, user: &UserId, origin: &str) -> StoreResult<bool>;
    /// Records that the user signed in from this origin. Returns whether it was known.
    async fn note_origin(&mut self, user: &UserId, origin: &str, at: Timestamp)
    -> StoreResult<OriginHistory>;
    /// Records that a challenge was answered. Returns `false` if it was answered before.
    async fn consume_challenge(&mut self, hash: &[u8; 32], until: Timestamp) -> StoreResult<bool>;
    /// Returns the tenant's policy. Locks it in a unit of work that writes.
    async fn sign_in_policy(&mut self) -> StoreResult<SignInPolicy>;
    /// Returns the tenant's policy, locked for a change.
    async fn sign_in_policy_to_change(&mut self) -> StoreResult<SignInPolicy>;
    /// Stores the tenant's policy.
    async fn set_sign_in_policy(&mut self, policy: &SignInPolicy) -> StoreResult<()>;
    /// Deletes the user's password. Returns whether there was one.
    async fn delete_password(&mut self, user: &UserId) -> StoreResult<bool>;
    /// Returns the notices for the user's next sign-in, newest first, and keeps them.
    async fn notices(&mut self, user: &UserId) -> StoreResult<Vec<String>>;
    /// Removes and returns the newest notice. Each is shown once.
    async fn consume_notice(&mut self, user: &UserId) -> StoreResult<Option<String>>;
    /// Adds a notice for the next sign-in, unless the same text is already stored.
    async fn add_notice(&mut self, user: &UserId, notice: &str) -> StoreResult<()>;
}

/// Stores the attempts of all tenants.
#[async_trait]
pub trait AttemptStore: Send {
    /// Returns the times of attempts in milliseconds, oldest first, for each of these sorted keys. Locks them until
    /// the end of the unit of work.
    async fn attempts(&mut self, keys: &[AttemptKey]) -> StoreResult<Vec<Vec<i64>>>;
    /// Stores the times for each key, with the time at which they expire.
    async fn record_attempts(&mut self, kept: &[(AttemptKey, Vec<i64>, Timestamp)]) -> StoreResult<()>;
}
