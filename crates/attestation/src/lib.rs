//! Attestation policy: which authenticators may be enrolled as passkeys.
//!
//! An authenticator reports its model by its [`Aaguid`]. The [catalog](catalog()) knows models in four groups. A
//! [`Policy`] names groups and single models, and [decides](Policy::decide) about one without I/O. Enrolments and
//! previews use the same function.
//!
//! ```
//! use attestation::{Candidate, Group, Mode, Policy, Reason};
//! let policy = Policy { mode: Mode::Allowlist, allowed_groups: vec![Group::FipsHardware], ..Policy::default() };
//! let yubikey = "73bb0cd4-e502-49b8-9c6f-b59445bf720b".parse()?;
//! assert!(policy.decide(&Candidate::for_model(yubikey)).is_allowed());
//! let google = "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4".parse()?;
//! let verdict = policy.decide(&Candidate::for_model(google));
//! assert_eq!(verdict.reasons, [Reason::AllowlistNoMatch, Reason::SyncedPasskeyDenied]);
//! assert_eq!(verdict.authenticator.map(|known| known.name), Some("Google Password Manager"));
//! # Ok::<(), attestation::ParseAaguidError>(())
//! ```
//!
//! An AAGUID is only a claim until an attestation verifies it: see [`Candidate::proved`]. [`Roots`] are the
//! certificates that can prove a model, from the FIDO Alliance's [metadata](mds) or from files. [`WatchedTrustAnchors`]
//! reloads them when the files change.
//!
//! `examples/embed_attestation.rs` is a program that decides with this crate. The crate does not depend on HTTP or databases.

mod aaguid;
mod catalog;
mod change;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod impact;
pub mod mds;
mod memory;
mod policy;
mod roots;
mod store;
mod test;
mod trust_anchors;

/// The attribute for implementations of [`AttestationPolicyStore`].
pub use async_trait::async_trait;
pub use kernel::{ParseTimestampError, StoreError, StoreResult, Timestamp};

pub use aaguid::{Aaguid, ParseAaguidError};
pub use catalog::{Authenticator, Group, catalog, find};
pub use change::{ChangedPolicy, MAX_MODELS, set};
pub use error::{Error, TrustFileError};
pub use impact::{EnrolledPasskey, Impact, ImpactCounter, ModelImpact, RefusedPasskey};
pub use policy::{Candidate, Mode, Policy, Reason, Verdict};
pub use roots::{FileError, Roots};
pub use store::AttestationPolicyStore;
pub use test::{Decision, ModelDecision, ModelTest};
pub use trust_anchors::{LoadedTrustAnchors, TrustAnchorObserver, TrustFiles, WatchedTrustAnchors};
