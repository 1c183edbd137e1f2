//! A sign-in between its steps.

use async_trait::async_trait;
use kernel::{StoreError, Timestamp, UserId};
use serde_json::Value;

use crate::{Salt, SignInPolicy};

/// Minutes that a ticket lives.
pub const TICKET_MINUTES: i64 = 10;

/// Wrong answers after which a ticket is dead.
pub const MAX_WRONG_ANSWERS: i64 = 5;

/// What a ticket waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketKind {
    /// A factor of a person whose first one is proved.
    Factor,
    /// The choice between tenants where the password fits.
    TenantChoice,
    /// The answer of an authenticator that is being enrolled.
    PasskeyEnrolment,
}

impl TicketKind {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Factor => "FACTOR",
            Self::TenantChoice => "TENANT_CHOICE",
            Self::PasskeyEnrolment => "PASSKEY_ENROLMENT",
        }
    }

    /// From what is stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Factor, Self::TenantChoice, Self::PasskeyEnrolment]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// What is kept of a ticket. Its text is with the client alone; it is found by the hash of that.
#[derive(Debug, Clone, PartialEq)]
pub struct Ticket {
    /// SHA-256 of its text.
    pub hash: [u8; 32],
    /// What it waits for.
    pub kind: TicketKind,
    /// Whose sign-in it is.
    pub user: UserId,
    /// What the next step needs to know.
    pub state: Value,
    /// When it was made.
    pub created_at: Timestamp,
    /// How many answers were wrong.
    pub wrong_answers: i64,
}

impl Ticket {
    /// A new one.
    pub fn new(hash: [u8; 32], kind: TicketKind, user: UserId, state: Value, now: Timestamp) -> Self {
        Self { hash, kind, user, state, created_at: now, wrong_answers: 0 }
    }

    /// Whether it still waits.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.created_at.plus_millis(TICKET_MINUTES * 60_000) && self.wrong_answers < MAX_WRONG_ANSWERS
    }
}

/// Where one tenant's tickets are kept.
#[async_trait]
pub trait TicketStore: Send {
    /// Keeps a new ticket.
    async fn insert_ticket(&mut self, ticket: &Ticket) -> Result<(), StoreError>;
    /// The ticket of this hash, held until the end of the unit of work.
    async fn ticket(&mut self, hash: &[u8; 32]) -> Result<Option<Ticket>, StoreError>;
    /// Takes a ticket away: whether it was there. Of several who try at once one is told `true`.
    async fn take_ticket(&mut self, hash: &[u8; 32]) -> Result<bool, StoreError>;
    /// Writes its state and its number of wrong answers.
    async fn update_ticket(&mut self, ticket: &Ticket) -> Result<(), StoreError>;
    /// Takes away those of a person: what they waited for is no longer so.
    async fn drop_tickets(&mut self, user: &UserId) -> Result<(), StoreError>;
}

/// How well an address is known to have signed a person in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Familiarity {
    /// It has before.
    Known,
    /// None has before.
    First,
    /// Others have.
    New,
}

/// Where one tenant keeps what signing in has to remember.
#[async_trait]
pub trait SignInStore: Send {
    /// The person's password as it was hashed.
    async fn password(&mut self, user: &UserId) -> Result<Option<String>, StoreError>;
    /// Keeps a password's hash.
    async fn set_password(&mut self, user: &UserId, hash: &str, at: Timestamp) -> Result<(), StoreError>;
    /// The salt that the passwords of a sign-in address share ([`kernel::Email::key`]): the one that is kept, or this
    /// one from now on.
    async fn password_salt(&mut self, email_key: &str, new: Salt) -> Result<Salt, StoreError>;
    /// Whether a person has signed in from an address before.
    async fn knows_origin(&mut self, user: &UserId, origin: &str) -> Result<bool, StoreError>;
    /// Notes that a person signed in from an address, and how well it was known.
    async fn note_origin(
        &mut self,
        user: &UserId,
        origin: &str,
        at: Timestamp,
    ) -> Result<Familiarity, StoreError>;
    /// Notes that a challenge was answered: `false` when it was before.
    async fn spend_challenge(&mut self, hash: &[u8; 32], until: Timestamp) -> Result<bool, StoreError>;
    /// The tenant's policy; held until the end of a unit of work that changes.
    async fn sign_in_policy(&mut self) -> Result<SignInPolicy, StoreError>;
    /// The same, for whoever is about to change it.
    async fn sign_in_policy_to_change(&mut self) -> Result<SignInPolicy, StoreError>;
    /// Keeps the tenant's policy.
    async fn set_sign_in_policy(&mut self, policy: &SignInPolicy) -> Result<(), StoreError>;
    /// Deletes the person's password; tells whether there was one.
    async fn delete_password(&mut self, user: &UserId) -> Result<bool, StoreError>;
    /// What the person is to be told at the next sign-in, the newest first. It stays.
    async fn notices(&mut self, user: &UserId) -> Result<Vec<String>, StoreError>;
    /// Takes the newest of what the person is to be told: each is told once.
    async fn take_notice(&mut self, user: &UserId) -> Result<Option<String>, StoreError>;
    /// Leaves a notice for the next sign-in. A notice of the same text is kept once.
    async fn leave_notice(&mut self, user: &UserId, notice: &str) -> Result<(), StoreError>;
}
