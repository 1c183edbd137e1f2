//! The outcome of a step, with what the client needs to continue.

use serde_json::Value;
use sessions::SessionId;

use crate::{factor::FactorName, session::StartedSession, ticket::TicketText};

/// The outcome of a successful step.
pub enum Outcome {
    /// [`State::SignedIn`](crate::State::SignedIn) or [`State::Grace`](crate::State::Grace).
    SignedIn(Box<StartedSession>),
    /// [`State::FactorOwed`](crate::State::FactorOwed).
    FactorOwed {
        /// The ticket to send with the answer.
        ticket: TicketText,
        /// The factors that the user may choose from.
        factors: Vec<FactorName>,
        /// `PublicKeyCredentialRequestOptionsJSON`, if a passkey is among the factors.
        webauthn: Option<Value>,
    },
    /// [`State::EnrolmentOwed`](crate::State::EnrolmentOwed).
    EnrolmentOwed {
        /// The ticket to continue the sign-in with.
        ticket: TicketText,
        /// The restricted session.
        started: Box<StartedSession>,
    },
}

impl Outcome {
    /// The session that has started or continues.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::SignedIn(started) | Self::EnrolmentOwed { started, .. } => Some(&started.session.id),
            Self::FactorOwed { .. } => None,
        }
    }
}

/// The result of an answer. Commit both: a wrong answer is counted.
pub enum Attempt {
    /// The answer is incorrect.
    Wrong,
    /// The passkey is not enrolled: it was removed, or its user was deleted.
    UnknownPasskey,
    /// The answer is correct.
    Right(Box<Outcome>),
}
