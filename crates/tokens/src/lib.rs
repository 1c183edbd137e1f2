//! Bearer tokens: their format, their storage, and the rules for creating and revoking them. Identity providers use SCIM
//! tokens (`scim_…`), users' programs personal access tokens (`pat_…`). The tickets (`tkt_…`) and links (`lnk_…`) of
//! a sign-in have the same format.
//!
//! A raw token is shown once. It contains its tenant's key, so that no global index is needed, 160 random bits, and a
//! CRC-32, so that scanners recognise a leaked token and a typing error costs no query. Storage has only its SHA-256:
//! with 160 random bits, a slow hash adds nothing.
//!
//! ```
//! use kernel::{Id, ManualEnv, Tenant};
//! let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse()?);
//! let tenant = Id::<Tenant>::new(&env);
//! let raw = tokens::RawToken::mint(&env, tokens::TokenKind::Scim, &tenant);
//! let read = tokens::RawToken::parse(raw.expose()).expect("well formed");
//! assert_eq!(read.tenant(), &tenant);
//! # Ok::<(), kernel::ParseTimestampError>(())
//! ```

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod memory;
pub mod pat;
mod raw;
pub mod removals;
mod scim;
mod scim_refusal;
mod store;

/// The attribute for implementations of the storage traits.
pub use async_trait::async_trait;
pub use kernel::{
    Actor, ActorKind, Ctx, Env, Id, ParseIdError, ParseTimestampError, Secret, StoreError, StoreResult,
    SystemEnv, TenantId, Timestamp, TraceContext, UserId,
};

pub use error::{Malformed, PatError, ScimTokenError};
pub use memory::MemoryTokens;
pub use pat::{Pat, PatId, Scope};
pub use raw::{RawToken, TokenHash, TokenKind};
pub use scim::{MAX_DRY_RUNS, NAME_MAX, NewScimToken, ScimToken, ScimTokenId, mint, revoke};
pub use scim_refusal::ScimRefusal;
pub use store::{PatStore, ScimTokenStore};
