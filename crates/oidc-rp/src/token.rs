//! Exchanges a code for an ID token (OpenID Connect Core, section 3.1.3), and reads UserInfo (section 5.3).

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use kernel::{Env, Secret};
use ring::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::{Map, Value, json};

use crate::{
    claims::Claims,
    discovery::ClientAuth,
    json,
    jws::{MAX_TOKEN, Verified},
    refusal::{Reason, Refusal},
};

/// Maximum size of a response of the token or UserInfo endpoint in bytes.
pub const MAX_RESPONSE: usize = 256 * 1024;
/// How long a client assertion is valid, in seconds.
const ASSERTION_SECONDS: i64 = 60;

/// Our credential at the provider.
pub enum ClientCredential<'c> {
    /// A secret that both sides know, in a header or in the body.
    Secret(&'c Secret<String>, SecretTransport),
    /// An RSA key whose public half the provider knows.
    Key(&'c ClientKey),
}

/// Transports of a client secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretTransport {
    /// In the header `Authorization` (`client_secret_basic`).
    Header,
    /// In the body (`client_secret_post`).
    Body,
}

/// Our RSA key for `private_key_jwt`.
pub struct ClientKey {
    key: RsaKeyPair,
    id: String,
    thumbprint: Option<String>,
}

/// The key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key for private_key_jwt cannot be used")]
pub struct ClientKeyError;

impl ClientKey {
    /// Reads an RSA key of at least 2,048 bits (PKCS#8 in DER).
    pub fn from_pkcs8(der: &Secret<Vec<u8>>, id: impl Into<String>) -> Result<Self, ClientKeyError> {
        let key = RsaKeyPair::from_pkcs8(der.expose()).map_err(|_| ClientKeyError)?;
        Ok(Self { key, id: id.into(), thumbprint: None })
    }

    /// Sets the SHA-256 thumbprint of the key's certificate, by which Entra finds the key (`x5t#S256`).
    #[must_use]
    pub fn with_certificate(self, thumbprint: &[u8; 32]) -> Self {
        Self { thumbprint: Some(BASE64URL_NOPAD.encode(thumbprint)), ..self }
    }

    /// Returns the public key as a JWK, for the provider.
    pub fn jwk(&self) -> Value {
        let public = self.key.public();
        let number = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let modulus: ring::rsa::PublicKeyComponents<Vec<u8>> = public.into();
        json!({
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.id,
            "n": number(&modulus.n), "e": number(&modulus.e),
        })
    }

    /// Signs an assertion for the token endpoint (RFC 7523, section 2.2).
    ///
    /// `audience` is the issuer, or another value that an administrator has entered. It must not come from the metadata:
    /// a malicious provider could name another provider's token endpoint there, and use the assertion at that endpoint.
    pub fn assertion(
        &self,
        env: &dyn Env,
        client_id: &str,
        audience: &str,
    ) -> Result<String, ClientKeyError> {
        let now = env.now().unix_millis() / 1000;
        let mut id = [0; 16];
        env.fill(&mut id);
        let mut header = json!({ "alg": "RS256", "typ": "JWT", "kid": self.id });
        if let (Some(thumbprint), Value::Object(members)) = (&self.thumbprint, &mut header) {
            members.insert("x5t#S256".to_owned(), thumbprint.as_str().into());
        }
        let claims = json!({
            "iss": client_id, "sub": client_id, "aud": audience, "jti": HEXLOWER.encode(&id),
            "iat": now, "exp": now + ASSERTION_SECONDS,
        });
        let encode = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| ClientKeyError)?;
        Ok(format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature)))
    }
}

impl ClientCredential<'_> {
    /// Returns the registered name of the method.
    pub fn method(&self) -> ClientAuth {
        match self {
            Self::Secret(_, SecretTransport::Header) => ClientAuth::ClientSecretBasic,
            Self::Secret(_, SecretTransport::Body) => ClientAuth::ClientSecretPost,
            Self::Key(_) => ClientAuth::PrivateKeyJwt,
        }
    }
}

/// A request to the token endpoint: a POST with `Content-Type: application/x-www-form-urlencoded`.
pub struct TokenRequest {
    /// The body.
    pub body: Secret<String>,
    /// The value of the header `Authorization`, if any.
    pub authorization: Option<Secret<String>>,
}

/// The values of a token request.
#[derive(Clone, Copy)]
pub struct CodeExchange<'x> {
    /// Our client ID.
    pub client_id: &'x str,
    /// The audience of a client assertion: the issuer, or another value that an administrator has entered.
    pub assertion_audience: &'x str,
    /// The redirect URI of the request.
    pub redirect_uri: &'x str,
    /// The code from the redirect.
    pub code: &'x Secret<String>,
    /// The code verifier of the request.
    pub code_verifier: &'x Secret<String>,
}

