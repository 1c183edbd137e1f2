//! Requests to transmitters of shared signals, whose URLs tenants configure.

use oidc_rp::{KeySet, MAX_METADATA};
use signals::{configuration_url_of, jwks_uri_of};
use webhooks::client::Client;

use crate::oidc_client;

/// Reads the keys of a transmitter, from `jwks_uri` or the URL that the configuration of the issuer names. An error says
/// what to do. It follows no redirects.
pub(crate) async fn read_keys(
    client: &Client,
    issuer: &str,
    jwks_uri: Option<&str>,
) -> Result<KeySet, String> {
    if let Some(url) = jwks_uri {
        return oidc_client::read_keys(client, url).await;
    }
    let url = configuration_url_of(issuer)?;
    let text =
        oidc_client::get(client, &url, MAX_METADATA).await.map_err(|problem| format!("{url}: {problem}"))?;
    let jwks_uri = jwks_uri_of(&text, issuer).map_err(|problem| format!("{url}: {problem}"))?;
    oidc_client::read_keys(client, &jwks_uri).await
}
