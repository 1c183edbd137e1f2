//! The HTTP side: folder = URL.

mod area_metrics;
mod attestation;
mod auth;
mod counters;
mod deliveries;
mod describe;
mod discovery;
mod document;
mod lifecycle;
mod lockout;
mod me;
mod paging;
mod people;
mod saml;
mod scim;
mod sealer;
mod settings;
mod waits;

use std::{io, sync::Arc};

use actix_web::{HttpRequest, web};
use credentials::Passkeys;
use netpolicy::Proxies;
use ring::digest;
use store::Store;
use utoipa_actix_web::service_config::ServiceConfig;

use self::auth::Auth;
use crate::{config::Settings, dns::Dns, mail::Mail, makers::Makers, pages};
use gate::{errors::Problem, keys::Keys, meter};
use gate::{
    operations::{Manner, Routes},
    pipeline::{Pipeline, PipelineSettings},
};

pub(crate) use self::{
    attestation::known_as,
    document::Document,
    lockout::missing as missing_to_sign_in,
    me::tokens::created as pat_created,
    settings::{
        Around, AttestationImpact, ShownProvider, change_network_policy, change_policy, check_policy,
        impact_of,
    },
};
pub use self::{
    counters::known_counters,
    describe::document,
    discovery::{Documents, events},
    lifecycle::{Bound, Parts, bind},
};

/// What the routes of all workers share, by area.
pub(crate) struct Site {
    /// The path of every request.
    pub(crate) pipeline: web::Data<Pipeline>,
    /// Signing in.
    auth: Auth,
    pub(crate) mail: Option<Mail>,
    saml: saml::Saml,
    webhooks: deliveries::Webhooks,
    audit: settings::AuditLogs,
    /// Who is trusted to say of what make an authenticator is.
    makers: Arc<Makers>,
    dns: Dns,
    pub(crate) documents: Documents,
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
        Ok(Self {
            webhooks: deliveries::Webhooks::new(&settings.webhooks).map_err(io::Error::other)?,
            auth: Auth::new(settings, &base_url)?,
            mail: Mail::new(settings, &base_url).map_err(io::Error::other)?,
            audit: settings::AuditLogs::new(settings),
            makers,
            dns: Dns::new(settings.dns_servers.clone()),
            saml: saml::Saml::new(settings.return_origins.clone()),
            pipeline: web::Data::new(pipeline(settings, base_url, keys, watched, limit, &documents)?),
            documents,
        })
    }

    /// The ceremonies of passkeys.
    fn passkeys(&self) -> Result<&Passkeys, Problem> {
        self.auth
            .passkeys
            .as_ref()
            .ok_or_else(|| Problem::conflict("CONFLICT", "passkeys need a base_url with the name of a host"))
    }

    /// Where a sign-in leads to that was to go there: a place of ours, or of an origin that the operator has named.
    pub(crate) fn place_after(&self, asked: Option<&str>) -> String {
        pages::next::local_or_of(&self.pipeline.base_url, self.saml.return_origins(), asked)
    }

    /// Whether any make of authenticators can be proved here.
    pub(crate) fn can_prove_makes(&self) -> bool {
        self.makers.can_prove_any()
    }
}

/// Operations that are unlike the others.
const MANNERS: [(&str, Manner); 4] = [
    ("/api/auth/sign-in", Manner::Patient),
    ("/api/auth/links/redeem", Manner::Patient),
    ("/api/saml/{providerId}/acs", Manner::FromElsewhere),
    ("/api/auth/sign-out", Manner::SignOut),
];

fn pipeline(
    settings: &Settings,
    base_url: String,
    keys: Keys,
    watched: Store,
    limit: usize,
    documents: &Documents,
) -> io::Result<Pipeline> {
    let routes = if settings.role.answers() {
        Routes {
            document: documents.openapi_json(),
            open_pages: &pages::OPEN,
            signed_in_pages: &pages::SIGNED_IN,
            manners: &MANNERS,
        }
    } else {
        Routes { document: &serde_json::Value::Null, open_pages: &[], signed_in_pages: &[], manners: &[] }
    };
    let settings = PipelineSettings {
        base_url,
        proxies: Proxies { trusted: settings.trusted_proxies.clone(), header: settings.proxy_header },
        max_in_flight: limit,
        max_body_memory: settings.max_body_memory,
        max_bodies_per_address: settings.max_bodies_per_address,
        max_connections_per_address: settings.max_connections_per_address,
        session_cookie: settings.session_cookie,
        geo_database: settings.geo_database.clone(),
        scim_rates: settings.scim_rates,
        otlp_endpoint: settings.otlp_endpoint.clone(),
        spec_version: documents.spec_version().to_owned(),
        metrics_apart: settings.metrics_bind.is_some(),
    };
    Pipeline::new(settings, routes, keys, watched)
}

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
