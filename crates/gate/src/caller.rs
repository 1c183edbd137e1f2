//! Who calls: the three kinds of credential, proved.

use std::sync::Arc;

use sessions::Session;
use store::Holder;
use tokens::{Pat, ScimToken};

/// Who calls, proved.
#[derive(Debug, Clone)]
pub enum Caller {
    /// An identity provider by its SCIM token.
    Scim(Arc<ScimToken>),
    /// A person by a session cookie.
    Session(Arc<Signed>),
    /// A person's program by a personal access token.
    Pat(Arc<PatCaller>),
}

/// A person with a session.
#[derive(Debug)]
pub struct Signed {
    /// The row that decides.
    pub session: Session,
    /// Whose it is.
    pub holder: Holder,
}

/// A person's program.
#[derive(Debug)]
pub struct PatCaller {
    /// The token it has.
    pub pat: Pat,
    /// Who it acts as.
    pub holder: Holder,
}
