//! What is counted: for `/metrics`, in the names that Prometheus advises.
//!
//! Labels are methods, routes of the description and statuses: nothing that a client can make up.

use std::{
    collections::BTreeMap,
    sync::{OnceLock, PoisonError, RwLock},
    time::Duration,
};

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

const ANSWERS: &str = "gatehouse_http_requests_total";
const DURATION: &str = "gatehouse_http_request_duration_seconds";
const IN_FLIGHT: &str = "gatehouse_http_requests_in_flight";
const BUILD: &str = "gatehouse_build_info";

/// Upper ends of the buckets, in seconds.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// How often what was measured is put into its buckets, also when nobody asks for it.
pub(super) const UPKEEP: Duration = Duration::from_secs(5);

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Where this process counts; `None` if somebody else's recorder was there first.
pub(super) fn recorder() -> Option<&'static PrometheusHandle> {
    RECORDER.get_or_init(install).as_ref()
}

fn install() -> Option<PrometheusHandle> {
    let builder = PrometheusBuilder::new();
    let builder = builder.set_buckets_for_metric(Matcher::Full(DURATION.into()), &BUCKETS).ok()?;
    let handle = builder.install_recorder().ok()?;
    describe_counter!(ANSWERS, "Requests answered, by method, route of the description and status.");
    describe_histogram!(DURATION, "Seconds from a request's head to its answer, by method and route.");
    describe_gauge!(IN_FLIGHT, "Requests that are being answered.");
    describe_gauge!(BUILD, "1, with the version of the program and of its API description.");
    Some(handle)
}

/// What counts the requests that are being answered.
pub(super) fn in_flight() -> Gauge {
    gauge!(IN_FLIGHT)
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
    /// For a method and a route of the description.
    pub(super) fn new(method: &str, route: &str) -> Self {
        let labels = [("method", method.to_owned()), ("route", route.to_owned())];
        Self {
            method: method.to_owned(),
            route: route.to_owned(),
            duration: histogram!(DURATION, &labels),
            answers: RwLock::default(),
        }
    }

    /// Counts an answer.
    pub(super) fn answered(&self, status: u16, took: Duration) {
        self.duration.record(took.as_secs_f64());
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

/// A request that is being answered, until it is dropped.
pub(super) struct InFlight(Gauge);

impl InFlight {
    /// Counts one more.
    pub(super) fn begin(gauge: &Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
