//! What is counted: for `/metrics`, in the names that Prometheus advises.
//!
//! Labels are methods, routes of the description and statuses: nothing that a client can make up.

use std::{
    collections::BTreeMap,
    sync::{OnceLock, PoisonError, RwLock},
    time::Duration,
};

use kernel::Timestamp;
use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use store::{Figures, SamlExpiry};

use super::{bodies::Refused, connections::Closed, counters};

pub(super) const ANSWERS: &str = "gatehouse_http_requests_total";
const DURATION: &str = "gatehouse_http_request_duration_seconds";
const IN_FLIGHT: &str = "gatehouse_http_requests_in_flight";
const WORKING: &str = "gatehouse_http_requests_working";
const WORKING_MAX: &str = "gatehouse_http_requests_working_max";
pub(super) const REFUSED: &str = "gatehouse_http_requests_refused_total";
const BODIES_WAITING: &str = "gatehouse_http_bodies_waiting";
const BODIES_BYTES: &str = "gatehouse_http_bodies_bytes";
const BODIES_BYTES_MAX: &str = "gatehouse_http_bodies_bytes_max";
pub(super) const BODIES_REFUSED: &str = "gatehouse_http_bodies_refused_total";
const UNSENT_BYTES: &str = "gatehouse_http_answers_unsent_bytes";
pub(super) const UNSENT_CUT: &str = "gatehouse_http_answers_cut_total";
const OPEN: &str = "gatehouse_http_connections";
pub(super) const CLOSED: &str = "gatehouse_http_connections_closed_total";
const DRAINING: &str = "gatehouse_draining";
const CONNECTIONS: &str = "gatehouse_database_connections";
const CONNECTIONS_MAX: &str = "gatehouse_database_connections_max";
const WAITING: &str = "gatehouse_database_waiting";
const SCANS: &str = "gatehouse_database_scans_running";
pub(super) const SCANS_ENDED: &str = "gatehouse_database_scans_total";
const WAL: &str = "gatehouse_database_wal_bytes";
const OLDEST: &str = "gatehouse_database_oldest_wait_seconds";
const CERTIFICATE: &str = "gatehouse_tls_certificate_ends_timestamp_seconds";
pub(super) const EVENTS: &str = "gatehouse_events_total";
pub(super) const SEALED: &str = "gatehouse_audit_sealed_total";
pub(super) const SEALING_FAILED: &str = "gatehouse_audit_sealing_failures_total";
const UNAUTHENTICATED: &str = "gatehouse_audit_unauthenticated_entries";
const OLDEST_UNSEALED: &str = "gatehouse_audit_oldest_unsealed_seconds";
pub(super) const NETWORK: &str = "gatehouse_network_denials_total";
pub(super) const ATTESTATION: &str = "gatehouse_attestation_denials_total";
const MAKES: &str = "gatehouse_attestation_makes";
const HASHING: &str = "gatehouse_passwords_waiting";
pub(super) const ATTEMPTS: &str = "gatehouse_webhook_attempts_total";
const ATTEMPT_DURATION: &str = "gatehouse_webhook_attempt_duration_seconds";
const SENDING: &str = "gatehouse_webhook_attempts_in_flight";
const LANES: &str = "gatehouse_webhook_subscriptions_at_work";
pub(super) const UNSIGNED: &str = "gatehouse_webhook_unsigned_total";
pub(super) const QUEUE_FAILED: &str = "gatehouse_webhook_queue_failures_total";
pub(super) const SAML_BEGUN: &str = "gatehouse_saml_requests_total";
pub(super) const SAML_ANSWERED: &str = "gatehouse_saml_responses_total";
const SAML_EXAMINED: &str = "gatehouse_saml_examination_duration_seconds";
const SAML_PROVIDERS: &str = "gatehouse_saml_providers";
const SAML_EXPIRING: &str = "gatehouse_saml_certificates_expiring";
const SAML_EXPIRED: &str = "gatehouse_saml_certificates_expired";
const SAML_SOONEST: &str = "gatehouse_saml_certificate_soonest_expiry_seconds";
pub(super) const SAML_READ: &str = "gatehouse_saml_metadata_reads_total";
const BUILD: &str = "gatehouse_build_info";

