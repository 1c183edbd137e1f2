//! The server, from binding its address to the last response.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use actix_web::{
    App, HttpServer,
    body::BoxBody,
    dev::{Server as ActixServer, ServerHandle, ServiceRequest},
    middleware::{Next, from_fn},
    web::{self, ServiceConfig},
};
use kernel::Env;
use store::Store;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    access::Gate,
    middleware,
    pipeline::Pipeline,
    probes,
    refresh_worker::RefreshWorker,
    shape::Area,
    tls::{Certificate, TlsFiles},
};

/// Length of the listen backlog.
const BACKLOG: i32 = 2048;
/// Size of the socket's receive buffer, in bytes.
const RECEIVE_BUFFER: usize = 64 * 1024;
/// HTTP/2 flow control windows, in bytes: for one request, and for all requests on a connection.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// Concurrent TLS handshakes per worker. A handshake may take 3 s, so with a lower limit a few hundred silent sockets
/// would keep other clients waiting.
const HANDSHAKES: usize = 4096;
/// How long a connection accepted at the last moment may take to reach its worker.
const SETTLE: Duration = Duration::from_millis(100);
/// How long sending the last responses may take.
const LINGER: Duration = Duration::from_secs(10);
/// Time limit for requests in progress at shutdown.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// A bound listener. Connections wait until [`Listener::server`] serves them.
pub struct Listener {
    /// The bound address.
    pub address: SocketAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    socket: TcpListener,
    certificate: Option<Arc<Certificate>>,
    end: End,
}

/// How the server is shut down.
struct End {
    /// Registered before the server reports that it listens.
    terminate: Signal,
    interrupt: Signal,
    drain: Duration,
    /// A duplicate of the listener, used to close it.
    door: TcpListener,
}

/// The configuration of a server.
pub struct Service<F> {
    /// Number of worker threads.
    pub workers: usize,
    /// A separate address for metrics.
    pub metrics: Option<SocketAddr>,
    /// The state shared by all workers.
    pub pipeline: web::Data<Pipeline>,
    /// The database.
    pub store: Store,
    /// The source of time and randomness.
    pub env: Arc<dyn Env>,
    /// Adds the routes and their data.
    pub configure: F,
}

/// A server that accepts connections but does not answer yet.
pub struct Server {
    /// The bound address.
    pub address: SocketAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The address of the metrics, if it is separate.
    pub metrics_address: Option<SocketAddr>,
    running: ActixServer,
    metrics: Option<ActixServer>,
    pipeline: web::Data<Pipeline>,
    upkeep: RefreshWorker,
    entering: TaskTracker,
    end: End,
}

/// Returns the default base URL of a server on `address`. A loopback address becomes `localhost`, because passkeys
/// need a host name.
pub fn default_base_url(scheme: &str, address: SocketAddr) -> String {
    if address.ip().is_loopback() {
        format!("{scheme}://localhost:{}", address.port())
    } else {
        format!("{scheme}://{address}")
    }
}

impl Listener {
    /// Binds the address and registers signal handlers.
    pub fn bind(address: SocketAddr, tls: Option<&TlsFiles>, drain: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        rustix::net::listen(&listener, BACKLOG)?;
        // Accepted connections inherit the size.
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, RECEIVE_BUFFER)?;
        let end = End {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            drain,
            door: listener.try_clone()?,
        };
        Ok(Self {
            address: listener.local_addr()?,
            scheme: if tls.is_some() { "https" } else { "http" },
            certificate: tls.map(Certificate::new).transpose()?,
            socket: listener,
            end,
        })
    }

    /// Returns the default base URL of the bound address.
    pub fn default_base_url(&self) -> String {
        default_base_url(self.scheme, self.address)
    }

    /// Prepares the workers.
    pub fn server<F>(self, service: Service<F>) -> io::Result<Server>
    where
        F: Fn(&mut ServiceConfig) + Clone + Send + 'static,
    {
        let Self { address, scheme, socket, certificate, end } = self;
        let Service { workers, metrics, pipeline, store, env, configure } = service;
        // Fails early for errors that would also occur in the workers.
        let own = store.for_this_runtime().map_err(io::Error::other)?;
        let upkeep = RefreshWorker::new(own, Arc::clone(&env), pipeline.clone(), certificate.clone());
        let metrics = metrics.map(|address| serve_metrics(address, pipeline.clone())).transpose()?;
        let (metrics_address, metrics) = metrics.unzip();
        let store = Arc::new(store);
        let entering = TaskTracker::new();
        let tracker = entering.clone();
        let (served, opening) = (pipeline.clone(), pipeline.clone());
        let server = HttpServer::new(move || {
            // Each worker has its own store handle, because a connection belongs to the runtime that drives it.
            let gate = store
                .for_this_runtime()
                .map(|store| web::Data::new(Gate::new(store, Arc::clone(&env), tracker.clone())));
            let app = App::new().app_data(served.clone());
            let app = match gate {
                Ok(gate) => app.app_data(gate),
                Err(error) => {
                    tracing::error!(%error, "cannot open the database; this worker answers every request with 500");
                    app
                }
            };
            app.wrap(from_fn(middleware::handle_request))
                .configure(configure.clone())
                .configure(probes::routes)
                .configure(probes::metrics_routes)
        })
        .workers(workers)
        .disable_signals()
        // When a client closes its connection, its requests are dropped and their work is stopped where possible.
        .h1_allow_half_closed(false)
        .client_request_timeout(Duration::from_secs(10))
        .client_disconnect_timeout(Duration::from_secs(2))
        .keep_alive(Duration::from_secs(75))
        .max_connection_rate(HANDSHAKES)
        .h2_initial_window_size(STREAM_WINDOW)
        .h2_initial_connection_window_size(CONNECTION_WINDOW)
        .on_connect(move |io, data| {
            opening.connections.opened(io, data, |peer| opening.proxies.trusts(peer.to_canonical()));
        })
        .shutdown_timeout(LAST_ANSWERS.as_secs());
        let server = match &certificate {
            None => server.listen(socket)?,
            Some(certificate) => server.listen_rustls_0_23(socket, certificate.config()?)?,
        };
        Ok(Server {
            address,
            scheme,
            metrics_address,
            running: server.run(),
            metrics,
            pipeline,
            upkeep,
            entering,
            end,
        })
    }
}

