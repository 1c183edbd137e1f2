//! Metadata of OpenID providers (OpenID Connect Discovery 1.0, RFC 8414).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::{algorithm::Algorithm, json, text::printable};

/// Maximum size of a metadata document in bytes.
pub const MAX_METADATA: usize = 256 * 1024;
/// Maximum length of a URL.
const MAX_URL: usize = 2048;

/// The metadata of a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DiscoveryError(String);

impl DiscoveryError {
    fn new(problem: impl AsRef<str>) -> Self {
        Self(printable(problem.as_ref()))
    }
}

/// Methods of client authentication at the token endpoint (OpenID Connect Core, section 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuth {
    /// The secret in an `Authorization: Basic` header.
    ClientSecretBasic,
    /// The secret in the body.
    ClientSecretPost,
    /// A JWT signed with our private key.
    PrivateKeyJwt,
}

impl ClientAuth {
    /// All methods, the strongest first.
    pub const ALL: [Self; 3] = [Self::PrivateKeyJwt, Self::ClientSecretBasic, Self::ClientSecretPost];

    /// Returns the registered name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }
}

/// The metadata of an OpenID provider that a relying party needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderMetadata {
    /// The issuer, exactly as ID tokens name it.
    pub issuer: String,
    /// Endpoint to which browsers are redirected to sign in.
    pub authorization_endpoint: String,
    /// Endpoint that exchanges codes for tokens.
    pub token_endpoint: String,
    /// URL of the key set.
    pub jwks_uri: String,
    /// Endpoint with further claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub userinfo_endpoint: Option<String>,
    /// Endpoint that ends the user's session at the provider (RP-Initiated Logout).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_session_endpoint: Option<String>,
    /// The algorithms of its ID tokens that this crate verifies, in the provider's order.
    pub algorithms: Vec<Algorithm>,
    /// The methods of client authentication that this crate supports, in the provider's order.
    pub client_auth: Vec<ClientAuth>,
    /// Whether redirects have the parameter `iss` (RFC 9207).
    pub has_callback_issuer: bool,
}

/// Returns the URL of the metadata of an issuer. Fails if the issuer is not an `https` URL without query and fragment.
pub fn metadata_url(issuer: &str) -> Result<String, DiscoveryError> {
    endpoint("issuer", issuer)?;
    if issuer.contains(['?', '#']) {
        return Err(DiscoveryError::new("issuer: write a URL without query and fragment"));
    }
    Ok(format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')))
}

impl ProviderMetadata {
    /// Parses the document of an issuer, of at most 256 KiB. The issuer in it must be `issuer`, compared exactly, so that no
    /// provider answers for another (OpenID Connect Discovery, section 4.3).
    pub fn parse(text: &str, issuer: &str) -> Result<Self, DiscoveryError> {
        if text.len() > MAX_METADATA {
            return Err(DiscoveryError::new("the metadata is larger than 256 KiB"));
        }
        let members = json::object(text.as_bytes())
            .map_err(|error| DiscoveryError::new(format!("the metadata is not a JSON object: {error}")))?;
        let found = members.get("issuer").and_then(Value::as_str).unwrap_or_default();
        if found != issuer {
            return Err(DiscoveryError::new(format!(
                "the metadata is of the issuer {found:?}, not of {issuer:?}"
            )));
        }
        if !supports(&members, "response_types_supported", "code") {
            return Err(DiscoveryError::new("the provider does not support the code flow"));
        }
        if !supports(&members, "code_challenge_methods_supported", "S256") {
            return Err(DiscoveryError::new("the provider does not support PKCE with S256"));
        }
        let algorithms = listed(&members, "id_token_signing_alg_values_supported", &["RS256"])?;
        let algorithms: Vec<_> = algorithms.iter().filter_map(|name| Algorithm::from_name(name)).collect();
        if algorithms.is_empty() {
            let detail = "the provider signs ID tokens with none of the supported algorithms: RS, PS and ES with 256 or \
                384 bits, RS512, PS512, EdDSA";
            return Err(DiscoveryError::new(detail));
        }
        let methods = listed(&members, "token_endpoint_auth_methods_supported", &["client_secret_basic"])?;
        let of_name = |name: &String| ClientAuth::ALL.into_iter().find(|method| method.as_str() == name);
        let optional = |name| match members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => required(&members, name).map(Some),
        };
        Ok(Self {
            issuer: issuer.to_owned(),
            authorization_endpoint: required(&members, "authorization_endpoint")?,
            token_endpoint: required(&members, "token_endpoint")?,
            jwks_uri: required(&members, "jwks_uri")?,
            userinfo_endpoint: optional("userinfo_endpoint")?,
            end_session_endpoint: optional("end_session_endpoint")?,
            algorithms,
            client_auth: methods.iter().filter_map(of_name).collect(),
            has_callback_issuer: members.get("authorization_response_iss_parameter_supported")
                == Some(&Value::Bool(true)),
        })
    }
}

/// Reads the URL of an endpoint.
fn required(members: &Map<String, Value>, name: &str) -> Result<String, DiscoveryError> {
    let Some(Value::String(url)) = members.get(name) else {
        return Err(DiscoveryError::new(format!("the metadata has no {name}")));
    };
    endpoint(name, url)?;
    Ok(url.clone())
}

/// Parses the URL of an endpoint: `https` without credentials and fragment.
pub(crate) fn endpoint(name: &str, text: &str) -> Result<Url, DiscoveryError> {
    let is_sound = |url: &Url| {
        url.scheme() == "https"
            && url.host().is_some()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    };
    let has_space = text.chars().any(|c| c.is_whitespace() || c.is_control());
    let url = Url::parse(text).ok().filter(is_sound).filter(|_| text.len() <= MAX_URL && !has_space);
    url.ok_or_else(|| {
        DiscoveryError::new(format!("{name}: write an https URL without credentials, fragment and spaces"))
    })
}

