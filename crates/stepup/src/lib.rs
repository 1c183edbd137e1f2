//! Step-up: a fresh proof, once, for one act, from one place.
//!
//! An act of high impact names a [`Purpose`]. Without a proof it is refused; whoever wants it done [begins](begin) a
//! challenge for that purpose, answers it with a second factor, and gets a token from [`verify`]. The token is good for one
//! act of that purpose, by the same person in the same session from the same address, for a minute: [`check`] looks at
//! what it says, [`consume`] uses it up in the transaction of the act.
//!
//! What is stored is behind [`StepUpStore`] ([`MemoryStore`] is one), how a factor is verified behind [`Ceremonies`];
//! nothing here knows of HTTP, databases or WebAuthn. A service brings its own purposes:
//!
//! ```
//! use stepup::Purpose;
//! const SHIP: Purpose =
//!     Purpose { name: "SHIP", phishing_resistant: true, ttl_seconds: 30, description: "Shipping a release." };
//! assert!(SHIP.accepts(stepup::Factor::Webauthn) && !SHIP.accepts(stepup::Factor::Totp));
//! assert!(stepup::find(&stepup::PURPOSES, "PAYROLL_SEAL").is_some());
//! ```
//!
//! `examples/embed.rs` is the whole of it in a program without a web framework, `examples/payroll.rs` a web service that
//! guards `PAYROLL_SEAL`, `examples/remote.rs` a process that asks Gatehouse over HTTP instead.

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
