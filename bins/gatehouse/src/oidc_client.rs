//! Requests to OpenID providers, whose URLs tenants configure.

use ::http::{HeaderMap, HeaderValue, header};
use actix_web::web::Bytes;
use kernel::Secret;
use oidc_rp::{
    KeySet, MAX_KEY_SET, MAX_METADATA, MAX_RESPONSE, ProviderMetadata, Reason, Refusal, TokenRequest,
    metadata_url,
};
use sign_in::sso::oidc::Discovered;
use webhooks::client::{Answer, Client, Failure, Target};

use crate::metadata::USER_AGENT;

fn target(client: &Client, url: &str) -> Result<Target, String> {
    let target = client.guard().target(url).map_err(|error| error.to_string())?;
    if client.guard().check_literal(&target) {
        Ok(target)
    } else {
        Err(failure_text(Failure::Blocked).into())
    }
}

/// Checks the URL of an issuer without a DNS lookup. Rejects literal addresses that are not public.
pub(crate) fn check_issuer(client: &Client, issuer: &str) -> Result<(), String> {
    target(client, issuer).map(|_| ())
}

/// Reads the metadata of an issuer and its key set; an error says what to do. It follows no redirects.
pub(crate) async fn discover(client: &Client, issuer: &str) -> Result<Discovered, String> {
    let url = metadata_url(issuer).map_err(|error| error.to_string())?;
    let text = get(client, &url, MAX_METADATA).await.map_err(|problem| format!("{url}: {problem}"))?;
    let metadata = ProviderMetadata::parse(&text, issuer).map_err(|error| error.to_string())?;
    let keys = read_keys(client, &metadata.jwks_uri).await?;
    Ok(Discovered { metadata, keys })
}

/// Reads a key set.
pub(crate) async fn read_keys(client: &Client, url: &str) -> Result<KeySet, String> {
    let text = get(client, url, MAX_KEY_SET).await.map_err(|problem| format!("{url}: {problem}"))?;
    KeySet::parse(&text).map_err(|error| error.to_string())
}

/// Sends a token request.
pub(crate) async fn exchange(client: &Client, url: &str, request: TokenRequest) -> Result<Answer, Refusal> {
    let refused = |problem: String| Refusal::new(Reason::TokenEndpoint, format!("{url}: {problem}"));
    let target = target(client, url).map_err(refused)?;
    let mut headers = accept_json();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    if let Some(authorization) = &request.authorization {
        let value = secret_value(authorization.expose()).map_err(refused)?;
        headers.insert(header::AUTHORIZATION, value);
    }
    let body = Bytes::from(request.body.expose().clone());
    let answer = client.exchange(&target, headers, body, MAX_RESPONSE).await;
    answer.map_err(|failure| refused(failure_text(failure).into()))
}

/// Asks the UserInfo endpoint.
pub(crate) async fn user_info(
    client: &Client,
    url: &str,
    access_token: &Secret<String>,
) -> Result<Answer, Refusal> {
    let refused = |problem: String| Refusal::new(Reason::UserInfoEndpoint, format!("{url}: {problem}"));
    let target = target(client, url).map_err(refused)?;
    let mut headers = accept_json();
    let bearer = Secret::new(format!("Bearer {}", access_token.expose()));
    headers.insert(header::AUTHORIZATION, secret_value(bearer.expose()).map_err(refused)?);
    let answer = client.get(&target, headers, MAX_RESPONSE).await;
    answer.map_err(|failure| refused(failure_text(failure).into()))
}

fn accept_json() -> HeaderMap {
    let headers = [(header::ACCEPT, "application/json"), (header::USER_AGENT, USER_AGENT)];
    headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect()
}

fn secret_value(text: &str) -> Result<HeaderValue, String> {
    let mut value =
        HeaderValue::from_str(text).map_err(|_| "the token cannot be sent in a header".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Reads a document.
pub(crate) async fn get(client: &Client, url: &str, max_body: usize) -> Result<String, String> {
    let target = target(client, url)?;
    let answer = client.get(&target, accept_json(), max_body).await.map_err(failure_text)?;
    match answer.status {
        200 => String::from_utf8(answer.body).map_err(|_| "the document is not UTF-8".into()),
        status @ 300..=399 => Err(format!("the server answered {status}, a redirect, which is not followed")),
        status => Err(format!("the server answered {status} instead of 200")),
    }
}

fn failure_text(failure: Failure) -> &'static str {
    match failure {
        Failure::Timeout => "the server did not respond in time",
        Failure::Connect => "the server could not be reached; check its name and port",
        Failure::Tls => "TLS with the server failed, or its certificate is not valid",
        Failure::Blocked => {
            "the server's address is not public; the operator can allow it with the setting webhooks_allow_cidrs"
        }
        Failure::TooLarge => "the response is larger than 256 KiB",
        _ => "the server did not respond with HTTP",
    }
}
