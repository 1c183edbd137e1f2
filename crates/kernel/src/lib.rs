//! The types that all crates of Gatehouse share: typed [`Id`]s, [`Timestamp`]s, [`Secret`]s, the [`Env`] that
//! provides time and randomness, the [`Ctx`] of one operation, and the [`StoreError`] of all storage.
//!
//! The crate does no I/O. Domain code takes a [`Ctx`] and never reads the clock:
//!
//! ```
//! use kernel::{Actor, Ctx, Env, ManualEnv, Tenant, TenantId, Id};
//! use std::sync::Arc;
//!
//! let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse()?));
//! let ctx = Ctx::new(env.clone(), Id::<Tenant>::new(&*env), Actor::system("example"));
//! assert_eq!(ctx.now.to_string(), "2026-01-01T00:00:00.000Z");
//! # Ok::<(), kernel::ParseTimestampError>(())
//! ```

mod ctx;
mod email;
mod env;
mod error;
mod id;
mod json;
mod keys;
mod master;
mod secret;
mod time;
mod trace;

pub use ctx::{Actor, ActorKind, Ctx};
pub use email::{Email, ParseEmailError};
pub use env::{Env, ManualEnv, SystemEnv};
pub use error::{StoreError, StoreResult};
pub use id::{Group, GroupId, Id, Kind, ParseIdError, Tenant, TenantId, User, UserId};
pub use json::not_null;
pub use keys::{SealingKeys, Signature, SigningKeys};
pub use master::{InvalidMasterKey, MasterKeys, ParseMasterKeysError};
pub use secret::{Secret, constant_time_eq};
pub use time::{ParseTimestampError, Timestamp};
pub use trace::TraceContext;
