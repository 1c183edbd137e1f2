//! A sign-in between two steps.

use kernel::{Timestamp, UserId};
use serde_json::Value;

/// Lifetime of a ticket in minutes.
pub const TICKET_MINUTES: i64 = 10;

/// Number of wrong answers that invalidate a ticket.
pub const MAX_WRONG_ANSWERS: i64 = 5;

/// The step that a ticket waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketKind {
    /// A second factor, after a first one is proved.
    Factor,
    /// The choice between the tenants in which the password fits.
    TenantChoice,
    /// The response of an authenticator that is being enrolled.
    PasskeyEnrolment,
}

impl TicketKind {
    /// Returns the stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Factor => "FACTOR",
            Self::TenantChoice => "TENANT_CHOICE",
            Self::PasskeyEnrolment => "PASSKEY_ENROLMENT",
        }
    }

    /// Parses a stored name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Factor, Self::TenantChoice, Self::PasskeyEnrolment]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// A stored ticket. Only the client has its text; storage finds it by the hash.
#[derive(Debug, Clone, PartialEq)]
pub struct Ticket {
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    /// The step that the ticket waits for.
    pub kind: TicketKind,
    /// The user who signs in.
    pub user: UserId,
    /// The state that the next step needs.
    pub state: Value,
    /// Creation time.
    pub created_at: Timestamp,
    /// Number of wrong answers.
    pub wrong_answers: i64,
}

impl Ticket {
    /// Creates a ticket.
    pub fn new(hash: [u8; 32], kind: TicketKind, user: UserId, state: Value, now: Timestamp) -> Self {
        Self { hash, kind, user, state, created_at: now, wrong_answers: 0 }
    }

    /// Whether the ticket has neither expired nor had too many wrong answers.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.created_at.plus_millis(TICKET_MINUTES * 60_000) && self.wrong_answers < MAX_WRONG_ANSWERS
    }
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    #[test]
    fn kinds_have_their_stored_names() {
        for (kind, name) in [
            (TicketKind::Factor, "FACTOR"),
            (TicketKind::TenantChoice, "TENANT_CHOICE"),
            (TicketKind::PasskeyEnrolment, "PASSKEY_ENROLMENT"),
        ] {
            assert_eq!((kind.as_str(), TicketKind::parse(name)), (name, Some(kind)));
        }
        assert_eq!(TicketKind::parse("factor"), None);
    }

    #[test]
    fn ticket_lives_ten_minutes_and_for_four_wrong_answers() {
        let now = Timestamp::from_unix_millis(1_000_000);
        let user = UserId::new(&ManualEnv::at(now));
        let mut ticket = Ticket::new([0; 32], TicketKind::Factor, user, Value::Null, now);
        assert!(ticket.is_live(now.plus_millis(599_999)) && !ticket.is_live(now.plus_millis(600_000)));
        ticket.wrong_answers = 4;
        assert!(ticket.is_live(now));
        ticket.wrong_answers = 5;
        assert!(!ticket.is_live(now));
    }
}
