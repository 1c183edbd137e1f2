//! Sends a span for each request to an OpenTelemetry collector, by OTLP over HTTP.

use std::{
    thread,
    time::{Duration, UNIX_EPOCH},
};

use kernel::{Timestamp, TraceContext};
use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor},
};

/// Time limit for sending a batch.
const SEND: Duration = Duration::from_secs(5);
/// Time limit for sending the last spans at shutdown.
const FLUSH: Duration = Duration::from_secs(2);

/// The exporter of spans. A thread of the library batches them and drops them when it falls behind.
pub(crate) struct Spans(BatchSpanProcessor);

/// The attributes of a request's span. The names follow OpenTelemetry's semantic conventions for HTTP.
pub(crate) struct RequestSpan<'a> {
    pub(crate) trace: &'a TraceContext,
    pub(crate) method: &'a str,
    pub(crate) route: &'a str,
    pub(crate) status: u16,
    pub(crate) request_id: &'a str,
    pub(crate) tenant: Option<&'a str>,
    pub(crate) ended: Timestamp,
    pub(crate) took: Duration,
}

/// Creates a client that follows no redirect. It is created in a thread of its own, because it blocks on a runtime, which
/// a thread of another runtime must not do.
fn client() -> Result<reqwest::blocking::Client, String> {
    let build = || {
        let client = reqwest::blocking::Client::builder().timeout(SEND);
        client.redirect(reqwest::redirect::Policy::none()).build().map_err(|error| error.to_string())
    };
    thread::spawn(build).join().map_err(|_panic| "the HTTP client cannot be created".to_owned())?
}

impl Spans {
    /// Creates an exporter to `{endpoint}/v1/traces`.
    pub(crate) fn new(endpoint: &str) -> Result<Self, String> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{endpoint}/v1/traces"))
            .with_timeout(SEND)
            .with_http_client(client()?)
            .build()
            .map_err(|error| format!("otlp_endpoint: {error}"))?;
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        let resource = Resource::builder_empty().with_service_name("gatehouse");
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        processor.set_resource(&resource.with_attribute(version).build());
        Ok(Self(processor))
    }

    /// Sends the span of an answered request, if its trace is recorded.
    pub(crate) fn answered(&self, answered: &RequestSpan<'_>) {
        if !answered.trace.is_sampled() {
            return;
        }
        let (trace, span, parent) = answered.trace.ids();
        let context = SpanContext::new(
            TraceId::from_bytes(trace),
            SpanId::from_bytes(span),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        );
        let ended = UNIX_EPOCH + Duration::from_millis(answered.ended.unix_millis().unsigned_abs());
        let mut attributes = vec![
            KeyValue::new("http.request.method", answered.method.to_owned()),
            KeyValue::new("http.route", answered.route.to_owned()),
            KeyValue::new("http.response.status_code", i64::from(answered.status)),
            KeyValue::new("gatehouse.request_id", answered.request_id.to_owned()),
        ];
        attributes.extend(answered.tenant.map(|tenant| KeyValue::new("gatehouse.tenant", tenant.to_owned())));
        let failed = answered.status >= 500;
        self.0.on_end(SpanData {
            span_context: context,
            parent_span_id: parent.map_or(SpanId::INVALID, SpanId::from_bytes),
            parent_span_is_remote: parent.is_some(),
            span_kind: SpanKind::Server,
            name: format!("{} {}", answered.method, answered.route).into(),
            start_time: ended - answered.took,
            end_time: ended,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: if failed { Status::error("") } else { Status::Unset },
            instrumentation_scope: InstrumentationScope::builder("gatehouse").build(),
        });
    }

    /// Sends the remaining spans.
    pub(crate) fn end(&self) {
        if let Err(problem) = self.0.shutdown_with_timeout(FLUSH) {
            tracing::warn!(%problem, "cannot send the last spans");
        }
    }
}
