//! Names and descriptions of metrics.

use metrics::{describe_counter, describe_gauge, describe_histogram};

/// A metric as `/metrics` describes it.
pub struct Metric {
    /// The type of the metric.
    pub kind: Kind,
    /// `gatehouse_…`, named by Prometheus' conventions.
    pub name: &'static str,
    /// The help text, one sentence.
    pub help: &'static str,
}

/// The types of metrics.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A value that only grows.
    Counter,
    /// A current value.
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
    /// Registers the description with the recorder.
    pub(crate) fn describe(&self) {
        match self.kind {
            Kind::Counter => describe_counter!(self.name, self.help),
            Kind::Gauge => describe_gauge!(self.name, self.help),
            Kind::Histogram => describe_histogram!(self.name, self.help),
        }
    }
}

/// Declares a constant with the name of each metric, and `METRICS` with all of them.
#[macro_export]
macro_rules! metrics {
    ($($vis:vis $constant:ident: $kind:ident = $name:literal, $help:literal;)*) => {
        $($vis const $constant: &str = $name;)*

        /// The metrics of this module.
        pub(crate) const METRICS: &[$crate::metric::Metric] = &[
            $($crate::metric::Metric { kind: $crate::metric::Kind::$kind, name: $name, help: $help },)*
        ];
    };
}
