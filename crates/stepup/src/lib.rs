//! Step-up authentication: a proof of presence for one act, from one address, valid once.
//!
//! A sensitive act names a [`Purpose`] and is refused without a step-up token. To get one, the client [begins](begin)
//! a challenge for that purpose and answers it with a second factor ([`verify`]). The token permits one act of that
//! purpose, by the same user in the same session from the same address, for a minute or as the purpose sets.
//! [`check`] returns a [`Proof`], and [`Proof::consume`] uses it up in the transaction of the act. [`Service`] does all of
//! this for a service that keeps its keys, purposes and factors in one value.
//!
//! Implement [`StepUpStore`] over your database, or use [`MemoryStore`] in one process. Implement [`Ceremonies`] over
//! your second factors. The crate does not depend on HTTP, databases or WebAuthn.
//!
//! # Example
//!
//! An axum service, with the feature `tower`:
//!
#![doc = concat!("```no_run\n", include_str!("../examples/payroll.rs"), "```")]
//!
//! `examples/embed_stepup.rs` shows the flow without a web framework, and `examples/remote.rs` a process that asks
//! Gatehouse over HTTP.

mod codes;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod flow;
#[cfg(feature = "http")]
pub mod http;
mod memory;
mod proof;
mod purpose;
mod service;
mod store;
mod token;
#[cfg(feature = "tower")]
pub mod tower;

/// The attribute for implementations of [`StepUpStore`] and [`Ceremonies`].
pub use async_trait::async_trait;
pub use kernel::{
    Actor, ActorKind, Ctx, Env, Id, InvalidMasterKey, MasterKeys, ParseIdError, ParseMasterKeysError,
    ParseTimestampError, Secret, SigningKeys, StoreError, StoreResult, SystemEnv, TenantId, Timestamp,
    TraceContext, UserId, constant_time_eq,
};
pub use serde_json::Value;

pub use codes::Codes;
pub use error::Error;
pub use flow::{
    Answer, Attempt, BegunChallenge, CHALLENGE_MINUTES, Caller, Ceremonies, Ceremony, IssuedToken, MAX_LIVE,
    MAX_WRONG_ANSWERS, Verified, begin, check, revoke, status, verify, waiting,
};
pub use memory::MemoryStore;
pub use proof::{Consumed, Proof};
pub use purpose::{Factor, Purpose, find};
pub use service::Service;
pub use store::{Challenge, ChallengeId, Consumption, Grant, GrantId, StepUpStore};
pub use token::{Claims, Invalid, MAX_LENGTH, Token};
