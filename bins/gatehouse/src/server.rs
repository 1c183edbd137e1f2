//! Composes the server: the request pipeline, the routes, and the background workers.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use actix_web::{
    dev::ServerHandle,
    web::{self, ServiceConfig},
};
use kernel::Env;
use netpolicy::Proxies;
use store::Store;
use tokio::{sync::Semaphore, task::JoinHandle, time::interval};
use tokio_util::task::TaskTracker;

use crate::{
    api::{
        Registry,
        auth::Auth,
        documents::Documents,
        frequent_routes,
        openapi::document,
        routes,
        saml::{Saml, SamlWorker},
        settings::{AuditLogs, TILE},
        site::Site,
        ssf::received_rate,
    },
    area_metrics, counters,
    workers::{
        deliveries::{Deliveries, Webhooks},
        log_streams::LogStreamWorker,
        sealer::SealWorker,
        signals::SignalWorker,
        statistics,
    },
};
use crate::{
    config::{Role, Settings},
    mail::Mail,
    pages,
    trust_anchors::TrustAnchors,
};
use gate::{
    keys::Keys,
    logs, meter,
    operations::{OperationMode, Routes},
    pipeline::{Pipeline, PipelineSettings},
    server::{Listener, Server, Service},
    shape::ProblemPage,
};

/// Default maximum of concurrent requests per HTTP worker thread.
const IN_FLIGHT: usize = 64;
/// Interval of reloading trust anchors of authenticator models.
const MAKERS: Duration = Duration::from_secs(15);
/// Purge expired rows in every n-th round.
const TIDY: u32 = 20;

/// A server that has bound its address and does not serve yet.
pub struct BoundServer {
    /// The bound address.
    pub address: SocketAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Address of the metrics, if they have one of their own.
    pub metrics_address: Option<SocketAddr>,
    server: Server,
    site: web::Data<Site>,
    chores: BackgroundJobs,
    role: Role,
}

/// The parts of a server.
pub struct ServerParts {
    /// Keys that sign and verify.
    pub keys: Keys,
    /// The database.
    pub store: Store,
    /// Time and randomness.
    pub env: Arc<dyn Env>,
}

/// Binds the address and prepares the HTTP worker threads.
pub fn bind(settings: &Settings, parts: ServerParts) -> io::Result<BoundServer> {
    let ServerParts { keys, store, env } = parts;
    let listener = Listener::bind(settings.bind, settings.tls.as_ref(), settings.drain)?;
    let base_url = settings.base_url.clone().unwrap_or_else(|| listener.default_base_url());
    if meter::install(&area_metrics::HISTOGRAMS, area_metrics::METRICS) {
        counters::start();
    }
    let workers = settings.workers();
    let limit = settings.max_in_flight.unwrap_or(IN_FLIGHT * workers);
    let watched = store.for_this_runtime().map_err(io::Error::other)?;
    let makers = Arc::new(TrustAnchors::new(&settings.makers, env.now()));
    area_metrics::authenticator_models(makers.count());
    let site = web::Data::new(site(settings, base_url, keys, watched, limit, makers)?);
    let chores = BackgroundJobs {
        store: Arc::new(store.for_this_runtime().map_err(io::Error::other)?),
        env: Arc::clone(&env),
    };
    let served = site.clone();
    let configure = move |config: &mut ServiceConfig| {
        config.app_data(served.clone()).app_data(ProblemPage(pages::problem_page));
        let mut registry = Registry::Routes(config);
        frequent_routes(&mut registry);
        routes(&mut registry);
        pages::routes(config);
    };
    let server = listener.server(Service {
        workers,
        metrics: settings.metrics_bind,
        pipeline: site.pipeline.clone(),
        store,
        env,
        configure,
    })?;
    Ok(BoundServer {
        address: server.address,
        scheme: server.scheme,
        metrics_address: server.metrics_address,
        server,
        site,
        chores,
        role: settings.role,
    })
}

impl BoundServer {
    /// Serves requests until SIGTERM or SIGINT, then completes the running ones.
    pub async fn serve(self) -> io::Result<()> {
        let Self { server, site, chores, role, .. } = self;
        let upkeep = tokio::spawn(keep_up(site.clone(), chores.clone()));
        let beside = BackgroundWork::start(role, &chores, &site)?;
        let finish = async || {
            upkeep.abort();
            beside.finish().await;
        };
        server.serve(logs::closing, finish).await
    }

