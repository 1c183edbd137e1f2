//! Clients, host names and certificates for tests.

use std::{
    collections::{HashMap, VecDeque},
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::{ServerConfig, crypto::ring};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};
use webhooks::client::{AddressGuard, Client, ClientSettings, Resolve};

/// Time limit for exchanges that end by themselves; generous enough for a busy machine.
pub(crate) const PATIENT: Duration = Duration::from_secs(30);
/// Time limit for exchanges that must be cut off.
pub(crate) const SHORT: Duration = Duration::from_millis(400);

/// A host name in every [`Names`], for a local receiver.
pub(crate) const RECEIVER: &str = "receiver.test";

/// A resolver with scripted results: each lookup of a name returns the next list of addresses, then the last one
/// again.
#[derive(Default)]
pub(crate) struct Names {
    names: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    asked: AtomicUsize,
}

impl Names {
    pub(crate) fn new() -> Self {
        Self::default().with(RECEIVER, &[&["127.0.0.1"]])
    }

    pub(crate) fn with(self, name: &str, answers: &[&[&str]]) -> Self {
        let addresses = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        self.names.lock().unwrap().insert(name.to_owned(), answers.iter().map(addresses).collect());
        self
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if host == "slow.test" {
            std::future::pending::<()>().await;
        }
        let mut names = self.names.lock().unwrap();
        let answers = names.get_mut(host).ok_or(io::ErrorKind::NotFound)?;
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Ok(answer.unwrap())
    }
}

/// Returns a client that allows loopback and unencrypted http and trusts our certificate authority.
pub(crate) fn local_client(limit: Duration) -> Client {
    client_of(AddressGuard::new(vec!["127.0.0.1/32".parse().unwrap()], true), limit, Names::new())
}

pub(crate) fn client_of(guard: AddressGuard, limit: Duration, names: impl Resolve + 'static) -> Client {
    let settings = ClientSettings {
        time_limit: limit,
        extra_roots: vec![authority().as_ref().der().clone()],
        resolver: Arc::new(names),
        ..ClientSettings::default()
    };
    Client::new(guard, settings).unwrap()
}

/// A local listener that nothing may connect to.
pub(crate) struct Trap(TcpListener);

impl Trap {
    pub(crate) async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// Fails if anything has connected. Connections are accepted in order, so ours is the first only if there was no
    /// other.
    pub(crate) async fn assert_silent(self) {
        let ours = TcpStream::connect(self.0.local_addr().unwrap()).await.unwrap();
        let (_, first) = self.0.accept().await.unwrap();
        assert_eq!(first, ours.local_addr().unwrap(), "another client has connected");
    }
}

/// A local listener that does not answer further connections, because its backlog is full.
pub(crate) struct Silent {
    _listener: TcpListener,
    _backlog: Vec<TcpStream>,
}

impl Silent {
    pub(crate) async fn on(address: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(address.parse().unwrap()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut backlog = Vec::new();
        while let Ok(stream) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
            backlog.push(stream.unwrap());
        }
        Self { _listener: listener, _backlog: backlog }
    }
}

/// Returns the address of a closed port.
pub(crate) async fn unused() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// The certificate that a receiver presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    Good,
    SelfSigned,
    Expired,
    NotYet,
    WrongName,
    /// A valid certificate, but the receiver supports only HTTP/2.
    OnlyHttp2,
}

fn authority() -> &'static CertifiedIssuer<'static, KeyPair> {
    static AUTHORITY: std::sync::OnceLock<CertifiedIssuer<'static, KeyPair>> = std::sync::OnceLock::new();
    AUTHORITY.get_or_init(|| {
        let mut root = CertificateParams::default();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(root, KeyPair::generate().unwrap()).unwrap()
    })
}

pub(crate) fn server(proof: Proof) -> Arc<ServerConfig> {
    let name = if proof == Proof::WrongName { "other.test" } else { RECEIVER };
    let mut leaf = CertificateParams::new([name.to_owned(), "127.0.0.1".to_owned()]).unwrap();
    if proof == Proof::WrongName {
        leaf.subject_alt_names.truncate(1);
    }
    if proof == Proof::Expired {
        leaf.not_after = date_time_ymd(2020, 1, 1);
        leaf.not_before = date_time_ymd(2019, 1, 1);
    }
    if proof == Proof::NotYet {
        leaf.not_before = date_time_ymd(2090, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = if proof == Proof::SelfSigned {
        leaf.self_signed(&key)
    } else {
        leaf.signed_by(&key, &**authority())
    };
    let chain: Vec<CertificateDer<'static>> = vec![certificate.unwrap().into()];
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    let protocol: &[u8] = if proof == Proof::OnlyHttp2 { b"h2" } else { b"http/1.1" };
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}
