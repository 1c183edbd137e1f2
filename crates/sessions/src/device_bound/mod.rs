//! Sessions that are bound to a key of the browser: Device Bound Session Credentials (W3C draft).
//!
//! After sign-in the server asks the browser to create a key ([`registration`]). The browser proves that it has the key
//! ([`Proof`]) and gets a cookie that is valid for minutes. It renews that cookie with further proofs, each over a new
//! [`Challenge`]. A session that is bound is only accepted with this cookie, so a copy of the cookies is worthless after
//! minutes: the key stays in the browser, which keeps it in hardware where it can.
//!
//! Challenges and cookies are kept by the browser. The caller signs them, so that nothing is stored until a session is
//! bound.

mod headers;
mod key;
mod proof;
mod rules;
mod signed;

pub use headers::{Instructions, challenge, identifier_of, registration};
pub use key::{DeviceKey, UnsupportedKey};
pub use proof::Proof;
pub use rules::{Answered, BindError, DeviceBinding, RefreshError, Refused, bind, check, find, refresh};
pub use signed::{BoundCookie, COOKIE_MAX_AGE, Challenge, ChallengeUse, NotAnIdentifier, SessionIdentifier};
