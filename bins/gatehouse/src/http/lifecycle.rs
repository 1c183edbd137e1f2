//! From taking the address to the last answer.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use actix_web::{
    App, HttpServer,
    dev::{Server, ServerHandle},
    middleware::from_fn,
    web,
};
use audit::{Audited, Unaudited};
use futures_util::{StreamExt, stream};
use kernel::{Actor, Ctx, Env, StoreError, TenantId};
use store::{Store, Tx};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::JoinHandle,
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use utoipa_actix_web::AppExt;

use super::{
    Site, access::Gate, area_metrics, deliveries::Deliveries, entry, meter, probes, refusals::Closing,
    routes, saml::Caretaker, sealer::Sealer, shape::ProblemPage, tls::Certificate,
};
use crate::{
    config::{Role, Settings},
    keys::Keys,
    logs,
    makers::Makers,
    pages,
};

/// Requests that a worker answers at the same time unless the settings say otherwise.
const IN_FLIGHT: usize = 64;
/// Closing entries that are written at the same time.
const CLOSING_AT_ONCE: usize = 8;
/// How often what may change by itself is looked at.
const UPKEEP: Duration = Duration::from_secs(1);
/// Seconds between two writings of last uses: with the grain of a minute, none is missed.
const FLUSH: u32 = 15;
/// Seconds between two looks at what proves makes of authenticators.
const MAKERS: u32 = 15;
/// Seconds between two looks for what has ended.
const TIDY: u32 = 300;
/// Connections that wait to be taken from the system.
const BACKLOG: i32 = 2048;
/// What the system buffers of a connection before the server reads it.
const RECEIVE_BUFFER: usize = 64 * 1024;
/// What a client may send by HTTP/2 that no handler has read yet, of one request and of all on a connection.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// TLS handshakes of each worker at the same time: with fewer, a few hundred sockets that send nothing would keep
/// everybody else waiting for 3 s, which is how long a handshake may take.
const HANDSHAKES: usize = 4096;
/// How long a connection that was taken in the last moment may need to reach its worker.
const SETTLE: Duration = Duration::from_millis(100);
/// How long the last answers may take to be sent once they are made.
const LINGER: Duration = Duration::from_secs(10);
/// How long requests under way may take when the server ends.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// A server that has its address and does not answer yet.
pub struct Bound {
    /// The address really bound.
    pub address: SocketAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The address of the figures, if they have one of their own.
    pub metrics_address: Option<SocketAddr>,
    server: Server,
    /// The figures on an address of their own.
    metrics: Option<Server>,
    site: web::Data<Site>,
    chores: Chores,
    role: Role,
    certificate: Option<Arc<Certificate>>,
    entering: TaskTracker,
    end: End,
}

/// How the server is told to end, and what it then does.
struct End {
    /// Heard from before the server says that it listens.
    terminate: Signal,
    interrupt: Signal,
    drain: Duration,
    /// The listener, to close it.
    door: TcpListener,
}

/// What a server is composed of.
pub struct Parts {
    /// What signs and verifies.
    pub keys: Keys,
    /// The data.
    pub store: Store,
    /// Time and randomness.
    pub env: Arc<dyn Env>,
}

