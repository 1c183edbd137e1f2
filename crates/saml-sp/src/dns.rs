//! DNS lookups that verify domains.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use hickory_resolver::{
    Resolver, TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolverConfig},
    net::{NetError, runtime::TokioRuntimeProvider},
    proto::rr::{Name, RData},
};
use tokio::time::timeout;

use crate::EmailDomain;

/// Time limit of a lookup with all its attempts.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Time limit of one attempt; leaves time for a second.
const TRY: Duration = Duration::from_secs(2);
/// Maximum records per lookup.
const MAX_RECORDS: usize = 100;

/// The DNS gave no usable answer. The log has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no DNS server answered")]
pub struct NoDnsAnswer;

/// Looks up TXT records. Nothing is cached, so that a record that was just added is found.
#[derive(Debug, Clone)]
pub struct DnsTxt {
    /// DNS servers; if empty, those of the system at the time of the lookup.
    servers: Vec<SocketAddr>,
}

impl DnsTxt {
    /// Creates a resolver that asks these servers, or the system's if there are none.
    pub fn new(servers: Vec<SocketAddr>) -> Self {
        Self { servers }
    }

    /// Returns the TXT records of a domain; none if the name does not exist.
    pub async fn proofs(&self, domain: &EmailDomain) -> Result<Vec<String>, NoDnsAnswer> {
        let name = domain.record_name();
        let started = Instant::now();
        let found = match timeout(TIME_LIMIT, self.texts(&name)).await {
            Ok(found) => found,
            Err(_) => Err(NetError::Timeout),
        };
        let millis = started.elapsed().as_millis();
        match found {
            Ok(texts) => {
                tracing::info!(name, records = texts.len(), millis, "looked up");
                Ok(texts)
            }
            Err(error) => {
                tracing::warn!(%error, name, millis, "no DNS server answered");
                Err(NoDnsAnswer)
            }
        }
    }

    async fn texts(&self, name: &str) -> Result<Vec<String>, NetError> {
        // The trailing dot prevents search domains of this machine.
        let name = Name::from_ascii(format!("{name}."))?;
        match self.resolver()?.txt_lookup(name).await {
            Ok(found) => {
                let texts = found.answers().iter().filter_map(|record| match &record.data {
                    RData::TXT(text) => Some(String::from_utf8_lossy(&text.txt_data.concat()).into_owned()),
                    _ => None,
                });
                Ok(texts.take(MAX_RECORDS).collect())
            }
            Err(error) if error.is_no_records_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Creates a resolver per lookup: it follows changes of the system's settings and caches nothing.
    fn resolver(&self) -> Result<TokioResolver, NetError> {
        let mut builder = if self.servers.is_empty() {
            TokioResolver::builder_tokio()?
        } else {
            let servers = self.servers.iter().map(|server| {
                let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
                    connection.port = server.port();
                    connection
                });
                NameServerConfig::new(server.ip(), true, connections.to_vec())
            });
            let config = ResolverConfig::from_name_servers(servers.collect());
            Resolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        let options = builder.options_mut();
        options.timeout = TRY;
        options.attempts = 1;
        options.cache_size = 0;
        options.use_hosts_file = hickory_resolver::config::ResolveHosts::Never;
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// Starts a DNS server that answers each query with these records, or with an error code.
    fn server(code: u8, texts: &'static [&'static [&'static str]]) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let byte = |count: usize| u8::try_from(count).unwrap();
        std::thread::spawn(move || {
            let mut packet = [0; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut packet) {
                let end = 12 + packet[12..length].iter().position(|byte| *byte == 0).unwrap() + 5;
                let mut answer = packet[..end].to_vec();
                answer[2..4].copy_from_slice(&[0x81, 0x80 | code]);
                answer[6..12].copy_from_slice(&[0, byte(texts.len()), 0, 0, 0, 0]);
                for text in texts {
                    let data: Vec<u8> = text
                        .iter()
                        .flat_map(|part| [&[byte(part.len())], part.as_bytes()].concat())
                        .collect();
                    // Compression pointer to the name, TXT, IN, TTL of an hour.
                    answer.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0x0e, 0x10, 0, byte(data.len())]);
                    answer.extend(data);
                }
                socket.send_to(&answer, from).unwrap();
            }
        });
        address
    }

    async fn query(address: SocketAddr) -> Result<Vec<String>, NoDnsAnswer> {
        DnsTxt::new(vec![address]).proofs(&"corp.example".parse().unwrap()).await
    }

    #[tokio::test]
    async fn split_txt_records_are_joined() {
        let found =
            query(server(0, &[&["v=spf1"], &["gatehouse-domain-", "verification=abc"]])).await.unwrap();
        assert_eq!(found, ["v=spf1", "gatehouse-domain-verification=abc"]);
        assert_eq!(EmailDomain::record_value("abc"), found[1]);
    }

    #[tokio::test]
    async fn missing_name_has_no_records_and_server_failure_is_an_error() {
        assert_eq!(query(server(3, &[])).await, Ok(Vec::new()));
        assert_eq!(query(server(0, &[])).await, Ok(Vec::new()));
        assert_eq!(query(server(2, &[])).await, Err(NoDnsAnswer));
        assert_eq!(query(server(5, &[])).await, Err(NoDnsAnswer));
    }

    // Paused time advances to the next timer while the socket is silent.
    #[tokio::test(start_paused = true)]
    async fn lookup_of_silent_server_times_out() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let started = Instant::now();
        assert_eq!(query(silent.local_addr().unwrap()).await, Err(NoDnsAnswer));
        assert!(started.elapsed() < TIME_LIMIT + Duration::from_secs(1));
    }
}
