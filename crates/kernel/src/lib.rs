//! The types that all crates of Gatehouse share: typed [`Id`]s, [`Timestamp`]s, [`Secret`]s, the [`Env`] that
//! provides time and randomness, the [`Ctx`] of one operation, and the [`StoreError`] of all storage.
//!
//! The crate does no I/O. Domain code takes a [`Ctx`] and never reads the clock:
//!
//! ```
//! use kernel::{Ctx, UserId};
//!
//! let ctx = Ctx::system("acme".parse()?, "example");
//! let ada = UserId::new(&*ctx.env);
//! assert!(ada.as_str().starts_with("usr_") && ada.created_at() >= ctx.now);
//! # Ok::<(), kernel::ParseIdError>(())
//! ```
//!
//! Tests take `ManualEnv` instead (feature `testing`), whose clock advances only on request. `Random` draws the steps of
//! generated tests.

mod ctx;
mod email;
mod env;
mod error;
mod id;
mod json;
mod keys;
mod master;
#[cfg(feature = "testing")]
mod random;
mod secret;
mod time;
mod trace;

pub use ctx::{Actor, ActorKind, Ctx};
pub use email::{Email, ParseEmailError};
#[cfg(feature = "testing")]
pub use env::ManualEnv;
pub use env::{Env, SystemEnv};
pub use error::{StoreError, StoreResult, UniqueKey};
pub use id::{Group, GroupId, Id, Kind, ParseIdError, Tenant, TenantId, User, UserId};
pub use json::not_null;
pub use keys::{Reencrypted, SealingKeys, Signature, SigningKeys};
pub use master::{InvalidMasterKey, MasterKeys, ParseMasterKeysError};
#[cfg(feature = "testing")]
pub use random::Random;
pub use secret::{Secret, constant_time_eq};
pub use time::{ParseTimestampError, Timestamp};
pub use trace::TraceContext;
