//! Values of OpenID providers and requests, for the tests of storage and of query plans.

use kernel::{Env, TenantId, Timestamp};
use oidc_rp::{ClientAuth, KeySet, ProviderMetadata};
use saml_sp::{Certificate, OurKeys, Protocol, ProviderId, Refresh, SealedKey};
use sign_in::sso::oidc::{OidcProvider, OidcRequest, OidcSettings};

pub(crate) const ISSUER: &str = "https://login.example.com";

/// Returns a provider of a tenant.
pub(crate) fn provider(env: &dyn Env, tenant: &TenantId, domain: &str) -> OidcProvider {
    let certificate = Certificate::from_text(include_str!("saml/until-2098.pem")).unwrap();
    let now = env.now();
    let key = SealedKey { certificate, sealed: "AAAA".into(), since: now };
    let metadata = serde_json::json!({
        "issuer": ISSUER,
        "authorization_endpoint": format!("{ISSUER}/authorize"),
        "token_endpoint": format!("{ISSUER}/token"),
        "jwks_uri": format!("{ISSUER}/keys"),
    });
    // The public key of RFC 8037, appendix A.
    let keys =
        r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    OidcProvider {
        id: ProviderId::of(Protocol::Oidc, env, tenant),
        name: "Okta".into(),
        email_domains: vec![domain.parse().unwrap()],
        settings: OidcSettings {
            client_id: "gatehouse".into(),
            token_endpoint_auth_method: ClientAuth::PrivateKeyJwt,
            client_assertion_audience: None,
            scopes: vec!["email".into()],
            prompt: None,
            max_age: Some(60),
            acr_values: Vec::new(),
            required_claims: [("hd".to_owned(), vec!["example.com".to_owned()])].into(),
            email_claim: "email".into(),
            trust_email_claim: false,
            use_user_info: false,
            sign_out_at_provider: true,
            signing_algorithms: None,
        },
        client_secret: None,
        metadata: ProviderMetadata::parse(&metadata.to_string(), ISSUER).unwrap(),
        provider_keys: KeySet::parse(keys).unwrap(),
        keys: OurKeys { active: key, next: None },
        refresh: Refresh { next_at: Some(now.plus_millis(-1000)), ..Refresh::default() },
        keys_read_early_at: None,
        keys_read_for_logout_at: None,
        client_since: now,
        created_at: now,
        updated_at: now,
    }
}

/// Returns a request to a provider.
pub(crate) fn request(of: &OidcProvider, number: u8, expires_at: Timestamp) -> OidcRequest {
    OidcRequest {
        state: [number; 32],
        provider: of.id.clone(),
        browser: [number + 1; 32],
        return_to: "/".into(),
        trial: None,
        created_at: of.created_at,
        expires_at,
    }
}