/// Takes the address and prepares the workers.
pub fn bind(settings: &Settings, parts: Parts) -> io::Result<Bound> {
    let Parts { keys, store, env } = parts;
    let listener = TcpListener::bind(settings.bind)?;
    rustix::net::listen(&listener, BACKLOG)?;
    // Connections inherit it.
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, RECEIVE_BUFFER)?;
    let address = listener.local_addr()?;
    let end = End {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
        drain: settings.drain,
        door: listener.try_clone()?,
    };
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let base_url = settings.base_url.clone().unwrap_or_else(|| default_base_url(scheme, address));
    // Before the first meter is made.
    meter::install(&area_metrics::HISTOGRAMS, area_metrics::start);
    let certificate = settings.tls.as_ref().map(Certificate::new).transpose()?;
    let workers =
        settings.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let limit = settings.max_in_flight.unwrap_or(IN_FLIGHT * workers);
    // What a worker could not do, it could not do here either: then nothing starts.
    let watched = store.for_this_runtime().map_err(io::Error::other)?;
    let makers = Arc::new(Makers::new(&settings.makers, env.now()));
    area_metrics::makes(makers.count());
    let site = web::Data::new(Site::new(settings, base_url, keys, watched, limit, makers)?);
    let metrics = settings.metrics_bind.map(|address| serve_metrics(address, site.clone())).transpose()?;
    let (metrics_address, metrics) = metrics.unzip();
    let chores = Chores {
        store: Arc::new(store.for_this_runtime().map_err(io::Error::other)?),
        env: Arc::clone(&env),
    };
    let store = Arc::new(store);
    let served = site.clone();
    let opening = site.clone();
    let entering = TaskTracker::new();
    let tracker = entering.clone();
    let server = HttpServer::new(move || {
        // A worker has a store of its own: a connection belongs to the runtime that drives it.
        let gate = store
            .for_this_runtime()
            .map(|store| web::Data::new(Gate::new(store, Arc::clone(&env), tracker.clone())));
        let app = App::new()
            .app_data(served.clone())
            .app_data(served.pipeline.clone())
            .app_data(ProblemPage(pages::problem_page));
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
    .disable_signals()
    // A client that closes its connection is gone: what it asked for is dropped, and stops where it may.
    .h1_allow_half_closed(false)
    .client_request_timeout(Duration::from_secs(10))
    .client_disconnect_timeout(Duration::from_secs(2))
    .keep_alive(Duration::from_secs(75))
    .max_connection_rate(HANDSHAKES)
    .h2_initial_window_size(STREAM_WINDOW)
    .h2_initial_connection_window_size(CONNECTION_WINDOW)
    .on_connect(move |io, data| {
        opening
            .pipeline
            .connections
            .opened(io, data, |peer| opening.pipeline.proxies.trusts(peer.to_canonical()));
    })
    .shutdown_timeout(LAST_ANSWERS.as_secs());
    let server = match &certificate {
        None => server.listen(listener)?,
        Some(certificate) => server.listen_rustls_0_23(listener, certificate.config()?)?,
    };
    let server = server.run();
    let role = settings.role;
    Ok(Bound {
        address,
        scheme,
        metrics_address,
        server,
        metrics,
        site,
        chores,
        role,
        certificate,
        entering,
        end,
    })
}

/// What browsers open where nobody has said: passkeys need the name of a host, and this machine's is `localhost`.
fn default_base_url(scheme: &str, address: SocketAddr) -> String {
    if address.ip().is_loopback() {
        format!("{scheme}://localhost:{}", address.port())
    } else {
        format!("{scheme}://{address}")
    }
}

/// A server of the figures alone, and its address.
fn serve_metrics(address: SocketAddr, site: web::Data<Site>) -> io::Result<(SocketAddr, Server)> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "metrics have an address of their own");
    let app = move || App::new().app_data(site.pipeline.clone()).configure(probes::metrics_routes);
    Ok((address, HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run()))
}

impl Bound {
    /// Answers requests until SIGTERM or SIGINT, then finishes those under way.
    ///
    /// On SIGTERM it is first no longer ready, and clients are told to close their connections, while requests
    /// are taken as before: whoever sends them has the time of the setting `drain_seconds` to go elsewhere.
    /// SIGINT, or a second SIGTERM, does without that time.
    pub async fn serve(self) -> io::Result<()> {
        let Self { server, metrics, site, chores, role, certificate, entering, end, .. } = self;
        let upkeep = tokio::spawn(keep_up(site.clone(), chores.clone(), certificate));
        let ending = CancellationToken::new();
        let closing = tokio::spawn(close_refusals(site.clone(), chores.clone(), ending.clone()));
        let beside = Beside::start(role, &chores, &site)?;
        let figures = metrics.map(|metrics| {
            let handle = metrics.handle();
            (handle, tokio::spawn(metrics))
        });
        let served = serve_and_end(server, &site, &entering, end).await;
        upkeep.abort();
        chores.flush(&site).await;
        // Not aborted: what it has taken to write is written.
        ending.cancel();
        let _ended = closing.await;
        chores.write_closing(&site, site.pipeline.refusals.take_all()).await;
        beside.finish().await;
        #[cfg(feature = "otlp")]
        if let Some(spans) = &site.pipeline.spans {
            spans.end();
        }
        if let Some((handle, figures)) = figures {
            handle.stop(false).await;
            figures.await.map_err(io::Error::other)??;
        }
        served
    }