/// Upper ends of the buckets, in seconds.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The same of deliveries, which may take 15.
const ATTEMPT_BUCKETS: [f64; 12] = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 15.0];

/// How often what was measured is put into its buckets, also when nobody asks for it: in seconds.
pub(super) const UPKEEP: u32 = 5;

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Where this process counts; `None` if somebody else's recorder was there first.
pub(super) fn recorder() -> Option<&'static PrometheusHandle> {
    RECORDER.get_or_init(install).as_ref()
}

fn install() -> Option<PrometheusHandle> {
    let builder = PrometheusBuilder::new();
    let builder = builder.set_buckets_for_metric(Matcher::Full(DURATION.into()), &BUCKETS).ok()?;
    let builder =
        builder.set_buckets_for_metric(Matcher::Full(ATTEMPT_DURATION.into()), &ATTEMPT_BUCKETS).ok()?;
    let handle = builder.install_recorder().ok()?;
    describe_counter!(ANSWERS, "Requests answered, by method, route of the description and status.");
    describe_histogram!(DURATION, "Seconds from a request's head to its answer, by method and route.");
    describe_gauge!(IN_FLIGHT, "Requests that are being answered.");
    describe_gauge!(WORKING, "Those of them that are worked on, and do not wait for their clients.");
    describe_gauge!(WORKING_MAX, "How many may be, for a moment; an eighth of it for longer.");
    describe_counter!(REFUSED, "Requests refused with 503 because too many were being answered.");
    describe_gauge!(BODIES_WAITING, "Request bodies that are waited for.");
    describe_gauge!(BODIES_BYTES, "Bytes that request bodies hold.");
    describe_gauge!(UNSENT_BYTES, "Bytes of large answers that clients have not read yet.");
    describe_counter!(
        UNSENT_CUT,
        "Large answers dropped because clients did not read them and their memory was needed."
    );
    describe_gauge!(BODIES_BYTES_MAX, "Bytes that request bodies may hold.");
    describe_counter!(
        BODIES_REFUSED,
        "Request bodies refused, by reason: address, memory, slow or too_large."
    );
    describe_gauge!(OPEN, "Open connections of clients.");
    describe_counter!(CLOSED, "Connections closed by the server, by reason: address, total or idle.");
    describe_gauge!(DRAINING, "1 while the server is about to end and not ready, else 0.");
    describe_gauge!(CONNECTIONS, "Open connections to the database, by what they do.");
    describe_gauge!(CONNECTIONS_MAX, "Connections to the database at most.");
    describe_gauge!(
        WAITING,
        "Units of work that wait for a connection, a reader, the writer or a turn to scan."
    );
    describe_gauge!(SCANS, "Scans that run: reads whose work grows with the tenant.");
    describe_counter!(
        SCANS_ENDED,
        "Scans that have ended, by outcome: completed, too_long, abandoned or refused."
    );
    describe_gauge!(WAL, "Bytes of the write-ahead log of an SQLite database.");
    describe_gauge!(OLDEST, "Seconds that the first of them has waited.");
    describe_gauge!(CERTIFICATE, "When the server's certificate ends, in seconds since 1970.");
    describe_counter!(EVENTS, "Entries of the ledger by requests, by code.");
    describe_counter!(SEALED, "Entries of the ledger that got their place in its log.");
    describe_counter!(SEALING_FAILED, "Times that a log could not be sealed.");
    describe_gauge!(
        UNAUTHENTICATED,
        "Audit entries that wait to be sealed and are refused, because their MAC is missing or wrong."
    );
    gauge!(UNAUTHENTICATED).set(0.0);
    describe_gauge!(OLDEST_UNSEALED, "Seconds that the oldest audit entry has waited to be sealed.");
    gauge!(OLDEST_UNSEALED).set(0.0);
    describe_counter!(NETWORK, "Requests that a network policy refused, by surface.");
    describe_counter!(ATTESTATION, "Passkeys that an attestation policy refused, by reason.");
    describe_gauge!(MAKES, "Makes of authenticators that can be proved.");
    describe_gauge!(HASHING, "Passwords that wait to be hashed.");
    describe_counter!(ATTEMPTS, "Attempts to deliver webhooks, by what they came to.");
    describe_histogram!(ATTEMPT_DURATION, "Seconds that they took.");
    describe_gauge!(SENDING, "Attempts that are being sent.");
    describe_gauge!(LANES, "Subscriptions that this instance delivers to.");
    describe_counter!(UNSIGNED, "Times that nothing could be sent as the secret could not be derived.");
    describe_counter!(QUEUE_FAILED, "Times that the database did not do what deliveries asked of it.");
    describe_counter!(SAML_BEGUN, "Sign-ins that were begun at an identity provider's.");
    describe_counter!(
        SAML_ANSWERED,
        "Responses of identity providers, by what they came to: SIGNED_IN, MFA_OWED, TESTED, or the check that failed."
    );
    describe_histogram!(SAML_EXAMINED, "Seconds that a response was examined.");
    describe_gauge!(SAML_PROVIDERS, "Identity providers of all tenants.");
    describe_gauge!(SAML_EXPIRING, "Those of them whose last signing certificate ends within 30 days.");
    describe_gauge!(
        SAML_EXPIRED,
        "Those of them whose last signing certificate has ended: nobody signs in through them."
    );
    describe_gauge!(SAML_SOONEST, "Seconds until the first of those ends that are to come.");
    describe_counter!(
        SAML_READ,
        "Looks at metadata of identity providers, by what they came to: unchanged, changed or failed."
    );
    describe_gauge!(BUILD, "1, with the version of the program and of its API description.");
    counters::register();
    Some(handle)
}

