//! The HTTP side: folder = URL.

pub mod access;
mod body;
mod client_address;
mod describe;
mod discovery;
mod entry;
mod errors;
mod meter;
mod operations;
pub mod permissions;
mod probes;
mod rates;
mod scim;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use actix_web::{App, HttpServer, dev::Server, http::header::HeaderValue, middleware::from_fn, web};
use kernel::Env;
use store::Store;
use utoipa_actix_web::{AppExt, service_config::ServiceConfig};

use self::{access::Gate, client_address::Proxies, meter::Meter, operations::Operations, rates::ScimRates};
use crate::{config::Settings, pages};

pub use self::{
    describe::document,
    discovery::{Documents, events},
    errors::Problem,
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
    in_flight: metrics::Gauge,
    spec_version: HeaderValue,
    scim_rates: ScimRates,
    pub(crate) documents: Documents,
}

/// Every operation of the API. What is not here does not exist.
pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config.configure(discovery::routes).configure(scim::routes);
}

/// A server that has its address and does not answer yet.
pub struct Bound {
    /// The address really bound.
    pub address: SocketAddr,
    /// The address of the figures, if they have one of their own.
    pub metrics_address: Option<SocketAddr>,
    server: Server,
    /// The figures on an address of their own.
    metrics: Option<Server>,
}

/// Takes the address and prepares the workers.
pub fn bind(settings: &Settings, store: Store, env: Arc<dyn Env>) -> io::Result<Bound> {
    let listener = TcpListener::bind(settings.bind)?;
    let address = listener.local_addr()?;
    let base_url = settings.base_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let documents = Documents::new();
    // Before the first meter is made.
    let _recorder = meter::recorder();
    meter::build(documents.spec_version());
    let here = [&probes::PATHS[..], &[probes::METRICS]].concat();
    let probes = if settings.metrics_bind.is_some() { &probes::PATHS[..] } else { &here };
    let (metrics_address, metrics) = settings.metrics_bind.map(serve_metrics).transpose()?.unzip();
    let site = Site {
        https: base_url.starts_with("https:"),
        proxies: Proxies { trusted: settings.trusted_proxies.clone(), header: settings.proxy_header },
        operations: Operations::new(documents.openapi_json(), &pages::PATHS, probes)
            .map_err(io::Error::other)?,
        other: Meter::new("-", "-"),
        in_flight: meter::in_flight(),
        spec_version: HeaderValue::from_str(documents.spec_version()).map_err(io::Error::other)?,
        scim_rates: ScimRates::new(settings.scim_rates),
        documents,
        base_url,
    };
    let site = web::Data::new(site);
    // What a worker could not do, it could not do here either: then nothing starts.
    store.for_this_runtime().map_err(io::Error::other)?;
    let store = Arc::new(store);
    let workers =
        settings.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let server = HttpServer::new(move || {
        // A worker has a store of its own: a connection belongs to the runtime that drives it.
        let gate = store.for_this_runtime().map(|store| web::Data::new(Gate::new(store, Arc::clone(&env))));
        let app = App::new().app_data(site.clone());
        let app = match gate {
            Ok(gate) => app.app_data(gate),
            Err(error) => {
                tracing::error!(%error, "this worker has no database and answers 500");
                app
            }
        };
        app.wrap(from_fn(entry::enter))
            .into_utoipa_app()
            .configure(routes)
            .into_app()
            .configure(pages::routes)
            .configure(probes::routes)
            .configure(probes::metrics_routes)
    })
    .workers(workers)
    .client_request_timeout(Duration::from_secs(10))
    .client_disconnect_timeout(Duration::from_secs(2))
    .keep_alive(Duration::from_secs(75))
    .shutdown_timeout(30)
    .listen(listener)?
    .run();
    Ok(Bound { address, metrics_address, server, metrics })
}

/// A server of the figures alone, and its address.
fn serve_metrics(address: SocketAddr) -> io::Result<(SocketAddr, Server)> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "metrics have an address of their own");
    let app = || App::new().configure(probes::metrics_routes);
    Ok((address, HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run()))
}

impl Bound {
    /// Answers requests until SIGTERM or SIGINT, then finishes those under way.
    pub async fn serve(self) -> io::Result<()> {
        let upkeep = tokio::spawn(async {
            let mut ticks = tokio::time::interval(meter::UPKEEP);
            loop {
                ticks.tick().await;
                if let Some(recorder) = meter::recorder() {
                    recorder.run_upkeep();
                }
            }
        });
        let served = match self.metrics {
            None => self.server.await,
            Some(metrics) => {
                let handle = metrics.handle();
                let server = async {
                    let served = self.server.await;
                    handle.stop(false).await;
                    served
                };
                let (served, counted) = futures_util::future::join(server, metrics).await;
                served.and(counted)
            }
        };
        upkeep.abort();
        served
    }

    /// Ends the server from elsewhere in the process.
    pub fn handle(&self) -> actix_web::dev::ServerHandle {
        self.server.handle()
    }
}
