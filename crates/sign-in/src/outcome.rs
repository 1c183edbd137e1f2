//! What a step leads to, with what the client needs to go on.

use serde_json::Value;
use sessions::SessionId;

use crate::{factor::FactorName, session::StartedSession, ticket::TicketText};

/// What a step leads to.
pub enum Outcome {
    /// [`State::SignedIn`](crate::State::SignedIn) or [`State::Grace`](crate::State::Grace).
    SignedIn(Box<StartedSession>),
    /// [`State::FactorOwed`](crate::State::FactorOwed).
    FactorOwed {
        /// Goes with the answer.
        ticket: TicketText,
        /// The factors that may be proved.
        factors: Vec<FactorName>,
        /// `PublicKeyCredentialRequestOptionsJSON`, where a passkey is among them.
        webauthn: Option<Value>,
    },
    /// [`State::EnrolmentOwed`](crate::State::EnrolmentOwed).
    EnrolmentOwed {
        /// Goes on with the sign-in.
        ticket: TicketText,
        /// The restricted session.
        started: Box<StartedSession>,
    },
}

impl Outcome {
    /// The session that has begun or goes on.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::SignedIn(started) | Self::EnrolmentOwed { started, .. } => Some(&started.session.id),
            Self::FactorOwed { .. } => None,
        }
    }
}

/// What became of an answer. Either is to be committed: a wrong one counts.
pub enum Attempt {
    /// It proves nothing.
    Wrong,
    /// The answer is correct.
    Right(Box<Outcome>),
}
