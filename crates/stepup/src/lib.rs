//! Step-up authentication: a proof of presence for one act, from one address, valid once.
//!
//! A sensitive act names a [`Purpose`] and is refused without a step-up token. To get one, the client [begins](begin)
//! a challenge for that purpose, answers it with a second factor, and calls [`verify`]. The token permits one act of
//! that purpose, by the same user in the same session from the same address, for a minute or as the purpose sets.
//! [`check`] verifies its contents, and [`consume`] uses it up in the transaction of the act.
//!
//! Storage is behind [`StepUpStore`] ([`MemoryStore`] implements it), and verification of factors behind
//! [`Ceremonies`]. The crate does not depend on HTTP, databases or WebAuthn. A service defines its own purposes:
//!
//! ```
//! use stepup::Purpose;
//! const SHIP: Purpose =
//!     Purpose { name: "SHIP", phishing_resistant: true, ttl_seconds: 30, description: "Shipping a release." };
//! assert!(SHIP.accepts(stepup::Factor::Webauthn) && !SHIP.accepts(stepup::Factor::Totp));
//! assert!(stepup::find(&stepup::PURPOSES, "PAYROLL_SEAL").is_some());
//! ```
//!
//! `examples/embed_stepup.rs` shows the whole flow in a program without a web framework, `examples/payroll.rs` a web service
//! that protects `PAYROLL_SEAL`, and `examples/remote.rs` a process that asks Gatehouse over HTTP.

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod flow;
mod memory;
mod purpose;
mod store;
mod token;

pub use error::Error;
pub use flow::{
    Answer, Attempt, BegunChallenge, CHALLENGE_MINUTES, Caller, Ceremonies, Ceremony, IssuedToken, MAX_LIVE,
    MAX_WRONG_ANSWERS, Verified, begin, check, consume, revoke, status, verify, waiting,
};
pub use memory::MemoryStore;
pub use purpose::{
    ACCOUNT_SECURITY_CHANGE, ATTESTATION_POLICY_CHANGE, EQUITY_GRANT_COSIGN, ERASURE_FINALIZE, Factor,
    NETWORK_POLICY_CHANGE, PAT_MINT_ADMIN, PAYROLL_SEAL, PAYROLL_TRANSMIT_ACH, PURPOSES, Purpose,
    SCIM_TOKEN_MINT, SIGN_IN_POLICY_CHANGE, SSO_PROVIDER_CHANGE, USER_ADMIN_CHANGE, WEBHOOK_SECRET_ROTATE,
    find,
};
pub use store::{Challenge, ChallengeId, Consumption, Grant, GrantId, StepUpStore};
pub use token::{Claims, Invalid, MAX_LENGTH, Token};
