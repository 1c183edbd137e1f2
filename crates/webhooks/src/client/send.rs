//! Sends requests within limits.

use std::{
    fmt,
    sync::{Arc, LazyLock},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Version, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{
    ClientConfig, RootCertStore, client::Resumption, crypto::ring, pki_types::CertificateDer, version,
};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_rustls::client::TlsStream;

use super::{
    AddressGuard, Answer, Failure, Resolve, SystemResolver, Target,
    answer::BodyLimit,
    connect::{ConnectContext, Connector},
    connection::ConnectionUse,
    failure::{chain_text, is_closed},
};

/// Default time limit of an exchange.
const TIME_LIMIT: Duration = Duration::from_secs(15);
/// Idle connections are closed after this time.
const IDLE: Duration = Duration::from_secs(60);
/// Maximum number of idle connections per host.
const IDLE_PER_HOST: usize = 32;
/// Maximum size of a response head, and size of the read buffer.
const BUFFER: usize = 32 * 1024;
/// Maximum number of response header fields.
const HEADERS: usize = 100;
/// Limits of the response to a POST.
const POSTED: BodyLimit = BodyLimit::Beginning { kept: 4_096, read: 64 * 1024 };

/// Headers of message framing and connection handling, which hyper sets. A `Content-Length` from the caller that
/// differs from the body's length would allow request smuggling.
const OURS: [header::HeaderName; 8] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::EXPECT,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
];

/// The settings of a client.
#[derive(Clone)]
pub struct ClientSettings {
    /// Time limit of an exchange: DNS lookup, connection, TLS, request and response.
    pub time_limit: Duration,
    /// Root certificates to trust in addition to the operating system's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Resolves host names.
    pub resolver: Arc<dyn Resolve>,
    /// Whether connections are kept for further requests. A request over a kept connection may be sent twice, see
    /// [`Client::post`].
    pub keeps_connections: bool,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            time_limit: TIME_LIMIT,
            extra_roots: Vec::new(),
            resolver: Arc::new(SystemResolver::default()),
            keeps_connections: true,
        }
    }
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSettings")
            .field("time_limit", &self.time_limit)
            .field("extra_roots", &self.extra_roots.len())
            .finish_non_exhaustive()
    }
}

/// The reason a client could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// An extra root certificate is invalid, or TLS cannot be configured.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// Sends requests to receivers that the [`AddressGuard`] allows, reusing connections. Clones share the connections.
#[derive(Clone)]
pub struct Client(Arc<ClientState>);

struct ClientState {
    http: legacy::Client<Connector, Full<Bytes>>,
    connector: Connector,
    limit: Duration,
    roots: Arc<RootCertStore>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("guard", self.guard()).finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client. The first one in a process reads the operating system's trusted certificates from files, so call it at
    /// startup.
    pub fn new(guard: AddressGuard, settings: ClientSettings) -> Result<Self, SetupError> {
        let ClientSettings { time_limit: limit, extra_roots, resolver, keeps_connections } = settings;
        let roots = Arc::new(roots(extra_roots)?);
        let tls = Arc::new(tls(Arc::clone(&roots))?);
        let connector = Connector::new(ConnectContext { guard, resolver, tls, limit });
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(if keeps_connections { IDLE_PER_HOST } else { 0 })
            .http1_max_buf_size(BUFFER)
            .http1_max_headers(HEADERS)
            .build(connector.clone());
        Ok(Self(Arc::new(ClientState { http, connector, limit, roots })))
    }

    /// Returns the address guard.
    pub fn guard(&self) -> &AddressGuard {
        self.0.connector.guard()
    }

    /// Returns the trusted root certificates.
    pub fn roots(&self) -> &Arc<RootCertStore> {
        &self.0.roots
    }

    /// Posts a body and keeps the beginning of the response.
    ///
    /// If the receiver closes a reused connection without a response, the request is sent once more over a new
    /// connection. A receiver can therefore get a request twice and must detect duplicates by event id.
    pub async fn post(&self, target: &Target, headers: HeaderMap, body: Bytes) -> Result<Answer, Failure> {
        self.request(&Method::POST, target, headers, body, POSTED).await
    }

