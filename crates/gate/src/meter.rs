//! What is counted: for `/metrics`, in the names that Prometheus advises.
//!
//! Labels are methods, routes of the description and statuses: nothing that a client can make up.

use std::{
    collections::BTreeMap,
    sync::{OnceLock, PoisonError, RwLock},
    time::Duration,
};

use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use store::PoolMetrics;

pub(crate) const ANSWERS: &str = "gatehouse_http_requests_total";
pub(crate) const DURATION: &str = "gatehouse_http_request_duration_seconds";
pub(crate) const IN_FLIGHT: &str = "gatehouse_http_requests_in_flight";
pub(crate) const WORKING: &str = "gatehouse_http_requests_working";
pub(crate) const WORKING_MAX: &str = "gatehouse_http_requests_working_max";
pub(crate) const REFUSED: &str = "gatehouse_http_requests_refused_total";
pub(crate) const BODIES_WAITING: &str = "gatehouse_http_bodies_waiting";
pub(crate) const BODIES_BYTES: &str = "gatehouse_http_bodies_bytes";
pub(crate) const BODIES_BYTES_MAX: &str = "gatehouse_http_bodies_bytes_max";
pub(crate) const BODIES_REFUSED: &str = "gatehouse_http_bodies_refused_total";
pub(crate) const UNSENT_BYTES: &str = "gatehouse_http_answers_unsent_bytes";
pub(crate) const UNSENT_CUT: &str = "gatehouse_http_answers_cut_total";
pub(crate) const OPEN: &str = "gatehouse_http_connections";
pub(crate) const CLOSED: &str = "gatehouse_http_connections_closed_total";
pub(crate) const DRAINING: &str = "gatehouse_draining";
pub(crate) const CONNECTIONS: &str = "gatehouse_database_connections";
pub(crate) const CONNECTIONS_MAX: &str = "gatehouse_database_connections_max";
pub(crate) const WAITING: &str = "gatehouse_database_waiting";
pub(crate) const SCANS: &str = "gatehouse_database_scans_running";
pub(crate) const SCANS_ENDED: &str = "gatehouse_database_scans_total";
pub(crate) const WAL: &str = "gatehouse_database_wal_bytes";
pub(crate) const OLDEST: &str = "gatehouse_database_oldest_wait_seconds";
pub(crate) const CERTIFICATE: &str = "gatehouse_tls_certificate_ends_timestamp_seconds";
pub(crate) const EVENTS: &str = "gatehouse_events_total";
pub(crate) const NETWORK: &str = "gatehouse_network_denials_total";
pub(crate) const BUILD: &str = "gatehouse_build_info";

/// Upper ends of the buckets, in seconds.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// How often what was measured is put into its buckets, also when nobody asks for it: in seconds.
pub(crate) const UPKEEP: u32 = 5;

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// A histogram, and the upper ends of its buckets in seconds.
pub type Buckets = (&'static str, &'static [f64]);

/// Where this process counts; `None` before [`install`], and where somebody else's recorder was there first.
pub(crate) fn recorder() -> Option<&'static PrometheusHandle> {
    RECORDER.get()?.as_ref()
}

/// Starts counting, before the first metric is made: these histograms beside the server's own, and what `describe` says of the
/// other metrics.
pub fn install(histograms: &[Buckets], describe: fn()) {
    RECORDER.get_or_init(|| start(histograms, describe));
}

fn start(histograms: &[Buckets], describe: fn()) -> Option<PrometheusHandle> {
    let mut builder = PrometheusBuilder::new();
    for (name, buckets) in [&[(DURATION, &BUCKETS[..])], histograms].concat() {
        builder = builder.set_buckets_for_metric(Matcher::Full(name.into()), buckets).ok()?;
    }
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
    describe_counter!(NETWORK, "Requests that a network policy refused, by surface.");
    describe_gauge!(BUILD, "1, with the version of the program and of its API description.");
    describe();
    Some(handle)
}

/// Says what the database's connections and queues look like.
pub(crate) fn database(figures: &PoolMetrics) {
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
pub fn count_recorded(codes: &[&'static str]) {
    for code in codes {
        counter!(EVENTS, "code" => *code).increment(1);
    }
}

/// A request that a network policy refused.
pub(crate) fn network_denied(surface: &'static str) {
    counter!(NETWORK, "surface" => surface).increment(1);
}

/// Says until when the server's certificate is good, in seconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "seconds are exact for 200 million years")]
pub(crate) fn certificate_ends(at: i64) {
    gauge!(CERTIFICATE).set(at as f64);
}

/// A number as metrics have it.
#[expect(clippy::cast_precision_loss, reason = "figures are floating-point numbers")]
pub fn count(number: usize) -> f64 {
    number as f64
}

/// Says what is running.
pub fn build(spec_version: &str) {
    let labels = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("spec", spec_version.to_owned())];
    gauge!(BUILD, &labels).set(1.0);
}

/// The counters of one operation.
pub(crate) struct Meter {
    method: String,
    route: String,
    duration: Histogram,
    answers: RwLock<BTreeMap<u16, Counter>>,
}

impl Meter {
    /// For a method and a route of the description, and the statuses that it describes: those begin at 0.
    pub(crate) fn new(method: &str, route: &str, statuses: impl IntoIterator<Item = u16>) -> Self {
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
    pub(crate) fn answered(&self, status: u16, took: Duration) {
        self.duration.record(took.as_secs_f64());
        self.refused(status);
    }

    /// Counts an answer that took no time and would make others look quicker than they are.
    pub(crate) fn refused(&self, status: u16) {
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
