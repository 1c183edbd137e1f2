//! An OpenID provider with TLS on this machine, which also signs security event tokens. Tests decide what its endpoints
//! respond, and read what it received.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
};

use kernel::Timestamp;
use oidc_rp::{
    Algorithm,
    conformance::{CLIENT, Signer, TestProvider, key_id},
};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Map, Value, json};

use super::server_certificate;

/// The access token of all responses.
pub const ACCESS_TOKEN: &str = "an access token";

/// The certificate of all providers in this process, and a file with it.
struct Certificate {
    pem: String,
    key: String,
    file: PathBuf,
}

fn certificate() -> &'static Certificate {
    static CERTIFICATE: OnceLock<Certificate> = OnceLock::new();
    CERTIFICATE.get_or_init(|| {
        let (pem, key) = server_certificate();
        let file = std::env::temp_dir().join(format!("gatehouse-openid-{}.pem", std::process::id()));
        std::fs::write(&file, &pem).unwrap();
        Certificate { pem, key, file }
    })
}

/// A received request.
#[derive(Debug, Clone)]
pub struct Received {
    /// The path without the query.
    pub path: String,
    /// Headers by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, which is text.
    pub body: String,
}

impl Received {
    /// Returns a header, empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns the body, which is JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the event type of a webhook.
    pub fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }
}

/// A response of an endpoint.
#[derive(Clone)]
pub struct Responds {
    /// The status code.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// The body, which is text.
    pub body: String,
}

impl Responds {
    /// A successful response with this JSON.
    pub fn json(body: &Value) -> Self {
        Self { status: 200, content_type: "application/json", body: body.to_string() }
    }
}

/// What a sign-in at the provider begins with: the parameters of our redirect.
pub struct Authorization {
    /// The URL without its query.
    pub endpoint: String,
    parameters: BTreeMap<String, String>,
}

impl Authorization {
    /// Reads the URL that our response redirects to.
    pub fn of_url(url: &str) -> Self {
        let (endpoint, query) = url.split_once('?').unwrap();
        let parameters = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Self { endpoint: endpoint.to_owned(), parameters }
    }

    /// Returns a parameter, empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", String::as_str)
    }

    /// Returns the query of a redirect back to us, with the code of [`issue`](OpenIdProvider::issue).
    pub fn redirect(&self, issuer: &str) -> String {
        self.redirect_with(issuer, "a code")
    }

    /// Returns the query of a redirect back to us with this code.
    pub fn redirect_with(&self, issuer: &str, code: &str) -> String {
        let pairs = [("code", code), ("state", self.get("state")), ("iss", issuer)];
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }
}

/// The provider.
#[derive(Clone)]
pub struct OpenIdProvider {
    /// `https://localhost:` and the port.
    pub issuer: String,
    /// Its keys.
    pub signer: Arc<TestProvider>,
    tls: Arc<ServerConfig>,
    received: Arc<Mutex<Vec<Received>>>,
    responses: Arc<Mutex<BTreeMap<String, Responds>>>,
}

/// Returns the `sub` of the user with this address.
fn subject(email: &str) -> String {
    format!("subject of {email}")
}

impl OpenIdProvider {
    /// The setting by which a server trusts the provider.
    pub fn trusted() -> (&'static str, &'static str) {
        ("webhooks_ca_file", certificate().file.to_str().unwrap())
    }

    /// Returns a provider that several tests share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<OpenIdProvider> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts a provider. Its threads end with the process.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let Certificate { pem, key, .. } = certificate();
        let chain = vec![CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let provider = Self {
            issuer: format!("https://localhost:{}", address.port()),
            signer: Arc::default(),
            tls: Arc::new(tls),
            received: Arc::default(),
            responses: Arc::default(),
        };
        provider.respond("/.well-known/openid-configuration", Responds::json(&provider.metadata()));
        provider.respond("/keys", Responds::json(&json!({ "keys": provider.signer.keys() })));
        provider.listen(listener);
        provider
    }