/// What counts the load.
pub(super) struct LoadMeter {
    pub(super) answering: Gauge,
    pub(super) working: Gauge,
    pub(super) refused: Counter,
    pub(super) draining: Gauge,
}

impl LoadMeter {
    /// For a server that takes this many requests at the same time.
    pub(super) fn new(limit: usize) -> Self {
        gauge!(WORKING_MAX).set(count(limit));
        let draining = gauge!(DRAINING);
        draining.set(0.0);
        Self { answering: gauge!(IN_FLIGHT), working: gauge!(WORKING), refused: counter!(REFUSED), draining }
    }
}

/// What counts request bodies.
pub(super) struct BodyMeter {
    waiting: Gauge,
    bytes: Gauge,
    refused: [(Refused, Counter); Refused::ALL.len()],
}

impl BodyMeter {
    /// For bodies that may hold this much memory.
    pub(super) fn new(memory: usize) -> Self {
        gauge!(BODIES_BYTES_MAX).set(count(memory));
        let refused =
            Refused::ALL.map(|reason| (reason, counter!(BODIES_REFUSED, "reason" => reason.as_str())));
        Self { waiting: gauge!(BODIES_WAITING), bytes: gauge!(BODIES_BYTES), refused }
    }

    /// Sets the gauges.
    pub(super) fn measure(&self, waiting: usize, bytes: usize) {
        self.waiting.set(count(waiting));
        self.bytes.set(count(bytes));
    }

    /// Counts a refusal.
    pub(super) fn refused(&self, reason: Refused) {
        if let Some((_, counter)) = self.refused.iter().find(|(known, _)| *known == reason) {
            counter.increment(1);
        }
    }
}

/// What counts large answers that are not sent yet.
pub(super) struct UnsentMeter {
    bytes: Gauge,
    cut: Counter,
}

