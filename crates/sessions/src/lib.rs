//! Sessions of signed-in users: the stored row, the cookie that identifies it, and what the list of sessions
//! displays.
//!
//! The cookie has the format of Auth.js ([`CookieKeys`]), so Gatehouse and services around a Next.js application can
//! read each other's. Gatehouse's tokens contain the session id as `sid`. The row decides: once it is revoked, no
//! cookie restores the session. A token from a neighbouring Auth.js has no `sid` and gets one permanent row at its
//! first accepted request.
//!
//! ```
//! use kernel::ManualEnv;
//! use sessions::{CookieKeys, CookieName, CookieSecret};
//!
//! let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse()?);
//! let keys = CookieKeys::new(&[CookieSecret::new("a secret of at least 32 characters".to_owned())?]);
//! let claims = serde_json::from_str(r#"{"sub":"usr_1"}"#)?;
//! let token = keys.mint(&env, CookieName::Plain, claims, 60).ok_or("no secret")?;
//! let cookies = [("authjs.session-token", token.as_str())];
//! let read = keys.read(&env, CookieName::Plain, &cookies)?.ok_or("no cookie")?;
//! assert_eq!(read.text("sub"), Some("usr_1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "conformance")]
pub mod conformance;
mod cookie;
mod cookie_secrets;
mod device;
pub mod device_bound;
mod error;
mod jwe;
mod memory;
mod rules;
mod session;
mod store;

/// The attribute for implementations of the storage traits.
pub use async_trait::async_trait;
pub use kernel::{
    Actor, ActorKind, Ctx, Env, Id, ParseIdError, ParseTimestampError, Secret, StoreError, StoreResult,
    SystemEnv, TenantId, Timestamp, TraceContext, UserId,
};

pub use cookie::{Claims, CookieKeys, CookieName, CookieSecret, NotASession, ShortSecret, chunks};
pub use cookie_secrets::{CookieSecrets, WeakSecret};
pub use device::{device_label, ip_prefix};
pub use error::Error;
pub use memory::MemorySessions;
pub use rules::{NewSession, list, open, renew, revoke, revoke_all};
pub use session::{
    Grace, GraceAct, GraceKind, Lifetime, Method, SEEN_GRAIN_MINUTES, Session, SessionId, SessionKind,
    Standing,
};
pub use store::{DeviceSessionStore, SessionStore};