    fn listen(&self, listener: TcpListener) {
        let shared = self.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || shared.serve(connection));
            }
        });
    }

    /// Returns its metadata.
    pub fn metadata(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.issuer);
        json!({
            "issuer": self.issuer,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "jwks_uri": at("/keys"),
            "userinfo_endpoint": at("/userinfo"),
            "end_session_endpoint": at("/logout"),
            "id_token_signing_alg_values_supported": Algorithm::ALL.map(Algorithm::as_str),
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"],
            "authorization_response_iss_parameter_supported": true,
        })
    }

    /// Sets the response of an endpoint.
    pub fn respond(&self, path: &str, response: Responds) {
        self.responses.lock().unwrap().insert(path.to_owned(), response);
    }

    /// Returns the claims of a user with this address, in answer to a request.
    pub fn claims(&self, request: &Authorization, email: &str, now: Timestamp) -> Map<String, Value> {
        let mut claims = self.signer.claims(request.get("nonce"), now);
        claims.insert("iss".into(), self.issuer.clone().into());
        claims.insert("sub".into(), subject(email).into());
        claims.insert("email".into(), email.into());
        claims
    }

    /// Returns the subject of security events about the user with this address (RFC 9493, section 3.2.3).
    pub fn subject(&self, email: &str) -> Value {
        json!({ "format": "iss_sub", "iss": self.issuer, "sub": subject(email) })
    }

    /// Serves the configuration of a transmitter of shared signals (SSF 1.0, section 7).
    pub fn serve_transmitter(&self) {
        let configuration = json!({ "issuer": self.issuer, "jwks_uri": format!("{}/keys", self.issuer) });
        self.respond("/.well-known/ssf-configuration", Responds::json(&configuration));
    }

    /// Makes the token endpoint respond with a token of these claims.
    pub fn issue(&self, claims: &Map<String, Value>) {
        self.issue_token(&self.signer.token(Algorithm::RS256, claims));
    }

    /// Makes the token endpoint respond with this ID token.
    pub fn issue_token(&self, token: &str) {
        self.respond("/token", tokens(token));
    }

    /// Makes the token endpoint respond to requests with this code, of letters and digits, with a token of these claims.
    pub fn issue_for(&self, code: &str, claims: &Map<String, Value>) {
        self.respond(&of_code(code), tokens(&self.signer.token(Algorithm::RS256, claims)));
    }

    /// Signs a security event token of these claims (RFC 8417).
    pub fn event_token(&self, claims: &Value) -> String {
        let algorithm = Algorithm::RS256;
        let header = json!({ "alg": algorithm.as_str(), "kid": key_id(algorithm), "typ": "secevent+jwt" });
        self.signer.sign(Signer::Own(algorithm), header.to_string().as_bytes(), claims.to_string().as_bytes())
    }

    /// Returns the requests to an endpoint, oldest first.
    pub fn received(&self, path: &str) -> Vec<Received> {
        let all = self.received.lock().unwrap();
        all.iter().filter(|request| request.path == path).cloned().collect()
    }

    fn serve(&self, connection: TcpStream) -> Option<()> {
        let session = ServerConnection::new(Arc::clone(&self.tls)).ok()?;
        let mut reader = BufReader::new(StreamOwned::new(session, connection));
        let mut first = String::new();
        reader.read_line(&mut first).ok()?;
        let path = first.split(' ').nth(1)?.split('?').next()?.to_owned();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        let code = form_urlencoded::parse(body.as_bytes()).find(|(name, _)| name == "code");
        let of_code = code.map(|(_, code)| of_code(&code)).unwrap_or_default();
        self.received.lock().unwrap().push(Received { path: path.clone(), headers, body });
        let none = Responds { status: 404, content_type: "text/plain", body: String::new() };
        let responses = self.responses.lock().unwrap();
        let response = responses.get(&of_code).or_else(|| responses.get(&path)).cloned().unwrap_or(none);
        drop(responses);
        let Responds { status, content_type, body } = response;
        let stream = reader.get_mut();
        write!(
            stream,
            "HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .ok()?;
        stream.conn.send_close_notify();
        stream.flush().ok()
    }
}

/// Returns the name of the token endpoint's response to a code.
fn of_code(code: &str) -> String {
    format!("/token {code}")
}

fn tokens(id_token: &str) -> Responds {
    Responds::json(&json!({ "id_token": id_token, "access_token": ACCESS_TOKEN, "token_type": "Bearer" }))
}

/// Returns the settings of a connection to a provider.
pub fn oidc_body(provider: &OpenIdProvider, domains: &[&str]) -> Value {
    json!({
        "name": "Corp",
        "emailDomains": domains,
        "issuer": provider.issuer,
        "clientId": CLIENT,
        "clientSecret": "a secret: 50% & more",
    })
}
