//! The storage that signing in needs, composed of the traits of other crates.

use credentials::{FactorStore, SignInStore, TicketStore};
use directory::{LinkStore, PeopleStore};
use netpolicy::NetworkPolicyStore;
use sessions::SessionStore;
use tokens::PatStore;

use crate::provider_session::ProviderSessionStore;

/// The storage of one tenant in one unit of work. Every type with these traits implements it.
pub trait Storage:
    PeopleStore
    + LinkStore
    + SignInStore
    + TicketStore
    + FactorStore
    + SessionStore
    + NetworkPolicyStore
    + PatStore
    + ProviderSessionStore
{
}

impl<S> Storage for S where
    S: PeopleStore
        + LinkStore
        + SignInStore
        + TicketStore
        + FactorStore
        + SessionStore
        + NetworkPolicyStore
        + PatStore
        + ProviderSessionStore
{
}
