//! What all workers share of the path that every request takes.

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
    pending_answers::{self, PendingAnswers},
    rates::ScimRates,
    readiness::Readiness,
    refusals::Refusals,
};
use crate::keys::Keys;

/// What all workers share of the path that every request takes.
pub struct Pipeline {
    /// What stands before every path.
    pub base_url: String,
    /// Whether browsers come by TLS.
    pub https: bool,
    pub(crate) proxies: Proxies,
    pub(crate) operations: Operations,
    /// Counts requests that name no operation.
    pub(crate) other: Meter,
    /// How much is being answered.
    pub load: Arc<Load>,
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) unsent: Arc<PendingAnswers>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) overloaded: Overloaded,
    /// What signs, seals and verifies.
    pub keys: Keys,
    pub(crate) cookie_name: CookieName,
    pub(crate) locations: Option<Locations>,
    pub(crate) last_uses: LastUses,
    pub(crate) refusals: Refusals,
    pub(crate) networks: Networks,
    pub(crate) scim_rates: ScimRates,
    /// For metrics and readiness, never for a request.
    pub(crate) watched: Store,
    pub(crate) readiness: Readiness,
    pub(crate) spec_version: HeaderValue,
    /// Whether traces that begin here are recorded.
    pub(crate) records_traces: bool,
    #[cfg(feature = "otlp")]
    pub(crate) spans: Option<Spans>,
}

/// What an operator decides about it.
pub struct PipelineSettings {
    /// What stands before every path.
    pub base_url: String,
    /// Who may say where a request comes from.
    pub proxies: Proxies,
    /// Requests that are worked on at the same time.
    pub max_in_flight: usize,
    /// Bytes of all request bodies.
    pub max_body_memory: usize,
    /// Request bodies of one address that are waited for.
    pub max_bodies_per_address: usize,
    /// Connections of one address.
    pub max_connections_per_address: usize,
    /// The name of the session cookie.
    pub session_cookie: CookieName,
    /// A database of places in MaxMind's format.
    pub geo_database: Option<PathBuf>,
    /// SCIM requests a second of each tier.
    pub scim_rates: [NonZeroU32; 3],
    /// Where spans are sent to.
    pub otlp_endpoint: Option<String>,
    /// The version of the API description.
    pub spec_version: String,
    /// Whether the metrics have an address of their own.
    pub metrics_apart: bool,
}

impl Pipeline {
    /// Prepares it. `watched` is for metrics and readiness, never for a request.
    pub fn new(
        settings: PipelineSettings,
        routes: Routes<'_>,
        keys: Keys,
        watched: Store,
    ) -> io::Result<Self> {
        let here = [&operations::PROBES[..], &[operations::METRICS]].concat();
        let probes = if settings.metrics_apart { &operations::PROBES[..] } else { &here };
        Ok(Self {
            https: settings.base_url.starts_with("https:"),
            base_url: settings.base_url,
            proxies: settings.proxies,
            operations: Operations::new(routes, probes).map_err(io::Error::other)?,
            other: Meter::new("-", "-", [404, 405]),
            load: Load::new(settings.max_in_flight),
            unsent: PendingAnswers::new(pending_answers::MEMORY),
            bodies: Bodies::new(settings.max_body_memory, settings.max_bodies_per_address),
            connections: Connections::new(settings.max_connections_per_address),
            overloaded: Overloaded::new(),
            keys,
            cookie_name: settings.session_cookie,
            locations: settings.geo_database.as_deref().map(Locations::open).transpose()?,
            last_uses: LastUses::default(),
            refusals: Refusals::default(),
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

    /// Where a request comes from: the peer, or what trusted proxies say in the one header that they write.
    pub(crate) fn client_address(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let name = match self.proxies.header {
            ProxyHeader::XForwardedFor => header::X_FORWARDED_FOR,
            ProxyHeader::Forwarded => header::FORWARDED,
        };
        self.proxies.client(peer, headers.get_all(name).map(HeaderValue::as_bytes))
    }

    /// `City, Country` of an address, where places are known.
    pub fn locate(&self, address: Option<IpAddr>) -> Option<String> {
        self.locations.as_ref()?.name(address?)
    }

    /// The claims of the session cookie among these, if there is one.
    pub(crate) fn read_cookie(
        &self,
        env: &dyn Env,
        pairs: &[(&str, &str)],
    ) -> Result<Option<Claims>, NotASession> {
        self.keys.read_cookie(env, self.cookie_name, pairs)
    }

    /// Updates the gauges that nothing else counts.
    pub(crate) fn measure(&self) {
        meter::database(&self.watched.pool_metrics());
        self.bodies.measure();
        self.unsent.measure();
        self.connections.measure();
    }
}
