//! The HTTP side: folder = URL.

pub mod access;
mod body;
mod client_address;
mod describe;
mod discovery;
mod entry;
mod errors;
mod lifecycle;
mod load;
mod meter;
mod operations;
pub mod permissions;
mod probes;
mod rates;
mod scim;
#[cfg(feature = "otlp")]
mod spans;
pub(crate) mod tls;
mod trace;

use std::{io, sync::Arc};

use actix_web::http::header::HeaderValue;
use store::Store;
use utoipa_actix_web::service_config::ServiceConfig;

use self::{client_address::Proxies, load::Load, meter::Meter, operations::Operations, rates::ScimRates};
use crate::{config::Settings, keys::Keys, pages};

pub use self::{
    describe::document,
    discovery::{Documents, events},
    errors::Problem,
    lifecycle::{Bound, bind},
};

/// What all workers share.
pub(crate) struct Site {
    /// What stands before every path.
    pub(crate) base_url: String,
    https: bool,
    proxies: Proxies,
    operations: Operations,
    /// Counts what names no operation.
    other: Meter,
    load: Arc<Load>,
    overloaded: errors::Overloaded,
    keys: Keys,
    /// Looked at for figures and readiness, never used for a request.
    watched: Store,
    readiness: probes::Readiness,
    spec_version: HeaderValue,
    scim_rates: ScimRates,
    /// Whether traces that begin here are recorded.
    records_traces: bool,
    #[cfg(feature = "otlp")]
    spans: Option<spans::Spans>,
    pub(crate) documents: Documents,
}

impl Site {
    fn new(
        settings: &Settings,
        base_url: String,
        keys: Keys,
        watched: Store,
        limit: usize,
    ) -> io::Result<Self> {
        let documents = Documents::new();
        meter::build(documents.spec_version());
        let here = [&probes::PATHS[..], &[probes::METRICS]].concat();
        let probes = if settings.metrics_bind.is_some() { &probes::PATHS[..] } else { &here };
        Ok(Self {
            https: base_url.starts_with("https:"),
            proxies: Proxies { trusted: settings.trusted_proxies.clone(), header: settings.proxy_header },
            operations: Operations::new(documents.openapi_json(), &pages::PATHS, probes)
                .map_err(io::Error::other)?,
            other: Meter::new("-", "-"),
            load: Load::new(limit),
            overloaded: errors::Overloaded::new(),
            keys,
            watched,
            readiness: probes::Readiness::default(),
            spec_version: HeaderValue::from_str(documents.spec_version()).map_err(io::Error::other)?,
            scim_rates: ScimRates::new(settings.scim_rates),
            records_traces: settings.otlp_endpoint.is_some(),
            #[cfg(feature = "otlp")]
            spans: settings
                .otlp_endpoint
                .as_deref()
                .map(spans::Spans::new)
                .transpose()
                .map_err(io::Error::other)?,
            documents,
            base_url,
        })
    }

    /// Brings the figures that nobody counts up to date.
    fn measure(&self) {
        meter::database(&self.watched.figures());
    }
}

/// Every operation of the API. What is not here does not exist.
pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config.configure(discovery::routes).configure(scim::routes);
}
