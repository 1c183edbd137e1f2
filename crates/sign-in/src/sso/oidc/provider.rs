//! An SSO connection with OpenID Connect.

use data_encoding::BASE64URL_NOPAD;
use kernel::{Secret, Timestamp};
use oidc_rp::{
    Algorithm, ClientAuth, ClientCredential, ClientKey, KeySet, ProviderMetadata, SecretTransport,
    end_session_url,
};
use saml_sp::{EmailDomain, KeyError, OurKeys, ProviderId, Refresh, SealKey, SealedKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::settings::OidcSettings;

/// Marks a sealed client secret, so that it cannot be exchanged for a sealed private key of the connection.
const SECRET_MARK: &[u8] = b"client secret\0";

/// Marks a sealed ID token.
const HINT_MARK: &[u8] = b"logout hint\0";
/// Maximum length of an ID token that is sent back in a URL, in bytes.
const MAX_HINT: usize = 4096;

/// An OpenID provider of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OidcProvider {
    /// `oidc_…`
    pub id: ProviderId,
    /// The display name.
    pub name: String,
    /// Domains whose email addresses it may assert; never empty.
    pub email_domains: Vec<EmailDomain>,
    /// The settings of the administrator.
    pub settings: OidcSettings,
    /// Our secret at the provider, for methods that use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SealedSecret>,
    /// The provider's metadata.
    pub metadata: ProviderMetadata,
    /// The provider's keys.
    pub provider_keys: KeySet,
    /// Our keys for `private_key_jwt`.
    pub keys: OurKeys,
    /// The state of refreshes of metadata and keys.
    pub refresh: Refresh,
    /// When the keys were last read because an ID token was signed with an unknown one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_read_early_at: Option<Timestamp>,
    /// The same for logout tokens, which anybody can send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_read_for_logout_at: Option<Timestamp>,
    /// Since when issuer and client ID are those of the settings. Requests from before are refused.
    pub client_since: Timestamp,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// A client secret as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecret {
    /// The secret, sealed.
    sealed: String,
    /// When it was set.
    pub since: Timestamp,
}

impl SealedSecret {
    /// Encrypts a secret for storage.
    pub fn new(
        seal: &dyn SealKey,
        provider: &ProviderId,
        secret: &Secret<String>,
        now: Timestamp,
    ) -> Result<Self, KeyError> {
        let marked = Secret::new([SECRET_MARK, secret.expose().as_bytes()].concat());
        Ok(Self { sealed: seal.seal(provider, &marked)?, since: now })
    }

    /// Returns whether this is the secret. One that cannot be decrypted is none.
    pub fn is(&self, seal: &dyn SealKey, provider: &ProviderId, secret: &Secret<String>) -> bool {
        self.open(seal, provider).is_ok_and(|known| known.matches(secret.expose().as_bytes()))
    }

    fn open(&self, seal: &dyn SealKey, provider: &ProviderId) -> Result<Secret<String>, KeyError> {
        let marked = seal.open(provider, &self.sealed)?;
        let secret = marked.expose().strip_prefix(SECRET_MARK).map(<[u8]>::to_vec);
        let secret = secret.and_then(|bytes| String::from_utf8(bytes).ok());
        secret.map(Secret::new).ok_or(KeyError("decrypted: it is not a client secret"))
    }
}

/// Our credential at the provider, decrypted.
pub enum OpenedCredential {
    /// A secret, and how it is sent.
    Secret(Secret<String>, SecretTransport),
    /// A key for `private_key_jwt`.
    Key(Box<ClientKey>),
}

impl OpenedCredential {
    /// Returns the credential for a token request.
    pub fn credential(&self) -> ClientCredential<'_> {
        match self {
            Self::Secret(secret, transport) => ClientCredential::Secret(secret, *transport),
            Self::Key(key) => ClientCredential::Key(key),
        }
    }
}

impl OidcProvider {
    /// Decrypts our credential at the provider.
    pub fn credential(&self, seal: &dyn SealKey) -> Result<OpenedCredential, KeyError> {
        let transport = match self.settings.token_endpoint_auth_method {
            ClientAuth::ClientSecretBasic => SecretTransport::Header,
            ClientAuth::ClientSecretPost => SecretTransport::Body,
            ClientAuth::PrivateKeyJwt => {
                return Ok(OpenedCredential::Key(Box::new(self.client_key(&self.keys.active, seal)?)));
            }
        };
        let secret = self.client_secret.as_ref().ok_or(KeyError("used: there is no client secret"))?;
        Ok(OpenedCredential::Secret(secret.open(seal, &self.id)?, transport))
    }

