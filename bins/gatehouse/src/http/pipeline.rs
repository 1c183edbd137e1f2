//! What all workers share of the path that every request takes.

use std::{net::IpAddr, sync::Arc};

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
    load::Load,
    locations::Locations,
    meter::{self, Meter},
    network::Networks,
    operations::Operations,
    rates::ScimRates,
    readiness::Readiness,
    refusals::Refusals,
    unsent::Unsent,
    uses::LastUses,
};
use crate::keys::Keys;

/// What all workers share of the path that every request takes.
pub(crate) struct Pipeline {
    /// What stands before every path.
    pub(crate) base_url: String,
    pub(super) https: bool,
    pub(super) proxies: Proxies,
    pub(super) operations: Operations,
    /// Counts requests that name no operation.
    pub(super) other: Meter,
    pub(super) load: Arc<Load>,
    pub(super) bodies: Arc<Bodies>,
    pub(super) unsent: Arc<Unsent>,
    pub(super) connections: Arc<Connections>,
    pub(super) overloaded: Overloaded,
    pub(crate) keys: Keys,
    pub(super) cookie_name: CookieName,
    pub(super) locations: Option<Locations>,
    pub(super) last_uses: LastUses,
    pub(super) refusals: Refusals,
    pub(super) networks: Networks,
    pub(super) scim_rates: ScimRates,
    /// For metrics and readiness, never for a request.
    pub(super) watched: Store,
    pub(super) readiness: Readiness,
    pub(super) spec_version: HeaderValue,
    /// Whether traces that begin here are recorded.
    pub(super) records_traces: bool,
    #[cfg(feature = "otlp")]
    pub(super) spans: Option<Spans>,
}

impl Pipeline {
    /// Where a request comes from: the peer, or what trusted proxies say in the one header that they write.
    pub(super) fn client_address(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let name = match self.proxies.header {
            ProxyHeader::XForwardedFor => header::X_FORWARDED_FOR,
            ProxyHeader::Forwarded => header::FORWARDED,
        };
        self.proxies.client(peer, headers.get_all(name).map(HeaderValue::as_bytes))
    }

    /// `City, Country` of an address, where places are known.
    pub(super) fn locate(&self, address: Option<IpAddr>) -> Option<String> {
        self.locations.as_ref()?.name(address?)
    }

    /// The claims of the session cookie among these, if there is one.
    pub(super) fn read_cookie(
        &self,
        env: &dyn Env,
        pairs: &[(&str, &str)],
    ) -> Result<Option<Claims>, NotASession> {
        self.keys.read_cookie(env, self.cookie_name, pairs)
    }

    /// Updates the gauges that nothing else counts.
    pub(super) fn measure(&self) {
        meter::database(&self.watched.figures());
        self.bodies.measure();
        self.unsent.measure();
        self.connections.measure();
    }
}
