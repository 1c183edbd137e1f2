//! A sign-in between its steps.

use kernel::{Timestamp, UserId};
use serde_json::Value;

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
    /// Creation time.
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
