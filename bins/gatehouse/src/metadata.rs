//! Fetches metadata of identity providers from URLs that tenants configure.

use ::http::{HeaderValue, header};
use saml_sp::MAX_METADATA;
use webhooks::client::{Client, Failure, Target};

/// `User-Agent` that identity providers see.
pub(crate) const USER_AGENT: &str = concat!("Gatehouse/", env!("CARGO_PKG_VERSION"));

/// Checks a metadata URL without a DNS lookup. Rejects literal addresses that are not public.
pub(crate) fn target(client: &Client, url: &str) -> Result<Target, String> {
    let target = client.guard().target(url).map_err(|error| error.to_string())?;
    if client.guard().check_literal(&target) {
        Ok(target)
    } else {
        Err("metadata is fetched from public addresses only; send it as metadataXml instead".into())
    }
}

/// Fetches metadata; an error says what to do. It does not follow redirects, so that later refreshes use the URL that
/// the administrator entered.
pub(crate) async fn read(client: &Client, url: &str) -> Result<String, String> {
    let target = target(client, url)?;
    let headers = [
        (header::ACCEPT, "application/samlmetadata+xml, application/xml;q=0.9, */*;q=0.1"),
        (header::USER_AGENT, USER_AGENT),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    let answer =
        client.get(&target, headers.into_iter().collect(), MAX_METADATA).await.map_err(failure_text)?;
    match answer.status {
        200 => String::from_utf8(answer.body)
            .map_err(|_| "the document is not UTF-8; send it as metadataXml instead".into()),
        status @ 300..=399 => Err(format!(
            "the server answered {status}, a redirect, which is not followed; enter the URL that it leads to"
        )),
        status => Err(format!("the server answered {status} instead of 200")),
    }
}

fn failure_text(failure: Failure) -> String {
    let what = match failure {
        Failure::Timeout => "the server did not respond in time",
        Failure::Connect => "the server could not be reached; check its name and port",
        Failure::Tls => "TLS with the server failed, or its certificate is not valid",
        Failure::Blocked => "the server's address is not public; send the metadata as metadataXml instead",
        Failure::TooLarge => {
            "the document is larger than 512 KiB; enter the URL of the metadata of one identity provider"
        }
        _ => "the server did not respond with HTTP",
    };
    what.to_owned()
}