    /// Gets a body of at most `max_body` bytes; fails if it is larger.
    pub async fn get(&self, target: &Target, headers: HeaderMap, max_body: usize) -> Result<Answer, Failure> {
        self.request(&Method::GET, target, headers, Bytes::new(), BodyLimit::Whole(max_body)).await
    }

    /// Posts a body and gets a response body of at most `max_body` bytes; fails if it is larger. As [`Client::post`], it may
    /// send the request twice if the client keeps connections.
    pub async fn exchange(
        &self,
        target: &Target,
        headers: HeaderMap,
        body: Bytes,
        max_body: usize,
    ) -> Result<Answer, Failure> {
        self.request(&Method::POST, target, headers, body, BodyLimit::Whole(max_body)).await
    }

    /// Puts a body and keeps the beginning of the response. As [`Client::post`], it may send the request twice.
    pub async fn put(&self, target: &Target, headers: HeaderMap, body: Bytes) -> Result<Answer, Failure> {
        self.request(&Method::PUT, target, headers, body, POSTED).await
    }

    /// Opens a TLS connection for a protocol other than HTTP, to a host that the guard allows.
    pub async fn connect_tls(
        &self,
        host: &str,
        port: u16,
        tls: Arc<ClientConfig>,
    ) -> Result<TlsStream<TcpStream>, Failure> {
        self.0.connector.connect_tls(host, port, tls).await.map_err(|error| {
            tracing::debug!(error = chain_text(&error), "no connection");
            Failure::from(&error)
        })
    }

    async fn request(
        &self,
        method: &Method,
        target: &Target,
        mut headers: HeaderMap,
        body: Bytes,
        room: BodyLimit,
    ) -> Result<Answer, Failure> {
        for name in &OURS {
            headers.remove(name);
        }
        if method != Method::GET {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let start = Instant::now();
        let exchange = async {
            let response = self.send(|| request(method, target, &headers, &body)).await?;
            Answer::read(response, room).await
        };
        let answer = timeout(self.0.limit, exchange).await.unwrap_or(Err(Failure::Timeout))?;
        Ok(Answer { elapsed: start.elapsed(), ..answer })
    }

    /// Sends a request, and repeats it once if a reused connection was closed without a response.
    async fn send(&self, request: impl Fn() -> Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        let mut result = self.0.http.request(request()).await;
        if result.as_ref().is_err_and(|error| was_used(error) && is_closed(error)) {
            result = self.0.http.request(request()).await;
        }
        match result {
            Ok(response) => {
                if let Some(used) = response.extensions().get::<ConnectionUse>() {
                    used.mark();
                }
                Ok(response)
            }
            Err(error) => {
                let failure = Failure::of(&error);
                tracing::debug!(?failure, error = chain_text(&error), "the request got no response");
                Err(failure)
            }
        }
    }
}

fn request(method: &Method, target: &Target, headers: &HeaderMap, body: &Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body.clone()));
    *request.method_mut() = method.clone();
    *request.uri_mut() = target.uri().clone();
    *request.version_mut() = Version::HTTP_11;
    *request.headers_mut() = headers.clone();
    request
}

fn was_used(error: &legacy::Error) -> bool {
    let mut extras = http::Extensions::new();
    if let Some(connected) = error.connect_info() {
        connected.get_extras(&mut extras);
    }
    extras.get::<ConnectionUse>().is_some_and(ConnectionUse::is_marked)
}

/// The root certificates of the operating system, read once.
static SYSTEM_ROOTS: LazyLock<RootCertStore> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
});

/// Returns the root certificates of the operating system, and these.
fn roots(extra_roots: Vec<CertificateDer<'static>>) -> Result<RootCertStore, SetupError> {
    let mut roots = SYSTEM_ROOTS.clone();
    for root in extra_roots {
        roots.add(root)?;
    }
    if roots.is_empty() {
        // The program can still start: without trusted certificates, only https requests fail.
        tracing::warn!("this system has no trusted certificates; install the package ca-certificates");
    }
    Ok(roots)
}

fn tls(roots: Arc<RootCertStore>) -> Result<ClientConfig, SetupError> {
    let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Session tickets would be stored for every server at any size; persistent connections save the same handshakes.
    tls.resumption = Resumption::disabled();
    Ok(tls)
}
