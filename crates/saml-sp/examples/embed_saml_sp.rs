//! Adds sign-in through an identity provider to your own service, with axum and in-memory storage.
//!
//! `cargo run -p gatehouse-saml-sp --example embed_saml_sp -- idp-metadata.xml example.com` serves on <http://127.0.0.1:8765>. Register
//! the printed metadata URL with the identity provider and open `/login`. Without arguments, the example generates an
//! identity provider, shows what it would be sent and that an unsigned response is rejected, and exits.
#![expect(clippy::unwrap_used, reason = "an example speaks by panicking")]

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use kernel::{Actor, Ctx, Env, Secret, SystemEnv, TenantId};
use saml_sp::{
    Against, KeyError, KeyPair, New, OtherSide, Outgoing, Provider, ProviderChange, ProviderId, RequestId,
    RequestPurpose, RequestStore, SealKey, SealedKey, ServiceProvider, memory::MemoryStore,
};

const BASE: &str = "http://127.0.0.1:8765";

/// The key exists only in memory, so it is not encrypted. Encrypt yours.
struct Unsealed;

impl SealKey for Unsealed {
    fn seal(&self, _: &ProviderId, private: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        Ok(data_encoding::BASE64.encode(private.expose()))
    }

    fn open(&self, _: &ProviderId, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        data_encoding::BASE64.decode(sealed.as_bytes()).map(Secret::new).map_err(|_| KeyError("opened"))
    }
}

#[derive(Clone)]
struct Service {
    env: Arc<dyn Env>,
    tenant: TenantId,
    store: MemoryStore,
    provider: Arc<Provider>,
}

impl Service {
    /// Sets up the identity provider: validates its metadata, generates a key of ours, and stores both.
    async fn new(metadata: &str, domain: &str) -> Self {
        let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
        let tenant = TenantId::new(&*env);
        let mut store = MemoryStore::new(&tenant);
        let ctx = Ctx::new(env.clone(), tenant.clone(), Actor::system("example"));
        let id = ProviderId::new(&*env, &tenant);
        let key = SealedKey::generate(&Unsealed, &id, BASE, ctx.now).unwrap();
        let change = ProviderChange {
            name: "Our identity provider".into(),
            email_domains: vec![domain.into()],
            sign_requests: true,
            ..ProviderChange::default()
        };
        let known = OtherSide::MetadataXml(metadata.into()).checked(ctx.now).unwrap();
        let new = New { id, key, change: change.checked().unwrap(), known };
        let provider = saml_sp::create(&ctx, &mut store, new).await.unwrap();
        Self { env, tenant, store, provider: Arc::new(provider) }
    }

    fn routes(self) -> Router {
        Router::new()
            .route("/metadata", get(metadata))
            .route("/login", get(login))
            .route("/acs", post(acs))
            .with_state(self)
    }
}

/// Returns our entity id and assertion consumer service.
fn ours() -> ServiceProvider {
    ServiceProvider {
        entity_id: format!("{BASE}/metadata"),
        acs_url: format!("{BASE}/acs"),
        slo_url: format!("{BASE}/slo"),
    }
}

async fn metadata(State(service): State<Service>) -> Response {
    let text = ours().metadata(&service.provider.keys, true).unwrap();
    ([(header::CONTENT_TYPE, "application/samlmetadata+xml")], text).into_response()
}

async fn login(State(mut service): State<Service>) -> Response {
    let key = service.provider.keys.active.open(&Unsealed, &service.provider.id).unwrap();
    let intent = RequestPurpose { return_to: "/".into(), trial: None };
    let begun = saml_sp::begin(&*service.env, &ours(), &service.provider, Some(&key), intent).unwrap();
    service.store.insert_request(&begun.request).await.unwrap();
    // Binds the response to this browser. On https, use `SameSite=None; Secure`.
    let kept = begun.browser.expose();
    let cookie = format!("saml={kept}; Path=/acs; Max-Age=600; HttpOnly; SameSite=Lax");
    let (action, fields) = match begun.outgoing {
        Outgoing::Url(url) => {
            let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, url)];
            return (StatusCode::SEE_OTHER, headers).into_response();
        }
        Outgoing::Form { action, fields } => (action.replace('&', "&amp;"), fields),
    };
    let inputs =
        fields.iter().map(|(name, value)| format!("<input type=hidden name={name} value=\"{value}\">"));
    let inputs = inputs.collect::<String>();
    let page = format!("<form method=post action=\"{action}\">{inputs}<button>Go on</button></form>");
    ([(header::SET_COOKIE, cookie)], Html(page)).into_response()
}