/// Creates a server for metrics only, and returns its address.
fn serve_metrics(
    address: SocketAddr,
    pipeline: web::Data<Pipeline>,
) -> io::Result<(SocketAddr, ActixServer)> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "serving metrics on a separate address");
    let app = move || {
        let protected = |request: ServiceRequest, next: Next<BoxBody>| async move {
            let mut response = next.call(request).await?;
            middleware::protect(response.headers_mut(), Area::Api);
            Ok(response)
        };
        App::new().app_data(pipeline.clone()).wrap(from_fn(protected)).configure(probes::metrics_routes)
    };
    Ok((address, HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run()))
}

impl Server {
    /// Serves requests until SIGTERM or SIGINT, then finishes requests in progress and runs `finish`.
    ///
    /// After SIGTERM the server first drains for the time of the setting `drain_seconds`: it reports not ready and
    /// asks clients to close their connections, but still accepts requests. SIGINT, or a second SIGTERM, skips this.
    pub async fn serve(self, closing: fn(), finish: impl AsyncFnOnce()) -> io::Result<()> {
        let Self { running, metrics, pipeline, upkeep, entering, end, .. } = self;
        let refreshing = tokio::spawn({
            let upkeep = upkeep.clone();
            async move { upkeep.run().await }
        });
        let ending = CancellationToken::new();
        let closing_refusals = tokio::spawn({
            let (upkeep, ending) = (upkeep.clone(), ending.clone());
            async move { upkeep.close_refusals(ending).await }
        });
        let metrics = metrics.map(|metrics| {
            let handle = metrics.handle();
            (handle, tokio::spawn(metrics))
        });
        let served = serve_and_end(running, &pipeline, &entering, end, closing).await;
        refreshing.abort();
        upkeep.flush().await;
        // Not aborted, so that entries it has already taken are written.
        ending.cancel();
        let _ended = closing_refusals.await;
        upkeep.write_closing(pipeline.refusals.take_all()).await;
        finish().await;
        #[cfg(feature = "otlp")]
        if let Some(spans) = &pipeline.spans {
            spans.end();
        }
        if let Some((handle, serving)) = metrics {
            handle.stop(false).await;
            serving.await.map_err(io::Error::other)??;
        }
        served
    }

    /// Returns the tracker of audit entries that are recorded in the background.
    pub fn pending_records(&self) -> TaskTracker {
        self.entering.clone()
    }

    /// Returns a handle that can stop the server.
    pub fn handle(&self) -> ServerHandle {
        self.running.handle()
    }
}

async fn serve_and_end(
    server: ActixServer,
    pipeline: &Pipeline,
    entering: &TaskTracker,
    mut end: End,
    closing: fn(),
) -> io::Result<()> {
    let handle = server.handle();
    let mut server = pin!(server);
    let at_once = tokio::select! {
        ended = &mut server => return ended,
        _ = end.terminate.recv() => false,
        _ = end.interrupt.recv() => true,
    };
    pipeline.load.drain();
    tracing::info!(seconds = if at_once { 0 } else { end.drain.as_secs() }, "draining: reporting not ready");
    if !at_once {
        tokio::select! {
            ended = &mut server => return ended,
            () = sleep(end.drain) => {}
            _ = end.terminate.recv() => {}
            _ = end.interrupt.recv() => {}
        }
    }
    tracing::info!(answering = pipeline.load.answering(), "shutting down: finishing requests in progress");
    // The listener is closed while the workers still run, because stopped workers drop connections that they have
    // just received. Connections not accepted by now are refused.
    closing();
    rustix::net::shutdown(&end.door, rustix::net::Shutdown::Read)?;
    let last_answers = async {
        sleep(SETTLE).await;
        pipeline.load.until_idle().await;
        entering.close();
        entering.wait().await;
    };
    tokio::select! {
        ended = &mut server => return ended,
        _ = timeout(LAST_ANSWERS, last_answers) => {}
    }
    // Closes idle connections. The remaining ones are kept open by their clients, and their last responses are being
    // sent.
    let stopping = tokio::spawn(handle.stop(true));
    let ended = timeout(LINGER, server).await.unwrap_or(Ok(()));
    stopping.abort();
    ended
}
