//! Which refusals are entered in the ledger: the same one not again and again, or whoever is refused could fill it.

use std::{net::IpAddr, time::Duration};

use audit::Event;
use credentials::attempts;
use moka::sync::Cache;

/// How long the same refusal is not entered again.
const PAUSE: Duration = Duration::from_secs(10);
/// Refusals that are remembered.
const REMEMBERED: u64 = 10_000;

/// What was entered a moment ago.
pub(super) struct Refusals(Cache<String, ()>);

impl Default for Refusals {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(REMEMBERED).time_to_live(PAUSE).build())
    }
}

impl Refusals {
    /// Whether this is to be entered, of a request from this address.
    pub(super) fn is_new(&self, event: &Event, address: Option<IpAddr>) -> bool {
        let from = attempts::origin(address);
        let key = format!("{} {} {from} {}", event.code, event.resource_id, event.data);
        self.0.entry(key).or_insert(()).is_fresh()
    }
}
