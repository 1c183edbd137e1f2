//! Opens connections, with or without TLS, and sets their timeouts.

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use diesel::ConnectionError;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{self, CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio_postgres::{
    CancelToken, Config, NoTls,
    config::{Host, SslMode},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::client_certificate::ClientCertificate;

/// Session settings of every new connection: timeouts for statements, locks and idle transactions. Where the server's
/// operating system supports it, a statement is cancelled when its client disconnects.
const SETUP: &str = "SET statement_timeout = '4s'; SET lock_timeout = '3s'; \
                     SET idle_in_transaction_session_timeout = '15s'; \
                     DO $$ BEGIN PERFORM set_config('client_connection_check_interval', '1s', false); \
                     EXCEPTION WHEN OTHERS THEN NULL; END $$";

/// Time limit for opening a connection.
pub(super) const OPENED_WITHIN: Duration = Duration::from_secs(3);
/// How long sent data may stay unacknowledged.
const SILENCE: Duration = Duration::from_secs(5);

/// A database to connect to.
#[derive(Clone)]
pub(crate) struct PostgresTarget {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    verified: bool,
    certificate: Option<Arc<ClientCertificate>>,
}

impl PostgresTarget {
    /// Parses a database URL. The error contains no part of the URL, which may include a password.
    ///
    /// `sslmode` is one of `disable`, `prefer` (the default: TLS if the server supports it), `require` (TLS with any
    /// certificate) and `verify-full` (TLS with a certificate of this host). Root certificates are the operating
    /// system's or those in the PEM file `sslrootcert`. With `sslcert` and `sslkey`, PEM files too, the client
    /// authenticates by a certificate.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let mut rest = form_urlencoded::Serializer::new(String::new());
        let (mut mode, mut roots, mut chain, mut key) = (String::from("prefer"), None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "sslmode" => mode = value.into_owned(),
                "sslrootcert" => roots = Some(value.into_owned()).filter(|path| path != "system"),
                "sslcert" => chain = Some(PathBuf::from(&*value)),
                "sslkey" => key = Some(PathBuf::from(&*value)),
                _ => {
                    rest.append_pair(&name, &value);
                }
            }
        }
        // The driver decodes %20 but not +.
        let rest = rest.finish().replace('+', "%20");
        let full = if rest.is_empty() { address.to_owned() } else { format!("{address}?{rest}") };
        let mut config: Config = full.parse().map_err(|_| {
            "not a PostgreSQL URL: write postgres://user:password@host/database and percent-encode the password"
        })?;
        config.connect_timeout(OPENED_WITHIN).tcp_user_timeout(SILENCE);
        config.keepalives_idle(SILENCE).keepalives_interval(SILENCE).keepalives_retries(2);
        let is_remote = |host: &Host| !matches!(host, Host::Unix(_));
        let local = !config.get_hosts().iter().any(is_remote) && config.get_hostaddrs().is_empty();
        let (ssl_mode, verified) = match mode.as_str() {
            "disable" => (SslMode::Disable, false),
            "prefer" => (SslMode::Prefer, false),
            "require" => (SslMode::Require, false),
            "verify-full" => (SslMode::Require, true),
            _ => return Err("sslmode must be one of disable, prefer, require, verify-full".into()),
        };
        if roots.is_some() && !verified {
            return Err("sslrootcert requires sslmode=verify-full".into());
        }
        let certificate = match (chain, key) {
            (None, None) => None,
            (Some(chain), Some(key)) if verified => {
                Some(Arc::new(ClientCertificate::new(chain, key, provider())?))
            }
            (Some(_), Some(_)) => return Err("sslcert requires sslmode=verify-full".into()),
            _ => return Err("sslcert and sslkey must be set together".into()),
        };
        // A Unix socket cannot be intercepted, so `prefer` does not use TLS there.
        let with_tls = ssl_mode != SslMode::Disable && !(local && ssl_mode == SslMode::Prefer);
        config.ssl_mode(if with_tls { ssl_mode } else { SslMode::Disable });
        let tls = with_tls.then(|| tls(verified, roots.as_deref(), certificate.clone())).transpose()?;
        Ok(Self { config, tls: tls.map(MakeRustlsConnect::new), verified, certificate })
    }

    /// Returns when the client certificate expires, in seconds since 1970; `None` without one.
    pub(crate) fn certificate_ends(&self) -> Option<i64> {
        self.certificate.as_ref().map(|certificate| certificate.ends())
    }

    /// Returns whether the connection is safe from interception: its certificate is verified, or it is local.
    pub(crate) fn is_safe(&self) -> bool {
        let here = |host: &Host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        };
        let is_local = self.config.get_hosts().iter().all(here)
            && self.config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        self.verified || is_local
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> Result<AsyncPgConnection, ConnectionError> {
        let mut conn = if let Some(tls) = &self.tls {
            let (client, driver) = self.config.connect(tls.clone()).await.map_err(|error| bad(&error))?;
            AsyncPgConnection::try_from_client_and_connection(client, driver).await?
        } else {
            let (client, driver) = self.config.connect(NoTls).await.map_err(|error| bad(&error))?;
            AsyncPgConnection::try_from_client_and_connection(client, driver).await?
        };
        conn.batch_execute(SETUP).await.map_err(ConnectionError::CouldntSetupConfiguration)?;
        Ok(conn)
    }
}

