//! Shows a sign-in with OpenID Connect, step by step, with a provider in the same process.
//!
//! `cargo run -p gatehouse-oidc-rp --example embed_oidc_rp`. Your service sends the requests with its own HTTP client, and stores the hash of
//! the state with the request until the redirect arrives.
#![expect(clippy::unwrap_used, reason = "an example ends at the first error")]

use kernel::{Env, Secret, SystemEnv};
use oidc_rp::{
    Algorithm, Callback, ClientCredential, CodeExchange, EmailClaim, Expected, KeySet, ProviderMetadata,
    RequestParameters, RequestSecrets, SecretTransport, TokenRequest, TokenResponse, authorization_url,
    conformance::{CLIENT, ISSUER, Signer, TestProvider},
    examine, metadata_url, read_email,
};
use serde_json::json;

const REDIRECT: &str = "https://service.example/callback";

fn main() {
    let (env, provider) = (SystemEnv::default(), TestProvider::default());

    // 1. At set-up: read the metadata of the provider and its key set.
    println!("The metadata is at {}", metadata_url(ISSUER).unwrap());
    let document = json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://idp.example/authorize",
        "token_endpoint": "https://idp.example/token",
        "jwks_uri": "https://idp.example/keys",
        "authorization_response_iss_parameter_supported": true,
    });
    let metadata = ProviderMetadata::parse(&document.to_string(), ISSUER).unwrap();
    let keys = KeySet::parse(&provider.key_set()).unwrap();

    // 2. Redirect the browser, and give it the secret in a cookie.
    let (requested_at, secrets) = (env.now(), RequestSecrets::random(&env));
    let parameters = RequestParameters {
        authorization_endpoint: &metadata.authorization_endpoint,
        client_id: CLIENT,
        redirect_uri: REDIRECT,
        scopes: &["email".to_owned()],
        prompt: None,
        max_age: None,
        acr_values: &[],
        login_hint: Some("ada@example.com"),
    };
    println!("The browser is redirected to {}", authorization_url(&parameters, &secrets).unwrap());

    // 3. The provider redirects the browser back. Find the request by its state.
    let callback = Callback::parse(&format!("code=a-code&state={}&iss={ISSUER}", secrets.state)).unwrap();
    let secrets = RequestSecrets::from_parts(callback.state.clone(), secrets.browser);
    let code = callback.into_code(&metadata).unwrap();

    // 4. Exchange the code for tokens.
    let (secret, code_verifier) = (Secret::new("a secret".to_owned()), secrets.code_verifier());
    let exchange = CodeExchange {
        client_id: CLIENT,
        assertion_audience: ISSUER,
        redirect_uri: REDIRECT,
        code: &code,
        code_verifier: &code_verifier,
    };
    let credential = ClientCredential::Secret(&secret, SecretTransport::Header);
    let request = TokenRequest::new(&env, exchange, &credential).unwrap();
    println!("The request to the token endpoint has {} bytes", request.body.expose().len());
    let id_token = provider.token(Algorithm::RS256, &provider.claims(&secrets.nonce(), env.now()));
    let response = json!({ "token_type": "Bearer", "access_token": "a-token", "id_token": id_token });
    let tokens = TokenResponse::parse(200, response.to_string().as_bytes()).unwrap();

    // 5. Validate the ID token, and read the claims.
    let nonce = secrets.nonce();
    let expected = Expected {
        issuer: ISSUER,
        client_id: CLIENT,
        algorithms: &[Algorithm::RS256],
        nonce: &nonce,
        requested_at,
        max_age: None,
        acr_values: &[],
        required_claims: &[],
        code: &code,
        access_token: &tokens.access_token,
        now: env.now(),
    };
    let claims = examine(tokens.id_token.expose(), &keys, &expected).into_result().unwrap();
    let email = read_email(&claims, None, EmailClaim::default(), ["example.com"]).unwrap();
    println!("{} signs in, subject {} of {ISSUER}", email.as_str(), claims.get().subject);

    // A token without a signature is refused.
    let payload = serde_json::to_vec(&claims.get().all).unwrap();
    let unsigned = provider.sign(Signer::Nobody, br#"{"alg":"none"}"#, &payload);
    println!("Without a signature: {}", examine(&unsigned, &keys, &expected).into_result().unwrap_err());
}
