//! The counters there are. Each begins at 0 when the server starts: a counter that only appears with its first
//! increment hides that increment from every rate over it.

use metrics::counter;
use netpolicy::Surface;

use crate::{
    bodies::BodyRefusal,
    connections::CloseReason,
    meter::{BODIES_REFUSED, CLOSED, EVENTS, NETWORK, REFUSED, SCANS_ENDED, UNSENT_CUT},
};

/// A counter, and the values of its label where it has one.
pub struct KnownCounter {
    /// As `/metrics` has it.
    pub name: &'static str,
    /// The label, and all the values that it takes.
    pub label: Option<(&'static str, Vec<&'static str>)>,
}

impl KnownCounter {
    /// A counter without a label.
    pub fn plain(name: &'static str) -> Self {
        Self { name, label: None }
    }

    /// A counter with a label.
    pub fn labelled(name: &'static str, label: &'static str, values: Vec<&'static str>) -> Self {
        Self { name, label: Some((label, values)) }
    }

    /// Lets it begin at 0, for each value of its label.
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

/// The counters of the request path but `gatehouse_http_requests_total`, whose labels are the routes of the API description.
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
