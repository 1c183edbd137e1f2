//! Which refusals are entered in the ledger: the same one not again and again, or whoever is refused could fill it.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use audit::Event;
use credentials::attempts;
use moka::sync::Cache;

/// How long the same refusal is not entered again.
const PAUSE: Duration = Duration::from_secs(10);
/// How often one of a kind and about the same resource is entered meanwhile, from however many addresses.
const MOST: u32 = 20;
/// Refusals that are remembered.
const REMEMBERED: u64 = 10_000;

/// What was entered a moment ago.
pub(super) struct Refusals {
    same: Cache<String, ()>,
    alike: Cache<String, Arc<AtomicU32>>,
}

impl Default for Refusals {
    fn default() -> Self {
        Self {
            same: Cache::builder().max_capacity(REMEMBERED).time_to_live(PAUSE).build(),
            alike: Cache::builder().max_capacity(REMEMBERED).time_to_live(PAUSE).build(),
        }
    }
}

impl Refusals {
    /// Whether this is to be entered, of a request from this address.
    pub(super) fn is_new(&self, event: &Event, address: Option<IpAddr>) -> bool {
        // Of one kind that fails in many ways each is counted for itself: one does not hide another.
        let data: serde_json::Value = serde_json::from_str(&event.data).unwrap_or_default();
        let step = data.get("step").and_then(serde_json::Value::as_str).unwrap_or_default();
        let alike = format!("{} {} {step}", event.code, event.resource_id);
        let same = format!("{alike} {} {}", attempts::origin(address), event.data);
        self.same.entry(same).or_insert(()).is_fresh()
            && self.alike.get_with(alike, Arc::default).fetch_add(1, Ordering::Relaxed) < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::events::policies::NetworkPolicyBlocked;

    #[test]
    fn whoever_comes_from_many_addresses_does_not_fill_the_ledger() {
        let refusals = Refusals::default();
        let blocked = |tenant: &str| {
            Event::new(tenant, &NetworkPolicyBlocked { surface: "API", credential: "sct_1".into() })
        };
        let from = |number: u32| Some(IpAddr::V4(number.into()));
        let entered = (0..1000).filter(|number| refusals.is_new(&blocked("ten_1"), from(*number))).count();
        assert_eq!(entered, MOST as usize);
        assert!(!refusals.is_new(&blocked("ten_1"), from(0)));
        assert!(refusals.is_new(&blocked("ten_2"), from(0)), "of another tenant");
        assert!(!refusals.is_new(&blocked("ten_2"), from(0)));
    }
}