    /// What is being entered in the ledger while no answer waits for it.
    pub fn entering(&self) -> TaskTracker {
        self.entering.clone()
    }

    /// Ends the server from elsewhere in the process.
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }
}

/// What no request waits for, where this instance does it.
struct Beside {
    sealer: Option<(Arc<Sealer>, JoinHandle<()>)>,
    deliveries: Arc<Deliveries>,
    delivering: JoinHandle<()>,
    /// Looks after identity providers.
    caring: Option<JoinHandle<()>>,
    role: Role,
}

impl Beside {
    fn start(role: Role, chores: &Chores, site: &web::Data<Site>) -> io::Result<Self> {
        let own = || chores.store.for_this_runtime().map(Arc::new).map_err(io::Error::other);
        let sealer = role.works().then(|| {
            let sealer = Sealer::new(Arc::clone(&chores.store), Arc::clone(&chores.env), site.clone());
            let sealer = Arc::new(sealer);
            let at_work = Arc::clone(&sealer);
            (sealer, tokio::spawn(async move { at_work.run().await }))
        });
        let deliveries = Arc::new(Deliveries::new(own()?, Arc::clone(&chores.env), site.clone()));
        let at_work = Arc::clone(&deliveries);
        let delivering = tokio::spawn(async move {
            if role.works() { Box::pin(at_work.run()).await } else { at_work.tell().await }
        });
        let caring = if role.works() {
            let caretaker = Caretaker::new(own()?, Arc::clone(&chores.env), site.clone());
            Some(tokio::spawn(async move { caretaker.run().await }))
        } else {
            None
        };
        Ok(Self { sealer, deliveries, delivering, caring, role })
    }

    /// Ends it: what is under way is finished.
    async fn finish(self) {
        // What it is about to do is done later, by whoever works then.
        if let Some(caring) = self.caring {
            caring.abort();
        }
        if self.role.works() {
            self.deliveries.finish();
            let _ended = self.delivering.await;
        } else {
            self.delivering.abort();
        }
        if let Some((sealer, sealing)) = self.sealer {
            sealing.abort();
            sealer.finish().await;
        }
    }
}

async fn serve_and_end(server: Server, site: &Site, entering: &TaskTracker, mut end: End) -> io::Result<()> {
    let handle = server.handle();
    let mut server = pin!(server);
    let at_once = tokio::select! {
        ended = &mut server => return ended,
        _ = end.terminate.recv() => false,
        _ = end.interrupt.recv() => true,
    };
    site.pipeline.load.drain();
    tracing::info!(seconds = if at_once { 0 } else { end.drain.as_secs() }, "draining: not ready any more");
    if !at_once {
        tokio::select! {
            ended = &mut server => return ended,
            () = sleep(end.drain) => {}
            _ = end.terminate.recv() => {}
            _ = end.interrupt.recv() => {}
        }
    }
    tracing::info!(answering = site.pipeline.load.answering(), "closing: requests under way are finished");
    // The listener is closed while the workers work on: told to stop, they drop what was handed to them in the
    // last moment. A connection that nobody has taken from the system by now is refused.
    logs::closing();
    rustix::net::shutdown(&end.door, rustix::net::Shutdown::Read)?;
    let last_answers = async {
        sleep(SETTLE).await;
        site.pipeline.load.until_idle().await;
        entering.close();
        entering.wait().await;
    };
    tokio::select! {
        ended = &mut server => return ended,
        _ = timeout(LAST_ANSWERS, last_answers) => {}
    }
    // Closes the connections on which nothing is asked. What is left after that are those that their clients
    // keep open; the last answers are made and on their way.
    let stopping = tokio::spawn(handle.stop(true));
    let ended = timeout(LINGER, server).await.unwrap_or(Ok(()));
    stopping.abort();
    ended
}