    /// Returns a link that creates the first tenant and its administrator; `None` if an administrator exists or this
    /// instance does not answer requests.
    pub async fn setup_link(&self) -> kernel::StoreResult<Option<String>> {
        if !self.role.answers()
            || self.chores.store.across(async |across| across.has_administrator().await).await?
        {
            return Ok(None);
        }
        let Pipeline { keys, base_url, .. } = &**self.site.pipeline;
        Ok(keys.setup_link(base_url, self.chores.env.now()))
    }

    /// Tracks audit entries that are recorded after their response.
    pub fn pending_records(&self) -> TaskTracker {
        self.server.pending_records()
    }

    /// Returns a handle that stops the server.
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }
}

/// The background workers of this instance.
struct BackgroundWork {
    sealer: Option<(Arc<SealWorker>, JoinHandle<()>)>,
    deliveries: Arc<Deliveries>,
    delivering: JoinHandle<()>,
    streams: Option<(Arc<LogStreamWorker>, JoinHandle<()>)>,
    signals: Option<(Arc<SignalWorker>, JoinHandle<()>)>,
    /// The worker for SSO connections, and the one for statistics.
    caring: Option<JoinHandle<()>>,
    role: Role,
}

impl BackgroundWork {
    fn start(role: Role, chores: &BackgroundJobs, site: &web::Data<Site>) -> io::Result<Self> {
        let own = || chores.store.for_this_runtime().map(Arc::new).map_err(io::Error::other);
        let sealer = role.works().then(|| {
            let sealer = SealWorker::new(Arc::clone(&chores.store), Arc::clone(&chores.env), site.clone());
            let sealer = Arc::new(sealer);
            let at_work = Arc::clone(&sealer);
            (sealer, tokio::spawn(async move { at_work.run().await }))
        });
        let deliveries = Arc::new(Deliveries::new(own()?, Arc::clone(&chores.env), site.clone()));
        let at_work = Arc::clone(&deliveries);
        let delivering = tokio::spawn(async move {
            if role.works() { Box::pin(at_work.run()).await } else { at_work.notify().await }
        });
        let streams = if role.works() {
            let worker = Arc::new(LogStreamWorker::new(own()?, Arc::clone(&chores.env), site.clone()));
            let at_work = Arc::clone(&worker);
            Some((worker, tokio::spawn(async move { at_work.run().await })))
        } else {
            None
        };
        let signals = if role.works() {
            let worker = Arc::new(SignalWorker::new(own()?, Arc::clone(&chores.env), site.clone()));
            let at_work = Arc::clone(&worker);
            Some((worker, tokio::spawn(async move { at_work.run().await })))
        } else {
            None
        };
        let caring = if role.works() {
            let store = own()?;
            let caretaker = SamlWorker::new(Arc::clone(&store), Arc::clone(&chores.env), site.clone());
            Some(tokio::spawn(async move {
                tokio::join!(caretaker.run(), statistics::keep(store));
            }))
        } else {
            None
        };
        Ok(Self { sealer, deliveries, delivering, streams, signals, caring, role })
    }

    /// Stops the workers and completes running deliveries and sealing.
    async fn finish(self) {
        // Abort: the next worker continues its jobs.
        if let Some(caring) = self.caring {
            caring.abort();
        }
        if let Some((worker, _)) = &self.streams {
            worker.finish();
        }
        if let Some((worker, _)) = &self.signals {
            worker.finish();
        }
        if self.role.works() {
            self.deliveries.finish();
            let _ended = self.delivering.await;
        } else {
            self.delivering.abort();
        }
        let sending = [self.streams.map(|(_, sending)| sending), self.signals.map(|(_, sending)| sending)];
        for sending in sending.into_iter().flatten() {
            let _ended = sending.await;
        }
        if let Some((sealer, sealing)) = self.sealer {
            sealing.abort();
            sealer.finish().await;
        }
    }
}

