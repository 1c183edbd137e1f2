//! Credentials of users, and the sign-in policy of a tenant.
//!
//! - [`Passwords`]: argon2id with adjustable parameters, computed once for all accounts of an address;
//! - [`check_new_password`]: the rules of NIST SP 800-63B;
//! - [`totp`]: codes of authenticator apps (RFC 6238), each time step once;
//! - [`Passkeys`]: WebAuthn ceremonies;
//! - [`recovery`]: ten recovery codes for a lost device;
//! - [`SignInPolicy`]: the tenant's requirements, and which factors may be removed ([`may_remove`]);
//! - [`attempts`]: rate limits that are exact under parallel requests and across instances;
//! - [`Ticket`]: a sign-in between two steps.
//!
//! ```
//! use credentials::{Cost, Passwords, Salt, StoredPassword, Verdict};
//! use kernel::{ManualEnv, Secret, TenantId};
//!
//! let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse()?);
//! let passwords = Passwords::new(Cost::CHEAP);
//! let (salt, tenant) = (Salt::random(&env), TenantId::new(&env));
//! let said = Secret::new("correct horse battery".to_owned());
//! let hash = passwords.hash(&said, &salt, &tenant)?;
//! let verdicts = passwords.verify(&said, Some(&salt), &[StoredPassword { tenant, hash }]);
//! assert_eq!(verdicts, [Verdict::Right { stale: false }]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod attempts;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod factor;
mod impact;
mod lockout;
mod memory;
mod passkey;
mod password;
mod password_hash;
mod policy;
pub mod recovery;
mod store;
mod ticket;
pub mod totp;
mod trust_anchors;

/// The attribute for implementations of the storage traits.
pub use async_trait::async_trait;
pub use kernel::{
    Email, Env, Id, ParseEmailError, ParseIdError, ParseTimestampError, Secret, StoreError, StoreResult,
    SystemEnv, TenantId, Timestamp, UserId,
};

pub use error::{CeremonyError, PolicyError, RemovalError, WeakPassword};
pub use factor::{
    Factor, FactorData, FactorId, FactorIdKind, MAX_FACTORS, NAME_MAX, default_name, may_remove,
    may_remove_all, name,
};
pub use impact::{AffectedUser, PolicyEffect, SignInImpact, SignInImpactCounter, UserMeans};
pub use lockout::{PasskeyUse, SignInMeans};
pub use memory::{MemoryAttempts, MemoryCredentials};
pub use passkey::{
    Assertion, Attestation, Creation, Passkey, Passkeys, PendingAssertion, PendingRegistration,
    VerifiedAssertion, user_handle, user_of_handle,
};
pub use password::{PasswordContext, check_new_password, password_min};
pub use password_hash::{Cost, PasswordError, Passwords, Salt, StoredPassword, Verdict, normalized_password};
pub use policy::{FactorKind, MfaPolicy, PatPolicy, SessionPolicy, SignInMode, SignInPolicy};
pub use store::{AttemptStore, FactorStore, OriginHistory, SignInStore, TicketStore};
pub use ticket::{MAX_WRONG_ANSWERS, TICKET_MINUTES, Ticket, TicketKind};
pub use trust_anchors::{Aaguid, Trust, TrustAnchors};