/// What has to be looked at now and then.
async fn keep_up(site: web::Data<Site>, chores: Chores, certificate: Option<Arc<Certificate>>) {
    let mut ticks = interval(UPKEEP);
    let mut seconds = 0_u32;
    loop {
        ticks.tick().await;
        site.pipeline.keys.refresh();
        site.pipeline.connections.close_idle();
        if let Some(certificate) = &certificate {
            certificate.refresh();
        }
        if seconds.is_multiple_of(meter::UPKEEP)
            && let Some(recorder) = meter::recorder()
        {
            site.pipeline.measure();
            recorder.run_upkeep();
        }
        seconds = seconds.wrapping_add(1);
        if seconds.is_multiple_of(MAKERS) {
            chores.look_at_makers(&site).await;
        }
        if seconds.is_multiple_of(FLUSH) {
            chores.flush(&site).await;
        }
        if seconds.is_multiple_of(TIDY) {
            chores.tidy().await;
        }
    }
}

/// Writes the closing entries of refusals that were counted together, until the server ends.
async fn close_refusals(site: web::Data<Site>, chores: Chores, ending: CancellationToken) {
    let mut ticks = interval(UPKEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = ending.cancelled() => return,
            _ = ticks.tick() => {}
        }
        chores.write_closing(&site, site.pipeline.refusals.take_ended(chores.env.now())).await;
    }
}

/// What is done besides requests, with connections of its own.
#[derive(Clone)]
struct Chores {
    store: Arc<Store>,
    env: Arc<dyn Env>,
}

impl Chores {
    /// Writes when credentials were last used.
    async fn flush(&self, site: &Site) {
        if let Err(error) = site.pipeline.last_uses.flush(&self.store, &self.env).await {
            tracing::warn!(%error, "last uses could not be written");
        }
    }

    /// Writes closing entries. Those that cannot be written are tried again.
    async fn write_closing(&self, site: &Site, closing: Vec<Closing>) {
        let write = async |(ctx, event): Closing| {
            let code = event.code;
            // It is about many refusals, from many addresses: now, and from none of them.
            let of_now = Ctx { now: self.env.now(), ip: None, request_id: None, trace: None, ..ctx.clone() };
            let entry = event.clone();
            let work = async move |_: &Ctx, _: &mut Tx| Ok::<_, StoreError>(Audited::new((), entry));
            match self.store.write(of_now, work).await {
                Ok(()) => meter::entered(&[code]),
                Err(error) => {
                    tracing::error!(%error, code, "the number of suppressed refusals could not be written yet");
                    site.pipeline.refusals.put_back((ctx, event));
                }
            }
        };
        stream::iter(closing).for_each_concurrent(CLOSING_AT_ONCE, write).await;
    }

    /// Reads again who may prove makes of authenticators: megabytes, so where nobody waits for it.
    async fn look_at_makers(&self, site: &Site) {
        let (makers, now) = (Arc::clone(&site.makers), self.env.now());
        if let Ok(count) = tokio::task::spawn_blocking(move || makers.refresh(now)).await {
            area_metrics::makes(count);
        }
    }

    /// Takes away what has ended by itself.
    async fn tidy(&self) {
        let nobody = TenantId::new(&*self.env);
        let ctx = Ctx::new(Arc::clone(&self.env), nobody, Actor::system("tidy"));
        let work = async |ctx: &Ctx, tx: &mut Tx| {
            tx.tidy(ctx.now).await?;
            Ok::<_, StoreError>(Audited::without((), Unaudited::AttemptCounted))
        };
        if let Err(error) = self.store.write(ctx, work).await {
            tracing::warn!(%error, "what has ended could not be taken away");
        }
    }
}
