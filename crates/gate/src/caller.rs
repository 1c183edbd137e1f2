//! Authenticated callers, for the four kinds of credential.

use std::sync::Arc;

use sessions::Session;
use signals::Receiver;
use store::Holder;
use tokens::{Pat, ScimToken};

/// An authenticated caller.
#[derive(Debug, Clone)]
pub enum Caller {
    /// An identity provider with a SCIM token.
    Scim(Arc<ScimToken>),
    /// A user with a session cookie.
    Session(Arc<Signed>),
    /// A program with a user's personal access token.
    Pat(Arc<PatCaller>),
    /// A receiver of shared signals with its token.
    Receiver(Arc<Receiver>),
}

/// A user with a session.
#[derive(Debug)]
pub struct Signed {
    /// The stored session.
    pub session: Session,
    /// The session's user.
    pub holder: Holder,
}

/// A program with a personal access token.
#[derive(Debug)]
pub struct PatCaller {
    /// The stored token.
    pub pat: Pat,
    /// The token's user.
    pub holder: Holder,
}
