//! The list of counters, of the request pipeline and of the areas.

use attestation::Reason;
use gate::counters::KnownCounter;
use log_streams::DestinationType;
use saml_sp::Step;
use webhooks::Outcome;

use crate::{
    api::saml,
    area_metrics::{
        self, ATTEMPTS, ATTESTATION, LOG_BATCHES, LOG_ENTRIES, LOG_QUEUE_FAILED, OIDC_ANSWERED, OIDC_BEGUN,
        OIDC_LOGOUTS, OIDC_READ, QUEUE_FAILED, SAML_ANSWERED, SAML_BEGUN, SAML_LOGOUTS, SAML_READ, SEALED,
        SEALING_FAILED, SIGNAL_QUEUE_FAILED, SIGNALS, SIGNALS_RECEIVED, UNSIGNED,
    },
};

/// Returns all counters except `gatehouse_http_requests_total`, whose labels are the routes of the API description.
pub fn known_counters() -> Vec<KnownCounter> {
    let outcomes = Step::ALL.map(Step::as_str).into_iter().chain(saml::OUTCOMES).collect();
    let mut counters = gate::counters::known_counters();
    let steps = oidc_rp::Step::ALL.iter().map(|step| step.as_str());
    let oidc_outcomes = steps.chain(saml::OUTCOMES).chain(["FAILED"]).collect();
    counters.extend([
        KnownCounter::plain(SEALED),
        KnownCounter::plain(SEALING_FAILED),
        KnownCounter::labelled(ATTESTATION, "reason", Reason::ALL.map(Reason::as_str).to_vec()),
        KnownCounter::labelled(ATTEMPTS, "outcome", Outcome::LABELS.to_vec()),
        KnownCounter::plain(UNSIGNED),
        KnownCounter::plain(QUEUE_FAILED),
        KnownCounter::labelled(
            LOG_ENTRIES,
            "type",
            DestinationType::ALL.map(DestinationType::label).to_vec(),
        ),
        KnownCounter::labelled(LOG_BATCHES, "outcome", vec!["accepted", "failed"]),
        KnownCounter::plain(LOG_QUEUE_FAILED),
        KnownCounter::labelled(SIGNALS, "outcome", vec!["delivered", "refused", "failed"]),
        KnownCounter::labelled(
            SIGNALS_RECEIVED,
            "outcome",
            vec!["recorded", "step_up_required", "sessions_ended", "user_disabled", "repeated", "refused"],
        ),
        KnownCounter::plain(SIGNAL_QUEUE_FAILED),
        KnownCounter::plain(SAML_BEGUN),
        KnownCounter::labelled(SAML_ANSWERED, "outcome", outcomes),
        KnownCounter::labelled(SAML_READ, "outcome", saml::READINGS.to_vec()),
        KnownCounter::labelled(
            SAML_LOGOUTS,
            "outcome",
            vec!["ended", "unmatched", "completed", "incomplete", "refused"],
        ),
        KnownCounter::plain(OIDC_BEGUN),
        KnownCounter::labelled(OIDC_ANSWERED, "outcome", oidc_outcomes),
        KnownCounter::labelled(OIDC_LOGOUTS, "outcome", vec!["ended", "refused"]),
        KnownCounter::labelled(OIDC_READ, "outcome", saml::READINGS.to_vec()),
    ]);
    counters
}

/// Registers all counters, so that they start at 0.
pub(crate) fn start() {
    area_metrics::unauthenticated(0);
    area_metrics::oldest_unsealed(0);
    for counter in known_counters() {
        counter.register();
    }
}
