//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{Factor, FactorId, Salt, SignInPolicy, Ticket, attempts::AttemptKey};

/// Where one tenant's factors and recovery codes are kept.
#[async_trait]
pub trait FactorStore: Send {
    /// A person's factors, verified or not, oldest first; held until the end of a unit of work that changes.
    async fn factors(&mut self, user: &UserId) -> StoreResult<Vec<Factor>>;
    /// The person's factor with this WebAuthn credential.
    async fn factor_of_credential(&mut self, credential: &[u8]) -> StoreResult<Option<Factor>>;
    /// Keeps a new factor; `false` when the tenant has one with the same credential.
    async fn insert_factor(&mut self, factor: &Factor) -> StoreResult<bool>;
    /// Writes the name, and when it was verified; with the data and the time of use, as [`Self::record_use`].
    async fn update_factor(&mut self, factor: &Factor) -> StoreResult<()>;
    /// Uses a step of an authenticator app: `false` when it, or a later one, was used before.
    async fn use_step(&mut self, factor: &Factor, step: i64, at: Timestamp) -> StoreResult<bool>;
    /// Writes the signature counter of a passkey and when it was used: no change that needs an audit entry, as what was proved
    /// with it gets one.
    async fn record_use(&mut self, factor: &Factor) -> StoreResult<()>;
    /// Forgets what was begun and not verified.
    async fn drop_pending(&mut self, user: &UserId) -> StoreResult<()>;
    /// Takes a factor away.
    async fn delete_factor(&mut self, user: &UserId, id: &FactorId) -> StoreResult<bool>;
    /// How many recovery codes are unused.
    async fn unused_codes(&mut self, user: &UserId) -> StoreResult<usize>;
    /// Puts these in the place of all there were; none takes them away.
    async fn replace_codes(&mut self, user: &UserId, hashes: &[[u8; 32]]) -> StoreResult<()>;
    /// Uses a code: `false` when it is not there or used. Of several who try at once one is told `true`.
    async fn use_code(&mut self, user: &UserId, hash: &[u8; 32], at: Timestamp) -> StoreResult<bool>;
    /// How many wrong codes of a user came in a row.
    async fn wrong_codes(&mut self, user: &UserId) -> StoreResult<i64>;
    /// Counts one more.
    async fn count_wrong_code(&mut self, user: &UserId) -> StoreResult<()>;
    /// Begins to count from none.
    async fn clear_wrong_codes(&mut self, user: &UserId) -> StoreResult<()>;
}

/// Where one tenant's tickets are kept.
#[async_trait]
pub trait TicketStore: Send {
    /// Keeps a new ticket.
    async fn insert_ticket(&mut self, ticket: &Ticket) -> StoreResult<()>;
    /// The ticket of this hash, held until the end of the unit of work.
    async fn ticket(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Ticket>>;
    /// Takes a ticket away: whether it was there. Of several who try at once one is told `true`.
    async fn take_ticket(&mut self, hash: &[u8; 32]) -> StoreResult<bool>;
    /// Writes its state and its number of wrong answers.
    async fn update_ticket(&mut self, ticket: &Ticket) -> StoreResult<()>;
    /// Takes away those of a person: what they waited for is no longer so.
    async fn drop_tickets(&mut self, user: &UserId) -> StoreResult<()>;
}

/// How well an address is known to have signed a person in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginHistory {
    /// It has before.
    Known,
    /// None has before.
    First,
    /// New for this user, who has signed in from others before.
    New,
}

/// Where one tenant keeps what signing in has to remember.
#[async_trait]
pub trait SignInStore: Send {
    /// The person's password as it was hashed.
    async fn password(&mut self, user: &UserId) -> StoreResult<Option<String>>;
    /// Keeps a password's hash.
    async fn set_password(&mut self, user: &UserId, hash: &str, at: Timestamp) -> StoreResult<()>;
    /// The salt that the passwords of a sign-in address share ([`kernel::Email::key`]): the one that is kept, or this
    /// one from now on.
    async fn password_salt(&mut self, email_key: &str, new: Salt) -> StoreResult<Salt>;
    /// Whether a person has signed in from an address before.
    async fn knows_origin(&mut self, user: &UserId, origin: &str) -> StoreResult<bool>;
    /// Notes that a person signed in from an address, and how well it was known.
    async fn note_origin(&mut self, user: &UserId, origin: &str, at: Timestamp)
    -> StoreResult<OriginHistory>;
    /// Notes that a challenge was answered: `false` when it was before.
    async fn consume_challenge(&mut self, hash: &[u8; 32], until: Timestamp) -> StoreResult<bool>;
    /// The tenant's policy; held until the end of a unit of work that changes.
    async fn sign_in_policy(&mut self) -> StoreResult<SignInPolicy>;
    /// The same, for whoever is about to change it.
    async fn sign_in_policy_to_change(&mut self) -> StoreResult<SignInPolicy>;
    /// Keeps the tenant's policy.
    async fn set_sign_in_policy(&mut self, policy: &SignInPolicy) -> StoreResult<()>;
    /// Deletes the person's password; tells whether there was one.
    async fn delete_password(&mut self, user: &UserId) -> StoreResult<bool>;
    /// What the person is to be told at the next sign-in, the newest first. It stays.
    async fn notices(&mut self, user: &UserId) -> StoreResult<Vec<String>>;
    /// Takes the newest of what the person is to be told: each is told once.
    async fn consume_notice(&mut self, user: &UserId) -> StoreResult<Option<String>>;
    /// Leaves a notice for the next sign-in. A notice of the same text is kept once.
    async fn add_notice(&mut self, user: &UserId, notice: &str) -> StoreResult<()>;
}

/// Where attempts of all tenants are counted.
#[async_trait]
pub trait AttemptStore: Send {
    /// The times under each of these keys, which come in order, in milliseconds, oldest first; held until the end of
    /// the unit of work.
    async fn attempts(&mut self, keys: &[AttemptKey]) -> StoreResult<Vec<Vec<i64>>>;
    /// Keeps the times under each key, which mean nothing any more from its end on.
    async fn record_attempts(&mut self, kept: &[(AttemptKey, Vec<i64>, Timestamp)]) -> StoreResult<()>;
}
