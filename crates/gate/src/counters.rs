//! The known counters. Each starts at 0 with the server, because a counter that first appears with its first
//! increment hides that increment from `rate()`.

use metrics::counter;
use netpolicy::Surface;

use crate::{
    bodies::BodyRefusal,
    connections::CloseReason,
    meter::{BODIES_REFUSED, CLOSED, EVENTS, NETWORK, REFUSED, SCANS_ENDED, UNSENT_CUT},
};

/// A counter, and the values of its label, if it has one.
pub struct KnownCounter {
    /// The name in `/metrics`.
    pub name: &'static str,
    /// The label and all its values.
    pub label: Option<(&'static str, Vec<&'static str>)>,
}

impl KnownCounter {
    /// Declares a counter without a label.
    pub fn plain(name: &'static str) -> Self {
        Self { name, label: None }
    }

    /// Declares a counter with a label.
    pub fn labelled(name: &'static str, label: &'static str, values: Vec<&'static str>) -> Self {
        Self { name, label: Some((label, values)) }
    }

    /// Sets the counter to 0 for each value of its label.
    pub fn register(&self) {
        match &self.label {
            None => counter!(self.name).absolute(0),
            Some((label, values)) => {
                for value in values {
                    counter!(self.name, *label => *value).absolute(0);
                }
            }
        }
    }
}

/// Returns the counters of the request path except `gatehouse_http_requests_total`, whose labels depend on the API's
/// routes.
pub fn known_counters() -> Vec<KnownCounter> {
    let codes = audit::events::catalog().specs().iter().map(|spec| spec.code).collect();
    vec![
        KnownCounter::plain(REFUSED),
        KnownCounter::labelled(BODIES_REFUSED, "reason", BodyRefusal::ALL.map(BodyRefusal::as_str).to_vec()),
        KnownCounter::plain(UNSENT_CUT),
        KnownCounter::labelled(CLOSED, "reason", CloseReason::ALL.map(CloseReason::as_str).to_vec()),
        KnownCounter::labelled(
            SCANS_ENDED,
            "outcome",
            store::Outcome::ALL.map(store::Outcome::as_str).to_vec(),
        ),
        KnownCounter::labelled(EVENTS, "code", codes),
        KnownCounter::labelled(NETWORK, "surface", Surface::ALL.map(Surface::as_str).to_vec()),
    ]
}
