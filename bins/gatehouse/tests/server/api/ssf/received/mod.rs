//! Events of transmitters: what they do, and what is refused.

mod consequences;
mod killed;
mod limited;
mod management;
mod order;
mod refused;
mod transmitter;

pub(crate) use self::transmitter::Site;

pub(crate) const TRANSMITTERS: &str = "/api/settings/signals/transmitters";