/// Runs the periodic jobs.
async fn keep_up(site: web::Data<Site>, chores: BackgroundJobs) {
    let mut ticks = interval(MAKERS);
    // The first tick is immediate; the server has just loaded everything.
    ticks.tick().await;
    let mut looks = 0_u32;
    loop {
        ticks.tick().await;
        looks = looks.wrapping_add(1);
        chores.reread_trust_anchors(&site).await;
        if looks.is_multiple_of(TIDY) {
            chores.purge_expired().await;
        }
    }
}

/// Periodic jobs, with database connections of their own.
#[derive(Clone)]
struct BackgroundJobs {
    store: Arc<Store>,
    env: Arc<dyn Env>,
}

impl BackgroundJobs {
    /// Reloads the trust anchors in a blocking thread, because the files have megabytes.
    async fn reread_trust_anchors(&self, site: &Site) {
        let (makers, now) = (Arc::clone(&site.makers), self.env.now());
        if let Ok(count) = tokio::task::spawn_blocking(move || makers.refresh(now)).await {
            area_metrics::authenticator_models(count);
        }
    }

    /// Purges expired rows.
    async fn purge_expired(&self) {
        if let Err(error) = self.store.purge_expired(&self.env).await {
            tracing::warn!(%error, "expired rows could not be purged");
        }
    }
}

/// The API description and the event catalog, which are the same for every server of the process.
static DOCUMENTS: LazyLock<Documents> = LazyLock::new(|| Documents::new(document()));

/// Composes the shared state of the routes.
fn site(
    settings: &Settings,
    base_url: String,
    keys: Keys,
    watched: Store,
    limit: usize,
    makers: Arc<TrustAnchors>,
) -> io::Result<Site> {
    let documents: &'static Documents = &DOCUMENTS;
    meter::build(documents.spec_version());
    Ok(Site {
        webhooks: Webhooks::new(&settings.webhooks).map_err(io::Error::other)?,
        auth: Auth::new(settings, &base_url)?,
        mail: Mail::new(settings, &base_url).map_err(io::Error::other)?,
        audit: AuditLogs::new(settings),
        makers,
        dns: saml_sp::DnsTxt::new(settings.dns_servers.clone()),
        saml: Saml::new(settings.return_origins.clone()),
        pipeline: web::Data::new(pipeline(settings, base_url, keys, watched, limit, documents)?),
        documents,
        signals: received_rate(),
        // Half of two processors.
        signing: Arc::new(Semaphore::new(1)),
    })
}

/// Operations that the request pipeline treats differently from all others.
const OPERATION_MODES: [(&str, OperationMode); 8] = [
    ("/api/auth/sign-in", OperationMode::Queued),
    ("/api/auth/links/redeem", OperationMode::Queued),
    ("/api/auth/setup", OperationMode::Queued),
    ("/api/saml/{providerId}/acs", OperationMode::CrossSite),
    ("/api/saml/{providerId}/slo", OperationMode::CrossSite),
    ("/api/auth/sign-out", OperationMode::SignOut),
    // The browser itself sends them, also when a link on another site leads here. They prove a key.
    ("/api/auth/device-session", OperationMode::CrossSite),
    ("/api/auth/device-session/refresh", OperationMode::CrossSite),
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
            modes: &OPERATION_MODES,
            tails: &[TILE],
        }
    } else {
        let document = &serde_json::Value::Null;
        Routes { document, open_pages: &[], signed_in_pages: &[], modes: &[], tails: &[] }
    };
    let settings = PipelineSettings {
        base_url,
        proxies: Proxies { trusted: settings.trusted_proxies.clone(), header: settings.proxy_header },
        max_in_flight: limit,
        max_body_memory: settings.max_body_memory,
        max_bodies_per_address: settings.max_bodies_per_address,
        max_connections_per_address: settings.max_connections_per_address,
        session_cookie: settings.session_cookie,
        device_bound_sessions: settings.device_bound_sessions,
        geo_database: settings.geo_database.clone(),
        scim_rates: settings.scim_rates,
        otlp_endpoint: settings.otlp_endpoint.clone(),
        spec_version: documents.spec_version().to_owned(),
        metrics_apart: settings.metrics_bind.is_some(),
    };
    Pipeline::new(settings, routes, keys, watched)
}