impl TokenRequest {
    /// Creates the request that exchanges a code.
    pub fn new(
        env: &dyn Env,
        exchange: CodeExchange<'_>,
        credential: &ClientCredential<'_>,
    ) -> Result<Self, ClientKeyError> {
        let CodeExchange { client_id, assertion_audience, redirect_uri, code, code_verifier } = exchange;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code.expose())
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("code_verifier", code_verifier.expose());
        let mut authorization = None;
        match credential {
            ClientCredential::Secret(secret, SecretTransport::Header) => {
                // Both are encoded as form values before base64 (RFC 6749, section 2.3.1).
                let encoded =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = Secret::new(format!("{}:{}", encoded(client_id), encoded(secret.expose())));
                authorization =
                    Some(Secret::new(format!("Basic {}", BASE64.encode(pair.expose().as_bytes()))));
            }
            ClientCredential::Secret(secret, SecretTransport::Body) => {
                form.append_pair("client_id", client_id).append_pair("client_secret", secret.expose());
            }
            ClientCredential::Key(key) => {
                form.append_pair("client_id", client_id)
                    .append_pair(
                        "client_assertion_type",
                        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                    )
                    .append_pair("client_assertion", &key.assertion(env, client_id, assertion_audience)?);
            }
        }
        Ok(Self { body: Secret::new(form.finish()), authorization })
    }
}

/// The tokens from the token endpoint.
pub struct TokenResponse {
    /// The ID token, not validated yet.
    pub id_token: Secret<String>,
    /// The access token for the UserInfo endpoint.
    pub access_token: Secret<String>,
}

impl TokenResponse {
    /// Parses the response of the token endpoint. The status decides whether it is an error.
    pub fn parse(status: u16, body: &[u8]) -> Result<Self, Refusal> {
        let members = object(body, Reason::TokenResponse, "token endpoint");
        if status != 200 {
            let members = members.unwrap_or_default();
            let text = |name| members.get(name).and_then(Value::as_str).unwrap_or_default();
            let detail = match (text("error"), text("error_description")) {
                ("", _) => format!("the token endpoint answered {status}"),
                (error, "") => format!("the token endpoint answered {status}, {error}"),
                (error, description) => {
                    format!("the token endpoint answered {status}, {error}: {description}")
                }
            };
            return Err(Refusal::new(Reason::TokenRefused, detail));
        }
        let members = members?;
        let text = |name| match members.get(name) {
            Some(Value::String(text)) if !text.is_empty() && text.len() <= MAX_TOKEN => Some(text.clone()),
            _ => None,
        };
        let malformed =
            |what: &str| Refusal::new(Reason::TokenResponse, format!("the token response has no {what}"));
        if !text("token_type").is_some_and(|found| found.eq_ignore_ascii_case("bearer")) {
            return Err(malformed("token_type Bearer"));
        }
        let access_token = text("access_token").ok_or_else(|| malformed("access_token"))?;
        let Some(Value::String(id_token)) = members.get("id_token") else {
            let detail = "the token response has no id_token; does the client have the scope openid?";
            return Err(Refusal::new(Reason::NoIdToken, detail));
        };
        Ok(Self { id_token: Secret::new(id_token.clone()), access_token: Secret::new(access_token) })
    }
}

/// The claims of the UserInfo endpoint. They are not signed: TLS and the access token protect them.
pub struct UserInfo(pub(crate) Map<String, Value>);

impl UserInfo {
    /// Parses the response of the UserInfo endpoint. Its subject must be that of the ID token (OpenID Connect Core,
    /// section 5.3.2).
    pub fn parse(
        status: u16,
        content_type: &str,
        body: &[u8],
        claims: &Verified<Claims>,
    ) -> Result<Self, Refusal> {
        if status != 200 {
            let detail = format!("the UserInfo endpoint answered {status}");
            return Err(Refusal::new(Reason::UserInfoEndpoint, detail));
        }
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            let detail =
                format!("the UserInfo endpoint answered with {media_type:?}, not with application/json");
            return Err(Refusal::new(Reason::UserInfoMalformed, detail));
        }
        let members = object(body, Reason::UserInfoMalformed, "UserInfo endpoint")?;
        if members.get("sub").and_then(Value::as_str) != Some(&claims.get().subject) {
            let detail = "sub of the UserInfo endpoint is not sub of the ID token";
            return Err(Refusal::new(Reason::UserInfoSubject, detail));
        }
        Ok(Self(members))
    }
}

fn object(body: &[u8], reason: Reason, endpoint: &str) -> Result<Map<String, Value>, Refusal> {
    if body.len() > MAX_RESPONSE {
        return Err(Refusal::new(reason, format!("the response of the {endpoint} is larger than 256 KiB")));
    }
    json::object(body).map_err(|error| {
        Refusal::new(reason, format!("the response of the {endpoint} is not a JSON object: {error}"))
    })
}
