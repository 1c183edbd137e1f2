//! Metrics for `/metrics`, named by Prometheus' conventions.
//!
//! Labels are methods, routes of the API description, and statuses. Clients cannot create new values.

use std::{
    collections::BTreeMap,
    sync::{OnceLock, PoisonError, RwLock},
    time::Duration,
};

use metrics::{Counter, Histogram, counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use store::PoolMetrics;

use crate::{metric::Metric, metrics};

metrics! {
    pub(crate) ANSWERS: Counter = "gatehouse_http_requests_total",
        "HTTP requests answered, by method, route and status.";
    pub(crate) DURATION: Histogram = "gatehouse_http_request_duration_seconds",
        "Time from request head to response in seconds, by method and route.";
    pub(crate) IN_FLIGHT: Gauge = "gatehouse_http_requests_in_flight",
        "HTTP requests in flight.";
    pub(crate) WORKING: Gauge = "gatehouse_http_requests_working",
        "HTTP requests being processed, without those that wait for their client.";
    pub(crate) WORKING_MAX: Gauge = "gatehouse_http_requests_working_max",
        "Limit of requests being processed for short bursts; sustained load is limited to a quarter.";
    pub(crate) REFUSED: Counter = "gatehouse_http_requests_refused_total",
        "Requests refused with 503 because the server was overloaded.";
    pub(crate) BODIES_WAITING: Gauge = "gatehouse_http_bodies_waiting",
        "Request bodies not completely received.";
    pub(crate) BODIES_BYTES: Gauge = "gatehouse_http_bodies_bytes",
        "Memory used by request bodies in bytes.";
    pub(crate) BODIES_BYTES_MAX: Gauge = "gatehouse_http_bodies_bytes_max",
        "Limit of memory for request bodies in bytes.";
    pub(crate) BODIES_REFUSED: Counter = "gatehouse_http_bodies_refused_total",
        "Request bodies refused, by reason: address, memory, slow or too_large.";
    pub(crate) UNSENT_BYTES: Gauge = "gatehouse_http_answers_unsent_bytes",
        "Bytes of large responses not yet read by clients.";
    pub(crate) UNSENT_CUT: Counter = "gatehouse_http_answers_cut_total",
        "Large responses dropped because clients did not read them and memory was needed.";
    pub(crate) OPEN: Gauge = "gatehouse_http_connections",
        "Open client connections.";
    pub(crate) CLOSED: Counter = "gatehouse_http_connections_closed_total",
        "Connections closed by the server, by reason: address, total or idle.";
    pub(crate) DRAINING: Gauge = "gatehouse_draining",
        "1 while the server drains before shutdown, else 0.";
    pub(crate) CONNECTIONS: Gauge = "gatehouse_database_connections",
        "Open database connections, by state.";
    pub(crate) CONNECTIONS_MAX: Gauge = "gatehouse_database_connections_max",
        "Limit of database connections.";
    pub(crate) SILENT_NODES: Gauge = "gatehouse_database_silent_nodes",
        "Nodes of a distributed database that did not answer the last probe of /readyz.";
    pub(crate) WAITING: Gauge = "gatehouse_database_waiting",
        "Transactions waiting for a database connection, the writer of SQLite, or a slot for an unindexed search.";
    pub(crate) SCANS: Gauge = "gatehouse_database_scans_running",
        "Running scans: reads whose cost grows with the size of the tenant.";
    pub(crate) SCANS_ENDED: Counter = "gatehouse_database_scans_total",
        "Finished scans, by outcome: completed, too_long, abandoned or refused.";
    pub(crate) WAL: Gauge = "gatehouse_database_wal_bytes",
        "Size of SQLite's write-ahead log in bytes.";
    pub(crate) OLDEST: Gauge = "gatehouse_database_oldest_wait_seconds",
        "Time in seconds that the longest-waiting transaction has waited.";
    pub(crate) DATABASE_CERTIFICATE: Gauge = "gatehouse_database_certificate_ends_timestamp_seconds",
        "Expiry of the client certificate for PostgreSQL as a Unix timestamp in seconds.";
    pub(crate) CERTIFICATE: Gauge = "gatehouse_tls_certificate_ends_timestamp_seconds",
        "Expiry of the TLS certificate as a Unix timestamp in seconds.";
    pub(crate) EVENTS: Counter = "gatehouse_events_total",
        "Audit entries written by requests, by event code.";
    pub(crate) NETWORK: Counter = "gatehouse_network_denials_total",
        "Requests blocked by a network policy, by surface.";
    pub(crate) BUILD: Gauge = "gatehouse_build_info",
        "1, labelled with the version of the server and of its API description.";
}

/// Returns the metrics that every server has.
pub fn server_metrics() -> &'static [Metric] {
    METRICS
}