    fn client_key(&self, key: &SealedKey, seal: &dyn SealKey) -> Result<ClientKey, KeyError> {
        let pair = key.open(seal, &self.id)?;
        let id = key.certificate.fingerprint();
        let client_key =
            ClientKey::from_pkcs8(&pair.private, id).map_err(|_| KeyError("used for private_key_jwt"))?;
        Ok(client_key.with_certificate(&key.certificate.sha256()))
    }

    /// Returns the public keys of `private_key_jwt` as a JWK set (RFC 7517): the active one first.
    pub fn jwks(&self) -> Value {
        let jwk = |key: &SealedKey| {
            let (modulus, exponent) = key.certificate.rsa_numbers()?;
            let number = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
            Some(json!({
                "kty": "RSA", "use": "sig", "alg": "RS256", "kid": key.certificate.fingerprint(),
                "n": number(&modulus), "e": number(&exponent),
            }))
        };
        json!({ "keys": self.keys.all().filter_map(jwk).collect::<Vec<_>>() })
    }

    /// Returns the algorithms that ID tokens may be signed with.
    pub fn algorithms(&self) -> &[Algorithm] {
        self.settings.signing_algorithms.as_deref().unwrap_or(&self.metadata.algorithms)
    }

    /// Returns when metadata and keys are read next.
    pub fn due_at(&self) -> Option<Timestamp> {
        self.refresh.next_at
    }
}

impl OidcProvider {
    /// Encrypts the ID token of a sign-in, which the provider needs to end the session without asking the user. `None` if
    /// users are not signed out there, or the token is too long for a URL.
    pub fn seal_logout_hint(
        &self,
        seal: &dyn SealKey,
        id_token: &Secret<String>,
    ) -> Result<Option<String>, KeyError> {
        let settings = &self.settings;
        let is_used = settings.sign_out_at_provider && self.metadata.end_session_endpoint.is_some();
        if !is_used || id_token.expose().len() > MAX_HINT {
            return Ok(None);
        }
        let bound = [self.hint_prefix().as_slice(), id_token.expose().as_bytes()].concat();
        seal.seal(&self.id, &Secret::new(bound)).map(Some)
    }

    /// Binds a hint to issuer and client, so that another provider never gets it.
    fn hint_prefix(&self) -> Vec<u8> {
        let (issuer, client_id) = (self.metadata.issuer.as_bytes(), self.settings.client_id.as_bytes());
        [HINT_MARK, issuer, b"\0", client_id, b"\0"].concat()
    }

    /// Returns the URL that ends a user's session at the provider and returns to us (RP-Initiated Logout 1.0). `None` if
    /// users are not signed out there. A hint of another client, or one that
    /// cannot be decrypted, is left out.
    pub fn logout_url(&self, ours: &RelyingParty, seal: &dyn SealKey, hint: Option<&str>) -> Option<String> {
        if !self.settings.sign_out_at_provider {
            return None;
        }
        let marked = hint.and_then(|sealed| seal.open(&self.id, sealed).ok());
        let id_token = marked.and_then(|marked| {
            let text = marked.expose().strip_prefix(self.hint_prefix().as_slice())?.to_vec();
            String::from_utf8(text).ok().map(Secret::new)
        });
        let (client_id, return_to) = (&self.settings.client_id, &ours.post_logout_redirect_uri);
        end_session_url(&self.metadata, client_id, return_to, id_token.as_ref()).ok().flatten()
    }
}

/// Our URLs at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// URL to which the provider redirects.
    pub redirect_uri: String,
    /// URL of our keys for `private_key_jwt`.
    pub jwks_uri: String,
    /// URL that starts a sign-in.
    pub login_url: String,
    /// URL to which the provider posts logout tokens.
    pub backchannel_logout_uri: String,
    /// URL to which the provider redirects after a logout that we have started.
    pub post_logout_redirect_uri: String,
}

impl RelyingParty {
    /// Returns the URLs `{base_url}/api/oidc/{id}/callback`, `…/jwks` and `…/login`.
    pub fn of(base_url: &str, provider: &ProviderId) -> Self {
        let base_url = base_url.trim_end_matches('/');
        let at = |name| format!("{base_url}/api/oidc/{provider}/{name}");
        Self {
            redirect_uri: at("callback"),
            jwks_uri: at("jwks"),
            login_url: at("login"),
            backchannel_logout_uri: at("backchannel-logout"),
            post_logout_redirect_uri: format!("{base_url}/auth/login"),
        }
    }
}
