//! What a handler may ask for.

use std::sync::Arc;

use tokens::ScimToken;

use super::{access::Caller, errors::Problem};

/// A permission: who has it.
pub trait Permission: 'static {
    /// What a handler gets to know of the caller.
    type Caller: Clone + 'static;

    /// The caller, if they have it.
    fn admit(caller: Caller) -> Result<Self::Caller, Problem>;
}

/// A permission to change something.
pub trait WritePermission: Permission {}

/// To read the tenant's users as an identity provider.
pub enum ScimRead {}

/// To change the tenant's users as an identity provider.
pub enum ScimWrite {}

impl Permission for ScimRead {
    type Caller = Arc<ScimToken>;

    fn admit(caller: Caller) -> Result<Self::Caller, Problem> {
        let Caller::Scim(token) = caller;
        Ok(token)
    }
}

impl Permission for ScimWrite {
    type Caller = Arc<ScimToken>;

    fn admit(caller: Caller) -> Result<Self::Caller, Problem> {
        ScimRead::admit(caller)
    }
}

impl WritePermission for ScimWrite {}