async fn acs(State(mut service): State<Service>, headers: HeaderMap, body: String) -> Response {
    let field = form_urlencoded::parse(body.as_bytes()).find(|(name, _)| name == "SAMLResponse");
    let field = field.map(|(_, value)| value.into_owned()).unwrap_or_default();
    // Validation is CPU-bound, so it runs on a blocking thread.
    let (service_provider, provider, now) = (ours(), service.provider.clone(), service.env.now());
    let examine = move || {
        let keys: Vec<KeyPair> =
            provider.keys.all().map(|key| key.open(&Unsealed, &provider.id).unwrap()).collect();
        saml_sp::examine(
            &field,
            &Against { provider: &provider, service: &service_provider, keys: &keys, now },
        )
    };
    let examined = tokio::task::spawn_blocking(examine).await.unwrap();
    let (answers, claims): (RequestId, _) = match (examined.outcome, examined.claims) {
        (Ok(answers), Some(claims)) => (answers, claims),
        (outcome, _) => return refused(&outcome.unwrap_err()),
    };
    let cookies = headers.get(header::COOKIE).and_then(|cookies| cookies.to_str().ok()).unwrap_or_default();
    let kept = cookies.split("; ").find_map(|pair| pair.strip_prefix("saml="));
    let ctx =
        Ctx::new(service.env.clone(), service.tenant.clone(), Actor::saml(service.provider.id.as_str()));
    let counted =
        saml_sp::claim(&ctx, &mut service.store, &service.provider, &answers, &claims, kept).await.unwrap();
    match counted.outcome {
        Ok(email) => {
            format!("{email} is who the identity provider says. Now look them up.\n").into_response()
        }
        Err(refusal) => refused(&refusal),
    }
}

/// Tells the caller nothing; the reason belongs in your log.
fn refused(refusal: &saml_sp::Refusal) -> Response {
    eprintln!("refused: {refusal}");
    (StatusCode::UNAUTHORIZED, "not accepted\n").into_response()
}

#[tokio::main]
async fn main() {
    saml_sp::warm_up();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [file, domain] => {
            let service = Service::new(&std::fs::read_to_string(file).unwrap(), domain).await;
            println!("metadata: {BASE}/metadata, sign in: {BASE}/login");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:8765").await.unwrap();
            axum::serve(listener, service.routes()).await.unwrap();
        }
        _ => show().await,
    }
}

/// Prints our metadata and a request, and checks that an unsigned response is rejected.
async fn show() {
    let pair = KeyPair::generate("idp.example", SystemEnv::default().now()).unwrap();
    let idp = format!(
        r#"<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example/saml">
        <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
        <md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>
        <ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
        <md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://idp.example/sso"/>
        </md:IDPSSODescriptor></md:EntityDescriptor>"#,
        pair.certificate.base64()
    );
    let service = Service::new(&idp, "example.com").await;
    let said = text(metadata(State(service.clone())).await).await;
    println!("our metadata has {} certificates", said.matches("X509Certificate>").count() / 2);
    let sent = text(login(State(service.clone())).await).await;
    println!("a login is a form of {} bytes with a signed AuthnRequest", sent.len());
    let body = "SAMLResponse=PHNhbWxwOlJlc3BvbnNlLz4%3D".to_owned();
    let answer = acs(State(service), HeaderMap::new(), body).await;
    println!("a response out of thin air: {}", answer.status());
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}

async fn text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}
