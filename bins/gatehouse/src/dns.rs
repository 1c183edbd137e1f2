//! Records of the DNS that prove whose a domain is.

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
use saml_sp::EmailDomain;
use tokio::time::timeout;

/// How long a look-up may take, all tries together.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// How long one try may take: there is time for a second.
const TRY: Duration = Duration::from_secs(2);
/// Records that are looked at.
const MAX_RECORDS: usize = 100;

/// There was no answer that says anything. What exactly was wrong is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the DNS gave no answer")]
pub(crate) struct Unavailable;

/// Looks up records. Nothing is kept of an answer: whoever has just added a record wants it seen.
#[derive(Debug, Clone)]
pub(crate) struct Dns {
    /// Empty: those of the system, as they are at that moment.
    servers: Vec<SocketAddr>,
}

impl Dns {
    pub(crate) fn new(servers: Vec<SocketAddr>) -> Self {
        Self { servers }
    }

    /// The texts that are there for a domain; none where there is no such name.
    pub(crate) async fn proofs(&self, domain: &EmailDomain) -> Result<Vec<String>, Unavailable> {
        let name = record_name(domain);
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
                tracing::warn!(%error, name, millis, "the DNS gave no answer");
                Err(Unavailable)
            }
        }
    }

    async fn texts(&self, name: &str) -> Result<Vec<String>, NetError> {
        // With the dot at its end nothing is looked for below a domain of this machine's.
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

    /// A new one each time: it follows the system's settings and remembers nothing.
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

/// Where the record of a domain is.
pub(crate) fn record_name(domain: &EmailDomain) -> String {
    format!("_gatehouse.{domain}")
}

/// What stands before the token in the record.
const BEFORE: &str = "gatehouse-domain-verification=";

/// What is to stand in the record.
pub(crate) fn record_value(token: &str) -> String {
    format!("{BEFORE}{token}")
}

/// The token of a record, if it is one of these.
pub(crate) fn token_of(text: &str) -> Option<&str> {
    text.trim().strip_prefix(BEFORE).map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// A server that answers each question with these records, or with an error code.
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
                    // A pointer to the name, TXT, IN, an hour.
                    answer.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0x0e, 0x10, 0, byte(data.len())]);
                    answer.extend(data);
                }
                socket.send_to(&answer, from).unwrap();
            }
        });
        address
    }

    async fn query(address: SocketAddr) -> Result<Vec<String>, Unavailable> {
        Dns::new(vec![address]).proofs(&"corp.example".parse().unwrap()).await
    }

    #[tokio::test]
    async fn records_are_read_whole() {
        let found =
            query(server(0, &[&["v=spf1"], &["gatehouse-domain-", "verification=abc"]])).await.unwrap();
        assert_eq!(found, ["v=spf1", "gatehouse-domain-verification=abc"]);
        assert_eq!(token_of(&found[1]), Some("abc"));
        assert_eq!(token_of(&found[0]), None);
        assert_eq!(record_value("abc"), found[1]);
    }

    #[tokio::test]
    async fn no_such_name_is_an_answer_and_a_failure_is_none() {
        assert_eq!(query(server(3, &[])).await, Ok(Vec::new()));
        assert_eq!(query(server(0, &[])).await, Ok(Vec::new()));
        assert_eq!(query(server(2, &[])).await, Err(Unavailable));
        assert_eq!(query(server(5, &[])).await, Err(Unavailable));
    }

    #[tokio::test]
    async fn silence_is_waited_for_only_so_long() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let started = Instant::now();
        assert_eq!(query(silent.local_addr().unwrap()).await, Err(Unavailable));
        assert!(started.elapsed() < TIME_LIMIT + Duration::from_secs(1));
    }
}
