//! The state of the request pipeline, shared by all workers.

use std::{io, net::IpAddr, num::NonZeroU32, path::PathBuf, sync::Arc};

use actix_web::http::header::{self, HeaderMap, HeaderValue};
use kernel::Env;
use netpolicy::{Proxies, ProxyHeader};
use sessions::{Claims, CookieName, NotASession};
use store::Store;

#[cfg(feature = "otlp")]
use super::spans::Spans;
use super::{
    bodies::Bodies,
    connections::Connections,
    errors::Overloaded,
    last_uses::LastUses,
    load::Load,
    locations::Locations,
    meter::{self, Meter},
    network::Networks,
    operations::{self, Operations, Routes},
    pending_responses::{self, PendingResponses},
    rates::ScimRates,
    readiness::Readiness,
    refusals::Refusals,
    scim_refusals::ScimRefusals,
};
use crate::keys::Keys;

/// The state of the request pipeline, shared by all workers.
pub struct Pipeline {
    /// The base URL.
    pub base_url: String,
    /// Whether browsers connect by HTTPS.
    pub https: bool,
    pub(crate) proxies: Proxies,
    pub(crate) operations: Operations,
    /// Metrics of requests that match no operation.
    pub(crate) other: Meter,
    /// The requests in progress.
    pub load: Arc<Load>,
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) unsent: Arc<PendingResponses>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) overloaded: Overloaded,
    /// The keys for signing, sealing and verifying.
    pub keys: Keys,
    pub(crate) cookie_name: CookieName,
    /// Whether sessions are bound to keys of browsers.
    pub device_bound_sessions: bool,
    pub(crate) locations: Option<Locations>,
    pub(crate) last_uses: LastUses,
    pub(crate) refusals: Refusals,
    pub(crate) scim_refusals: ScimRefusals,
    pub(crate) networks: Networks,
    pub(crate) scim_rates: ScimRates,
    /// For metrics and readiness, never for requests.
    pub(crate) watched: Store,
    pub(crate) readiness: Readiness,
    pub(crate) spec_version: HeaderValue,
    /// Whether traces that begin here are recorded.
    pub(crate) records_traces: bool,
    #[cfg(feature = "otlp")]
    pub(crate) spans: Option<Spans>,
}

/// The operator's settings for the pipeline.
pub struct PipelineSettings {
    /// The base URL.
    pub base_url: String,
    /// The proxies whose forwarding header is trusted.
    pub proxies: Proxies,
    /// Maximum number of concurrent requests.
    pub max_in_flight: usize,
    /// Maximum memory of all request bodies, in bytes.
    pub max_body_memory: usize,
    /// Maximum number of pending request bodies per address.
    pub max_bodies_per_address: usize,
    /// Maximum number of connections per address.
    pub max_connections_per_address: usize,
    /// The name of the session cookie.
    pub session_cookie: CookieName,
    /// Whether sessions are bound to keys of browsers. Ignored without HTTPS.
    pub device_bound_sessions: bool,
    /// The path of a location database in MaxMind's format.
    pub geo_database: Option<PathBuf>,
    /// SCIM requests per second for each tier.
    pub scim_rates: [NonZeroU32; 3],
    /// The OTLP endpoint for spans.
    pub otlp_endpoint: Option<String>,
    /// The version of the API description.
    pub spec_version: String,
    /// Whether metrics have their own address.
    pub metrics_apart: bool,
}

impl Pipeline {
    /// Builds the pipeline. `watched` is for metrics and readiness, never for requests.
    pub fn new(
        settings: PipelineSettings,
        routes: Routes<'_>,
        keys: Keys,
        watched: Store,
    ) -> io::Result<Self> {
        let here = [&operations::PROBES[..], &[operations::METRICS]].concat();
        let probes = if settings.metrics_apart { &operations::PROBES[..] } else { &here };
        let https = settings.base_url.starts_with("https:");
        Ok(Self {
            https,
            device_bound_sessions: settings.device_bound_sessions && https,
            base_url: settings.base_url,
            proxies: settings.proxies,
            operations: Operations::new(routes, probes).map_err(io::Error::other)?,
            other: Meter::new("-", "-", [404, 405]),
            load: Load::new(settings.max_in_flight),
            unsent: PendingResponses::new(pending_responses::MEMORY),
            bodies: Bodies::new(settings.max_body_memory, settings.max_bodies_per_address),
            connections: Connections::new(settings.max_connections_per_address),
            overloaded: Overloaded::new(),
            keys,
            cookie_name: settings.session_cookie,
            locations: settings.geo_database.as_deref().map(Locations::open).transpose()?,
            last_uses: LastUses::default(),
            refusals: Refusals::default(),
            scim_refusals: ScimRefusals::default(),
            networks: Networks::default(),
            watched,
            readiness: Readiness::default(),
            spec_version: HeaderValue::try_from(settings.spec_version).map_err(io::Error::other)?,
            scim_rates: ScimRates::new(settings.scim_rates),
            records_traces: settings.otlp_endpoint.is_some(),
            #[cfg(feature = "otlp")]
            spans: settings.otlp_endpoint.as_deref().map(Spans::new).transpose().map_err(io::Error::other)?,
        })
    }

    /// Returns the client's address: the peer's, or the one in the trusted proxies' forwarding header.
    pub(crate) fn client_address(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let name = match self.proxies.header {
            ProxyHeader::XForwardedFor => header::X_FORWARDED_FOR,
            ProxyHeader::Forwarded => header::FORWARDED,
        };
        self.proxies.client(peer, headers.get_all(name).map(HeaderValue::as_bytes))
    }

    /// Returns `City, Country` of an address, if known.
    pub fn locate(&self, address: Option<IpAddr>) -> Option<String> {
        self.locations.as_ref()?.name(address?)
    }

    /// Returns the claims of the session cookie among these cookies, if there is one.
    pub(crate) fn read_cookie(
        &self,
        env: &dyn Env,
        pairs: &[(&str, &str)],
    ) -> Result<Option<Claims>, NotASession> {
        self.keys.read_cookie(env, self.cookie_name, pairs)
    }

    /// Updates the gauges that are computed on demand.
    pub(crate) fn measure(&self) {
        meter::database(&self.watched.pool_metrics());
        self.bodies.measure();
        self.unsent.measure();
        self.connections.measure();
    }
}
