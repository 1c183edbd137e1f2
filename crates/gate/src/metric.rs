//! What a metric is called, and what it counts.

use metrics::{describe_counter, describe_gauge, describe_histogram};

/// A metric as `/metrics` describes it.
pub struct Metric {
    /// Its kind, as Prometheus has it.
    pub kind: Kind,
    /// `gatehouse_…`, in the names that Prometheus advises.
    pub name: &'static str,
    /// What it counts, in one sentence.
    pub help: &'static str,
}

/// The kinds of metrics.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Is as it is now.
    Gauge,
    /// Durations in buckets.
    Histogram,
}

impl Kind {
    /// Returns the type as the Prometheus text format names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Metric {
    /// Tells the recorder what the metric is.
    pub(crate) fn describe(&self) {
        match self.kind {
            Kind::Counter => describe_counter!(self.name, self.help),
            Kind::Gauge => describe_gauge!(self.name, self.help),
            Kind::Histogram => describe_histogram!(self.name, self.help),
        }
    }
}

/// Declares metrics: a constant with the name of each, and `METRICS` with all of them.
#[macro_export]
macro_rules! metrics {
    ($($vis:vis $constant:ident: $kind:ident = $name:literal, $help:literal;)*) => {
        $($vis const $constant: &str = $name;)*

        /// The metrics of this file.
        pub(crate) const METRICS: &[$crate::metric::Metric] = &[
            $($crate::metric::Metric { kind: $crate::metric::Kind::$kind, name: $name, help: $help },)*
        ];
    };
}