impl UnsentMeter {
    pub(super) fn new() -> Self {
        Self { bytes: gauge!(UNSENT_BYTES), cut: counter!(UNSENT_CUT) }
    }

    /// Sets the gauge.
    pub(super) fn measure(&self, bytes: usize) {
        self.bytes.set(count(bytes));
    }

    /// Counts an answer that was dropped.
    pub(super) fn cut(&self) {
        self.cut.increment(1);
    }
}

/// What counts connections.
pub(super) struct ConnectionMeter {
    open: Gauge,
    closed: [(Closed, Counter); Closed::ALL.len()],
}

impl ConnectionMeter {
    pub(super) fn new() -> Self {
        let closed = Closed::ALL.map(|reason| (reason, counter!(CLOSED, "reason" => reason.as_str())));
        Self { open: gauge!(OPEN), closed }
    }

    /// Sets the gauge.
    pub(super) fn measure(&self, open: usize) {
        self.open.set(count(open));
    }

    /// Counts a connection that the server closed.
    pub(super) fn closed(&self, reason: Closed) {
        if let Some((_, counter)) = self.closed.iter().find(|(known, _)| *known == reason) {
            counter.increment(1);
        }
    }
}

/// Says what the database's connections and queues look like.
pub(super) fn database(figures: &Figures) {
    gauge!(CONNECTIONS, "state" => "busy").set(count(figures.open.saturating_sub(figures.idle)));
    gauge!(CONNECTIONS, "state" => "idle").set(count(figures.idle));
    gauge!(CONNECTIONS_MAX).set(count(figures.max));
    for queue in &figures.queues {
        gauge!(WAITING, "for" => queue.name).set(count(queue.waiting));
        gauge!(OLDEST, "for" => queue.name).set(queue.oldest.as_secs_f64());
    }
    if let Some(bytes) = figures.wal_bytes {
        gauge!(WAL).set(count(usize::try_from(bytes).unwrap_or(usize::MAX)));
    }
    gauge!(SCANS).set(count(figures.scans.running));
    for (outcome, ended) in &figures.scans.ended {
        counter!(SCANS_ENDED, "outcome" => outcome.as_str()).absolute(*ended);
    }
}