impl PostgresTarget {
    /// Asks the server to cancel the running statement of a connection, and waits until the request has been
    /// received.
    pub(super) async fn cancel(&self, token: CancelToken) -> Result<(), tokio_postgres::Error> {
        match &self.tls {
            Some(tls) => token.cancel_query(tls.clone()).await,
            None => token.cancel_query(NoTls).await,
        }
    }
}

/// Joins an error's message with those of its sources, because the driver's own message does not name the cause.
fn bad(error: &tokio_postgres::Error) -> ConnectionError {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    ConnectionError::BadConnection(text)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(crypto::ring::default_provider())
}

fn tls(
    verified: bool,
    roots: Option<&str>,
    certificate: Option<Arc<ClientCertificate>>,
) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = if verified {
        builder.with_root_certificates(trusted(roots)?)
    } else {
        let anybody = Arc::new(AnyCertificate(provider()));
        builder.dangerous().with_custom_certificate_verifier(anybody)
    };
    Ok(match certificate {
        Some(certificate) => builder.with_client_cert_resolver(certificate),
        None => builder.with_no_client_auth(),
    })
}

fn trusted(file: Option<&str>) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let Some(path) = file else {
        let (good, _) = store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if good > 0 {
            Ok(store)
        } else {
            Err("this system has no trusted certificates; set sslrootcert to a PEM file".into())
        };
    };
    let named = |problem: &dyn std::fmt::Display| format!("sslrootcert: {path}: {problem}");
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| named(&error))? {
        let certificate = certificate.map_err(|error| named(&error))?;
        store.add(certificate).map_err(|error| named(&error))?;
    }
    if store.is_empty() { Err(named(&"the file contains no certificate")) } else { Ok(store) }
}

/// Accepts any certificate, for `prefer` and `require`. Protects against eavesdropping, not against interception.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(url: &str) -> String {
        PostgresTarget::parse(url).err().unwrap()
    }

    #[test]
    fn url_decides_whether_tls_is_used() {
        let tls = |url: &str| PostgresTarget::parse(url).ok().unwrap().tls.is_some();
        assert!(tls("postgres://u:p@db/x") && tls("postgres://u:p@db/x?sslmode=require"));
        assert!(tls("postgres://u:p@db/x?sslmode=verify-full&application_name=a%20b"));
        assert!(!tls("postgres://u:p@db/x?sslmode=disable"));
        assert!(!tls("postgres:///x?host=/run/postgresql"), "a Unix socket cannot be intercepted");
        assert!(tls("postgres://u:p@/x?hostaddr=192.0.2.7"));
        let is_safe = |url: &str| PostgresTarget::parse(url).ok().unwrap().is_safe();
        assert!(is_safe("postgres:///x?host=/run/postgresql") && is_safe("postgres://u@localhost/x"));
        assert!(is_safe("postgres://u@db/x?sslmode=verify-full") && !is_safe("postgres://u@db/x"));
        assert!(!is_safe("postgres://u@/x?hostaddr=192.0.2.7"));
        assert!(!is_safe("postgres://u@localhost/x?hostaddr=192.0.2.7"));
    }

    #[test]
    fn errors_say_what_to_write_and_contain_no_password() {
        assert!(problem("postgres://u:p@db/x?sslmode=no").contains("verify-full"));
        assert!(
            problem("postgres://u:p@db/x?sslmode=require&sslrootcert=/x")
                .contains("requires sslmode=verify-full")
        );
        assert!(problem("postgres://u:p@db/x?sslmode=verify-full&sslrootcert=/none").contains("/none"));
        for (options, expected) in [
            ("sslmode=verify-full&sslcert=/none", "sslcert and sslkey must be set together"),
            ("sslkey=/none", "sslcert and sslkey must be set together"),
            ("sslmode=require&sslcert=/none&sslkey=/none", "sslcert requires sslmode=verify-full"),
            ("sslmode=verify-full&sslcert=/none&sslkey=/none", "sslcert: /none: "),
        ] {
            let problem = problem(&format!("postgres://u:hunter2@db/x?{options}"));
            assert!(problem.starts_with(expected), "{problem}");
        }
        for url in ["postgres://u:hunter2@db:port/x", "postgres://u:hunter2@db/x?colour=hunter2"] {
            assert!(!problem(url).contains("hunter2"), "{}", problem(url));
        }
    }
}