/// Returns the strings of an array, or the default where the member is absent.
fn listed(members: &Map<String, Value>, name: &str, default: &[&str]) -> Result<Vec<String>, DiscoveryError> {
    match members.get(name) {
        None => Ok(default.iter().map(ToString::to_string).collect()),
        Some(Value::Array(values)) => {
            Ok(values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Some(_) => Err(DiscoveryError::new(format!("{name} in the metadata is not an array"))),
    }
}

/// Returns whether a list contains a value. Many providers leave out lists, so a missing list says nothing.
fn supports(members: &Map<String, Value>, name: &str, value: &str) -> bool {
    let contains = |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|one| one == value));
    members.get(name).is_none_or(contains)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://login.example.com/tenant/v2.0";

    fn document() -> Value {
        json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://login.example.com/authorize",
            "token_endpoint": "https://login.example.com/token",
            "jwks_uri": "https://keys.example.com/keys",
            "end_session_endpoint": "https://login.example.com/logout",
            "response_types_supported": ["code", "id_token", "code id_token"],
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none", "ES256", "ES512"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt", "tls_client_auth"],
            "code_challenge_methods_supported": ["plain", "S256"],
            "authorization_response_iss_parameter_supported": true,
            "unknown": { "a": [1] },
        })
    }

    #[test]
    fn metadata_names_endpoints_and_what_both_sides_support() {
        let metadata = ProviderMetadata::parse(&document().to_string(), ISSUER).unwrap();
        assert_eq!(metadata.token_endpoint, "https://login.example.com/token");
        assert_eq!(metadata.userinfo_endpoint, None);
        assert_eq!(metadata.end_session_endpoint.as_deref(), Some("https://login.example.com/logout"));
        assert_eq!(metadata.algorithms, [Algorithm::RS256, Algorithm::ES256]);
        assert_eq!(metadata.client_auth, [ClientAuth::ClientSecretPost, ClientAuth::PrivateKeyJwt]);
        assert!(metadata.has_callback_issuer);
        let mut least = document();
        for name in [
            "response_types_supported",
            "id_token_signing_alg_values_supported",
            "token_endpoint_auth_methods_supported",
            "code_challenge_methods_supported",
            "authorization_response_iss_parameter_supported",
            "end_session_endpoint",
        ] {
            least.as_object_mut().unwrap().remove(name);
        }
        let metadata = ProviderMetadata::parse(&least.to_string(), ISSUER).unwrap();
        assert_eq!(metadata.algorithms, [Algorithm::RS256]);
        assert_eq!(metadata.client_auth, [ClientAuth::ClientSecretBasic]);
        assert!(!metadata.has_callback_issuer);
        let stored = serde_json::to_string(&metadata).unwrap();
        assert_eq!(serde_json::from_str::<ProviderMetadata>(&stored).unwrap(), metadata);
    }

    #[test]
    fn unusable_metadata_is_refused_with_the_reason() {
        for (name, value, error) in [
            ("issuer", json!("https://login.example.com/tenant/v2.0/"), "of the issuer"),
            ("issuer", json!("https://login.example.com/{tenantid}/v2.0"), "of the issuer"),
            ("issuer", json!(1), "of the issuer"),
            ("authorization_endpoint", json!("http://login.example.com/"), "write an https URL"),
            ("authorization_endpoint", json!("javascript:alert(1)"), "write an https URL"),
            ("token_endpoint", json!(null), "has no token_endpoint"),
            ("token_endpoint", json!("https://user:secret@login.example.com/"), "write an https URL"),
            ("jwks_uri", json!("https://login.example.com/#keys"), "write an https URL"),
            ("jwks_uri", json!("https:// login.example.com/"), "write an https URL"),
            (
                "jwks_uri",
                json!(format!("https://login.example.com/{}", "a".repeat(2048))),
                "write an https URL",
            ),
            ("userinfo_endpoint", json!("ftp://login.example.com/"), "write an https URL"),
            ("end_session_endpoint", json!(["https://login.example.com/"]), "has no end_session_endpoint"),
            ("response_types_supported", json!(["id_token"]), "code flow"),
            ("code_challenge_methods_supported", json!(["plain"]), "PKCE"),
            ("id_token_signing_alg_values_supported", json!(["none", "HS256"]), "none of the supported"),
            ("id_token_signing_alg_values_supported", json!("RS256"), "not an array"),
        ] {
            let mut changed = document();
            changed[name] = value;
            let refused = ProviderMetadata::parse(&changed.to_string(), ISSUER).unwrap_err();
            assert!(refused.to_string().contains(error), "{name}: {refused}");
        }
        let large = " ".repeat(MAX_METADATA + 1);
        for text in ["", "[]", r#"{"issuer":1,"issuer":2}"#, large.as_str()] {
            assert!(ProviderMetadata::parse(text, ISSUER).is_err());
        }
    }

    #[test]
    fn issuers_are_https_urls() {
        let of = |issuer| metadata_url(issuer).map_err(|error| error.to_string());
        assert_eq!(of("https://a.example").unwrap(), "https://a.example/.well-known/openid-configuration");
        assert_eq!(
            of("https://a.example/b/").unwrap(),
            "https://a.example/b/.well-known/openid-configuration"
        );
        for issuer in
            ["", "a.example", "http://a.example", "https://a.example?b", "https://a.example#", "https://"]
        {
            assert!(of(issuer).is_err(), "{issuer}");
        }
    }
}