/// Counts entries that were committed.
pub(super) fn entered(codes: &[&'static str]) {
    for code in codes {
        counter!(EVENTS, "code" => *code).increment(1);
    }
}

/// Counts entries that got their place in the log.
pub(super) fn sealed(count_of: usize) {
    counter!(SEALED).increment(count_of as u64);
}

/// A log could not be sealed.
pub(super) fn sealing_failed() {
    counter!(SEALING_FAILED).increment(1);
}

/// Audit entries that this instance refused to seal when it looked last.
pub(super) fn unauthenticated(entries: usize) {
    gauge!(UNAUTHENTICATED).set(count(entries));
}

/// How long the oldest audit entry has waited to be sealed, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "figures are floating-point numbers")]
pub(super) fn oldest_unsealed(millis: i64) {
    gauge!(OLDEST_UNSEALED).set(millis as f64 / 1000.0);
}

/// An attempt to deliver, and how long it took in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "15 seconds at most")]
pub(super) fn attempted(outcome: &'static str, millis: i64) {
    counter!(ATTEMPTS, "outcome" => outcome).increment(1);
    histogram!(ATTEMPT_DURATION).record(millis as f64 / 1000.0);
}

/// How many attempts are being sent, and to how many subscriptions this instance delivers.
pub(super) fn delivering(in_flight: usize, subscriptions: usize) {
    gauge!(SENDING).set(count(in_flight));
    gauge!(LANES).set(count(subscriptions));
}

/// Nothing can be sent as a secret could not be derived.
pub(super) fn unsigned() {
    counter!(UNSIGNED).increment(1);
}

/// The database did not do what deliveries asked of it.
pub(super) fn queue_failed() {
    counter!(QUEUE_FAILED).increment(1);
}

/// A request that a network policy refused.
pub(super) fn network_denied(surface: &'static str) {
    counter!(NETWORK, "surface" => surface).increment(1);
}

/// A sign-in that was begun at an identity provider's.
pub(super) fn saml_begun() {
    counter!(SAML_BEGUN).increment(1);
}

/// What a response of an identity provider came to.
pub(super) fn saml_answered(outcome: &'static str) {
    counter!(SAML_ANSWERED, "outcome" => outcome).increment(1);
}

/// How long the identity providers of all tenants can go on. Without an end to come the seconds until it are no number.
#[expect(clippy::cast_precision_loss, reason = "figures are floating-point numbers")]
pub(super) fn saml_expiry(expiry: &SamlExpiry, now: Timestamp) {
    gauge!(SAML_PROVIDERS).set(expiry.providers as f64);
    gauge!(SAML_EXPIRING).set(expiry.within_30_days as f64);
    gauge!(SAML_EXPIRED).set(expiry.expired as f64);
    let seconds = |end: Timestamp| (end.unix_millis() - now.unix_millis()) as f64 / 1000.0;
    gauge!(SAML_SOONEST).set(expiry.soonest.map_or(f64::NAN, seconds));
}

/// A look at the metadata of an identity provider.
pub(super) fn saml_read(outcome: &'static str) {
    counter!(SAML_READ, "outcome" => outcome).increment(1);
}

/// How long one was examined.
pub(super) fn saml_examined(took: std::time::Duration) {
    histogram!(SAML_EXAMINED).record(took);
}

/// A passkey that an attestation policy refused.
pub(super) fn attestation_denied(reason: &'static str) {
    counter!(ATTESTATION, "reason" => reason).increment(1);
}

/// How many makes of authenticators can be proved.
pub(super) fn makes(count_of: usize) {
    gauge!(MAKES).set(count(count_of));
}

/// How many passwords wait.
pub(super) fn passwords_waiting() -> Gauge {
    gauge!(HASHING)
}

/// Says until when the server's certificate is good, in seconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "seconds are exact for 200 million years")]
pub(super) fn certificate_ends(at: i64) {
    gauge!(CERTIFICATE).set(at as f64);
}

#[expect(clippy::cast_precision_loss, reason = "figures are floating-point numbers")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Says what is running.
pub(super) fn build(spec_version: &str) {
    let labels = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("spec", spec_version.to_owned())];
    gauge!(BUILD, &labels).set(1.0);
}

/// The counters of one operation.
pub(super) struct Meter {
    method: String,
    route: String,
    duration: Histogram,
    answers: RwLock<BTreeMap<u16, Counter>>,
}

impl Meter {
    /// For a method and a route of the description, and the statuses that it describes: those begin at 0.
    pub(super) fn new(method: &str, route: &str, statuses: impl IntoIterator<Item = u16>) -> Self {
        let labels = [("method", method.to_owned()), ("route", route.to_owned())];
        let meter = Self {
            method: method.to_owned(),
            route: route.to_owned(),
            duration: histogram!(DURATION, &labels),
            answers: RwLock::default(),
        };
        for status in statuses {
            meter.counter(status).absolute(0);
        }
        meter
    }

    /// Counts an answer.
    pub(super) fn answered(&self, status: u16, took: Duration) {
        self.duration.record(took.as_secs_f64());
        self.refused(status);
    }

    /// Counts an answer that took no time and would make others look quicker than they are.
    pub(super) fn refused(&self, status: u16) {
        let known = self.answers.read().unwrap_or_else(PoisonError::into_inner).get(&status).cloned();
        known.unwrap_or_else(|| self.counter(status)).increment(1);
    }

    fn counter(&self, status: u16) -> Counter {
        let labels =
            [("method", self.method.clone()), ("route", self.route.clone()), ("status", status.to_string())];
        let counter = counter!(ANSWERS, &labels);
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        answers.entry(status).or_insert(counter).clone()
    }
}
