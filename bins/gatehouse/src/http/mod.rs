//! The HTTP side: folder = URL.

pub mod access;
mod attestation;
mod auth;
mod bodies;
mod body;
mod connections;
mod cookies;
mod counters;
mod deliveries;
mod describe;
mod discovery;
mod document;
mod entry;
mod errors;
mod lifecycle;
mod load;
mod locations;
mod lockout;
mod me;
mod meter;
mod network;
mod operations;
mod paging;
mod people;
pub mod permissions;
mod probes;
mod rates;
mod refusals;
mod saml;
mod scim;
mod sealer;
mod settings;
mod shape;
#[cfg(feature = "otlp")]
mod spans;
pub mod step_up;
mod tally;
pub(crate) mod tls;
mod trace;
mod unsent;
mod uses;
mod waits;

use std::{
    io,
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use actix_web::{
    HttpRequest,
    http::header::{self, HeaderMap, HeaderValue},
};
use credentials::{Passkeys, Passwords};
use netpolicy::{Proxies, ProxyHeader};
use ring::digest;
use sessions::CookieName;
use store::Store;
use utoipa_actix_web::service_config::ServiceConfig;

use self::{
    auth::Hashing, bodies::Bodies, connections::Connections, load::Load, locations::Locations, meter::Meter,
    operations::Operations, rates::ScimRates, unsent::Unsent, uses::LastUses,
};
use crate::{config::Settings, dns::Dns, keys::Keys, mail::Mail, makers::Makers, pages};

pub(crate) use self::{
    access::lifetime,
    attestation::known_as,
    document::Document,
    entry::PAGE_POLICY,
    lockout::missing as missing_to_sign_in,
    me::tokens::created as pat_created,
    settings::{
        Around, AttestationImpact, ShownProvider, change_network_policy, change_policy, check_policy,
        impact_of,
    },
};
pub use self::{
    counters::{KnownCounter, known_counters},
    describe::document,
    discovery::{Documents, events},
    errors::Problem,
    lifecycle::{Bound, Parts, bind},
    shape::AreaProblem,
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
    bodies: Arc<Bodies>,
    unsent: Arc<Unsent>,
    connections: Arc<Connections>,
    overloaded: errors::Overloaded,
    keys: Keys,
    /// What authenticator apps and passkeys call this installation.
    name: String,
    cookie_name: CookieName,
    hashing: Hashing,
    /// `None` where the address of the server cannot be that of a relying party.
    passkeys: Option<Passkeys>,
    pub(crate) mail: Option<Mail>,
    locations: Option<Locations>,
    last_uses: LastUses,
    refusals: refusals::Refusals,
    networks: network::Networks,
    exports: settings::Exports,
    /// How long an export of the audit log may take.
    export_limit: Duration,
    /// Until when entries without a MAC are sealed.
    accept_missing_macs_until: Option<kernel::Timestamp>,
    /// Who is trusted to say of what make an authenticator is.
    makers: Arc<Makers>,
    /// Looked at for figures and readiness, never used for a request.
    watched: Store,
    readiness: probes::Readiness,
    spec_version: HeaderValue,
    webhooks: deliveries::Webhooks,
    saml: saml::Saml,
    dns: Dns,
    scim_rates: ScimRates,
    /// Whether traces that begin here are recorded.
    records_traces: bool,
    #[cfg(feature = "otlp")]
    spans: Option<spans::Spans>,
    pub(crate) documents: Documents,
    /// The page that shows them, from its first request on.
    pub(crate) reference: OnceLock<Document>,
}

impl Site {
    fn new(
        settings: &Settings,
        base_url: String,
        keys: Keys,
        watched: Store,
        limit: usize,
        makers: Arc<Makers>,
    ) -> io::Result<Self> {
        let documents = Documents::new();
        meter::build(documents.spec_version());
        let here = [&probes::PATHS[..], &[probes::METRICS]].concat();
        let probes = if settings.metrics_bind.is_some() { &probes::PATHS[..] } else { &here };
        Ok(Self {
            https: base_url.starts_with("https:"),
            proxies: Proxies { trusted: settings.trusted_proxies.clone(), header: settings.proxy_header },
            operations: if settings.role.answers() {
                Operations::new(documents.openapi_json(), &pages::OPEN, &pages::SIGNED_IN, probes)
            } else {
                Operations::new(&serde_json::Value::Null, &[], &[], probes)
            }
            .map_err(io::Error::other)?,
            webhooks: deliveries::Webhooks::new(&settings.webhooks).map_err(io::Error::other)?,
            other: Meter::new("-", "-", [404, 405]),
            load: Load::new(limit),
            unsent: Unsent::new(unsent::MEMORY),
            bodies: Bodies::new(settings.max_body_memory, settings.max_bodies_per_address),
            connections: Connections::new(settings.max_connections_per_address),
            overloaded: errors::Overloaded::new(),
            keys,
            name: NAME.to_owned(),
            cookie_name: settings.session_cookie,
            hashing: Hashing::new(Passwords::new(settings.password_cost))?,
            passkeys: Passkeys::new(NAME, &base_url)
                .map_err(|error| tracing::warn!(%error, "passkeys cannot be used"))
                .ok(),
            mail: Mail::new(settings, &base_url).map_err(io::Error::other)?,
            locations: settings.geo_database.as_deref().map(Locations::open).transpose()?,
            last_uses: LastUses::default(),
            refusals: refusals::Refusals::default(),
            networks: network::Networks::default(),
            exports: settings::Exports::default(),
            export_limit: settings.export_limit,
            accept_missing_macs_until: settings.audit_accept_missing_macs_until,
            makers,
            watched,
            readiness: probes::Readiness::default(),
            spec_version: HeaderValue::from_str(documents.spec_version()).map_err(io::Error::other)?,
            dns: Dns::new(settings.dns_servers.clone()),
            saml: saml::Saml::new(settings.return_origins.clone()),
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
            reference: OnceLock::new(),
            base_url,
        })
    }

    /// The ceremonies of passkeys.
    fn passkeys(&self) -> Result<&Passkeys, Problem> {
        self.passkeys
            .as_ref()
            .ok_or_else(|| Problem::conflict("CONFLICT", "passkeys need a base_url with the name of a host"))
    }

    /// Where a request comes from: the peer, or what trusted proxies say in the one header that they write.
    fn client_address(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let name = match self.proxies.header {
            ProxyHeader::XForwardedFor => header::X_FORWARDED_FOR,
            ProxyHeader::Forwarded => header::FORWARDED,
        };
        self.proxies.client(peer, headers.get_all(name).map(HeaderValue::as_bytes))
    }

    /// Where a sign-in leads to that was to go there: a place of ours, or of an origin that the operator has named.
    pub(crate) fn place_after(&self, asked: Option<&str>) -> String {
        pages::next::local_or_of(&self.base_url, self.saml.return_origins(), asked)
    }

    /// Whether any make of authenticators can be proved here.
    pub(crate) fn can_prove_makes(&self) -> bool {
        self.makers.can_prove_any()
    }

    /// `City, Country` of an address, where places are known.
    fn locate(&self, address: Option<IpAddr>) -> Option<String> {
        self.locations.as_ref()?.name(address?)
    }

    /// Brings the figures that nobody counts up to date.
    fn measure(&self) {
        meter::database(&self.watched.figures());
        self.bodies.measure();
        self.unsent.measure();
        self.connections.measure();
    }
}

/// What authenticator apps and passkeys call this installation.
const NAME: &str = "Gatehouse";

/// SHA-256.
fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// The value of this name in the query of an address.
pub(crate) fn query(request: &HttpRequest, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(request.query_string().as_bytes());
    pairs.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

/// What a client calls itself.
fn user_agent(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}

/// Every operation of the API. What is not here does not exist.
pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config
        .configure(discovery::routes)
        .configure(auth::routes)
        .configure(saml::routes)
        .configure(me::routes)
        .configure(people::routes)
        .configure(settings::routes)
        .configure(scim::routes);
}
