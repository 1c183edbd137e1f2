//! Establishes connections. No other module does.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower_service::Service;

use super::{
    AddressGuard, Resolve,
    connection::{Connection, Stream},
    target::{literal, server_name},
};

/// Maximum number of a host's addresses to try. They share the time limit.
const TRIED: usize = 4;

/// The reason a connection could not be established.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("the scheme is not supported")]
    Scheme,
    #[error("the URL has no host")]
    Host,
    #[error("the name was not found")]
    Name(#[source] io::Error),
    #[error("the name has no address")]
    NoAddress,
    #[error("the address guard blocks {0}")]
    Blocked(IpAddr),
    #[error("connecting exceeded the time limit")]
    Timeout,
    #[error("the connection failed")]
    Tcp(#[source] io::Error),
    #[error("the TLS handshake failed")]
    Tls(#[source] io::Error),
}

/// Connector for hyper's client. Host names and literal addresses pass the same check.
#[derive(Clone)]
pub(super) struct Connector(Arc<ConnectContext>);

/// The parameters of connections.
pub(super) struct ConnectContext {
    pub(super) guard: AddressGuard,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) limit: Duration,
}

impl Connector {
    pub(super) fn new(gate: ConnectContext) -> Self {
        Self(Arc::new(gate))
    }

    pub(super) fn guard(&self) -> &AddressGuard {
        &self.0.guard
    }

    /// Opens a TLS connection within the time limit.
    pub(super) async fn connect_tls(
        &self,
        host: &str,
        port: u16,
        tls: Arc<ClientConfig>,
    ) -> Result<TlsStream<TcpStream>, ConnectError> {
        let opened = timeout(self.0.limit, self.0.open_tls(host, port, tls)).await;
        opened.map_err(|_| ConnectError::Timeout)?
    }
}

type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<Connection>, ConnectError>> + Send>>;

impl Service<Uri> for Connector {
    type Response = TokioIo<Connection>;
    type Error = ConnectError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Connecting {
        let gate = Arc::clone(&self.0);
        // A separate limit: hyper continues to connect in the background if another connection becomes free first.
        Box::pin(async move {
            let opened = timeout(gate.limit, gate.open(&uri)).await.map_err(|_| ConnectError::Timeout)?;
            opened.map(|stream| TokioIo::new(Connection::new(stream, gate.limit)))
        })
    }
}

impl ConnectContext {
    async fn open(&self, uri: &Uri) -> Result<Box<dyn Stream>, ConnectError> {
        let (is_secure, default_port) = match uri.scheme_str() {
            Some("https") => (true, 443),
            Some("http") if self.guard.allows_http() => (false, 80),
            _ => return Err(ConnectError::Scheme),
        };
        let host = uri.host().ok_or(ConnectError::Host)?;
        let port = uri.port_u16().unwrap_or(default_port);
        if is_secure {
            return Ok(Box::new(self.open_tls(host, port, Arc::clone(&self.tls)).await?));
        }
        let addresses = self.addresses(host).await?;
        Ok(Box::new(self.connect(&addresses, port).await?))
    }

    /// Opens a TLS connection to a host that the guard allows.
    async fn open_tls(
        &self,
        host: &str,
        port: u16,
        tls: Arc<ClientConfig>,
    ) -> Result<TlsStream<TcpStream>, ConnectError> {
        let addresses = self.addresses(host).await?;
        let tcp = self.connect(&addresses, port).await?;
        let name = server_name(host).ok_or(ConnectError::Host)?;
        TlsConnector::from(tls).connect(name, tcp).await.map_err(ConnectError::Tls)
    }

    /// Resolves a host and checks all its addresses. One blocked address blocks the host: a name with both a public
    /// and a private address is suspicious, and which one is used would be random.
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, ConnectError> {
        let found = match literal(host) {
            Some(address) => vec![address],
            None => self.resolver.resolve(host).await.map_err(ConnectError::Name)?,
        };
        let found: Vec<_> = found.iter().map(IpAddr::to_canonical).collect();
        match found.iter().find(|address| !self.guard.admits(**address)) {
            Some(address) => Err(ConnectError::Blocked(*address)),
            None => Ok(chosen(&found)),
        }
    }

    /// Connects to the first of these addresses that accepts.
    async fn connect(&self, addresses: &[IpAddr], port: u16) -> Result<TcpStream, ConnectError> {
        let each = self.limit / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
        let mut last = ConnectError::NoAddress;
        for address in addresses {
            match timeout(each, TcpStream::connect(SocketAddr::new(*address, port))).await {
                Ok(Ok(stream)) => return self.checked(stream, *address),
                Ok(Err(error)) => last = ConnectError::Tcp(error),
                Err(_) => last = ConnectError::Timeout,
            }
        }
        Err(last)
    }

    /// Verifies the peer address of the open connection.
    fn checked(&self, stream: TcpStream, meant: IpAddr) -> Result<TcpStream, ConnectError> {
        let peer = stream.peer_addr().map_err(ConnectError::Tcp)?.ip().to_canonical();
        if peer != meant || !self.guard.admits(peer) {
            return Err(ConnectError::Blocked(peer));
        }
        stream.set_nodelay(true).map_err(ConnectError::Tcp)?;
        Ok(stream)
    }
}

/// Selects a few addresses, alternating IPv6 and IPv4, so that one unreachable family does not use up all attempts.
fn chosen(found: &[IpAddr]) -> Vec<IpAddr> {
    let is_v6_first = found.first().is_some_and(IpAddr::is_ipv6);
    let (mut first, mut other) = (Vec::new(), Vec::new());
    for address in found {
        if address.is_ipv6() == is_v6_first { first.push(*address) } else { other.push(*address) }
    }
    let mut other = other.into_iter();
    let pairs = first.into_iter().flat_map(|one| [Some(one), other.next()]).flatten().collect::<Vec<_>>();
    pairs.into_iter().chain(other).take(TRIED).collect()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::chosen;

    fn chosen_of(found: &[&str]) -> Vec<String> {
        let found: Vec<IpAddr> = found.iter().map(|text| text.parse().unwrap()).collect();
        chosen(&found).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn families_alternate_beginning_with_the_first_address() {
        let mixed = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"];
        assert_eq!(chosen_of(&mixed), ["192.0.2.1", "2001:db8::1", "192.0.2.2", "192.0.2.3"]);
        let mixed = ["2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
        assert_eq!(chosen_of(&mixed), ["2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3"]);
        assert_eq!(chosen_of(&[]), [""; 0]);
    }
}