/// Upper bounds of the buckets, in seconds.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Interval of the recorder's upkeep in seconds, which moves samples to their buckets even without scrapes.
pub(crate) const UPKEEP: u32 = 5;

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// A histogram, and the upper bounds of its buckets in seconds.
pub type Buckets = (&'static str, &'static [f64]);

/// Returns this process's recorder. `None` before [`install`], or if another recorder was installed first.
pub(crate) fn recorder() -> Option<&'static PrometheusHandle> {
    RECORDER.get()?.as_ref()
}

/// Installs the recorder, with additional histograms and metrics. Must run before the first metric is created.
/// Returns whether this call installed it, in which case counters can be initialized to 0.
pub fn install(histograms: &[Buckets], others: &[Metric]) -> bool {
    let mut has_begun = false;
    RECORDER.get_or_init(|| start(histograms, others).inspect(|_| has_begun = true));
    has_begun
}

fn start(histograms: &[Buckets], others: &[Metric]) -> Option<PrometheusHandle> {
    let mut builder = PrometheusBuilder::new();
    for (name, buckets) in [&[(DURATION, &BUCKETS[..])], histograms].concat() {
        builder = builder.set_buckets_for_metric(Matcher::Full(name.into()), buckets).ok()?;
    }
    let handle = builder.install_recorder().ok()?;
    METRICS.iter().chain(others).for_each(Metric::describe);
    Some(handle)
}

/// Updates the gauge of the nodes that do not answer.
pub(crate) fn silent_nodes(nodes: usize) {
    gauge!(SILENT_NODES).set(count(nodes));
}

/// Updates the gauges of the database's connections and queues.
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
    if let Some(ends) = figures.certificate_ends {
        gauge!(DATABASE_CERTIFICATE).set(seconds(ends));
    }
    gauge!(SCANS).set(count(figures.scans.running));
    for (outcome, ended) in &figures.scans.ended {
        counter!(SCANS_ENDED, "outcome" => outcome.as_str()).absolute(*ended);
    }
}

/// Counts committed audit entries.
pub fn count_recorded(codes: &[&'static str]) {
    for code in codes {
        counter!(EVENTS, "code" => *code).increment(1);
    }
}

/// Counts a request that a network policy blocked.
pub(crate) fn network_denied(surface: &'static str) {
    counter!(NETWORK, "surface" => surface).increment(1);
}

/// Sets the expiry of the server's certificate, in seconds since 1970.
pub(crate) fn certificate_ends(at: i64) {
    gauge!(CERTIFICATE).set(seconds(at));
}

/// Converts a time in seconds since 1970 to a metric's value.
#[expect(clippy::cast_precision_loss, reason = "seconds are exact for 200 million years")]
fn seconds(at: i64) -> f64 {
    at as f64
}

/// Converts a number to a metric's value.
#[expect(clippy::cast_precision_loss, reason = "metrics are floating-point numbers")]
pub fn count(number: usize) -> f64 {
    number as f64
}

/// Sets the metric with the running version.
pub fn build(spec_version: &str) {
    let labels = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("spec", spec_version.to_owned())];
    gauge!(BUILD, &labels).set(1.0);
}

/// The metrics of one operation.
pub(crate) struct Meter {
    method: String,
    route: String,
    duration: Histogram,
    answers: RwLock<BTreeMap<u16, Counter>>,
}

impl Meter {
    /// Creates the metrics of an operation. Counters of the statuses that the API description lists start at 0.
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

    /// Counts a response and its duration.
    pub(crate) fn answered(&self, status: u16, took: Duration) {
        self.duration.record(took.as_secs_f64());
        self.refused(status);
    }

    /// Counts a response without its duration, which was too short to be representative.
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
