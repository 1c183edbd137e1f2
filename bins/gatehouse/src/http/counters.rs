//! The counters there are. Each begins at 0 when the server starts: a counter that only appears with its first
//! increment hides that increment from every rate over it.

use attestation::Reason;
use metrics::counter;
use netpolicy::Surface;
use saml_sp::Step;

use super::{area_metrics, bodies::Refused, connections::Closed, deliveries, meter, saml};

/// A counter, and the values of its label where it has one.
pub struct KnownCounter {
    /// As `/metrics` has it.
    pub name: &'static str,
    /// The label, and all the values that it takes.
    pub label: Option<(&'static str, Vec<&'static str>)>,
}

/// All counters but `gatehouse_http_requests_total`, whose labels are the routes of the API description.
pub fn known_counters() -> Vec<KnownCounter> {
    let plain = |name| KnownCounter { name, label: None };
    let with = |name, label, values| KnownCounter { name, label: Some((label, values)) };
    let outcomes = Step::ALL.map(Step::as_str).into_iter().chain(saml::OUTCOMES);
    vec![
        plain(meter::REFUSED),
        with(meter::BODIES_REFUSED, "reason", Refused::ALL.map(Refused::as_str).to_vec()),
        plain(meter::UNSENT_CUT),
        with(meter::CLOSED, "reason", Closed::ALL.map(Closed::as_str).to_vec()),
        with(meter::SCANS_ENDED, "outcome", store::Outcome::ALL.map(store::Outcome::as_str).to_vec()),
        with(meter::EVENTS, "code", audit::events::catalog().specs().iter().map(|spec| spec.code).collect()),
        plain(area_metrics::SEALED),
        plain(area_metrics::SEALING_FAILED),
        with(meter::NETWORK, "surface", Surface::ALL.map(Surface::as_str).to_vec()),
        with(area_metrics::ATTESTATION, "reason", Reason::ALL.map(Reason::as_str).to_vec()),
        with(area_metrics::ATTEMPTS, "outcome", deliveries::OUTCOMES.to_vec()),
        plain(area_metrics::UNSIGNED),
        plain(area_metrics::QUEUE_FAILED),
        plain(area_metrics::SAML_BEGUN),
        with(area_metrics::SAML_ANSWERED, "outcome", outcomes.collect()),
        with(area_metrics::SAML_READ, "outcome", saml::READINGS.to_vec()),
    ]
}

/// Lets all of them begin at 0.
pub(super) fn register() {
    for KnownCounter { name, label } in known_counters() {
        match label {
            None => counter!(name).absolute(0),
            Some((label, values)) => {
                for value in values {
                    counter!(name, label => value).absolute(0);
                }
            }
        }
    }
}
