//! A server elsewhere, and witnesses.

use std::net::IpAddr;

use ::webhooks::client::{AddressGuard, Answer, Client, ClientSettings};
use actix_web::web::Bytes;
use audit::log::{ConsistencyProof, Hash, witness::AddCheckpoint};
use data_encoding::BASE64;
use http::{
    HeaderValue, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT},
};
use kernel::Secret;

use crate::cli::report::Result;

/// Maximum size of a response, in bytes.
const MAX_ANSWER: usize = 64 * 1024;
/// `User-Agent` of requests.
const AGENT: &str = concat!("Gatehouse/", env!("CARGO_PKG_VERSION"));

/// The audit log of a server elsewhere.
pub(super) struct RemoteLog {
    client: Client,
    url: String,
    token: Secret<String>,
}

/// The response of a witness.
pub(super) enum Cosigning {
    /// Lines of cosignatures, not verified.
    Cosigned(String),
    /// The size that the witness has cosigned last.
    Knows(u64),
}

impl RemoteLog {
    pub(super) fn new(url: &str, token: Secret<String>) -> Result<Self> {
        let url = url.trim_end_matches('/').to_owned();
        let parsed: Uri = url.parse().map_err(|error| format!("--url: {error}"))?;
        let host = parsed.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if parsed.scheme_str() != Some("https") && !is_local {
            return Err("--url: use https; over http, anybody on the way could read the token".into());
        }
        // The user of the command may connect anywhere.
        let guard = AddressGuard::new(vec!["0.0.0.0/0".parse()?, "::/0".parse()?], true);
        let client = Client::new(guard, ClientSettings::default())?;
        Ok(Self { client, url, token })
    }

    /// Returns the response to a request of the API of audit logs.
    async fn get(&self, path: &str, accept: &'static str) -> Result<String> {
        let url = format!("{}/api/settings/audit-log/{path}", self.url);
        let target = self.client.guard().target(&url).map_err(|error| format!("--url: {error}"))?;
        let bearer = Secret::new(format!("Bearer {}", self.token.expose()));
        let mut bearer = HeaderValue::from_str(bearer.expose()).map_err(|_| "--token-file: not a token")?;
        bearer.set_sensitive(true);
        let headers = [
            (AUTHORIZATION, bearer),
            (ACCEPT, HeaderValue::from_static(accept)),
            (USER_AGENT, HeaderValue::from_static(AGENT)),
        ];
        let answer = self.client.get(&target, headers.into_iter().collect(), MAX_ANSWER).await;
        let answer = answer.map_err(|failure| format!("{url}: {failure:?}"))?;
        if answer.status == 200 { text(answer) } else { Err(refusal(&url, &answer).into()) }
    }

    /// Returns the newest checkpoint.
    pub(super) async fn checkpoint(&self) -> Result<String> {
        self.get("checkpoint", "text/plain").await
    }

    /// Returns the proof that the log of size `from` is the start of the log of size `to`.
    pub(super) async fn proof(&self, from: u64, to: u64) -> Result<Vec<Hash>> {
        if from == 0 || from >= to {
            return Ok(Vec::new());
        }
        let text = self.get(&format!("consistency?from={from}&to={to}"), "application/json").await?;
        let proof: ConsistencyProof = serde_json::from_str(&text)?;
        let hash = |text: &String| BASE64.decode(text.as_bytes()).ok()?.try_into().ok();
        let path: Option<Vec<Hash>> = proof.path.iter().map(hash).collect();
        Ok(path.ok_or("the consistency proof is malformed")?)
    }

    /// Requests a cosignature from the witness at this URL (C2SP tlog-witness, add-checkpoint).
    pub(super) async fn ask_witness(&self, url: &str, request: &AddCheckpoint) -> Result<Cosigning> {
        let url = format!("{}/add-checkpoint", url.trim_end_matches('/'));
        let target = self.client.guard().target(&url).map_err(|error| format!("{url}: {error}"))?;
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
            (USER_AGENT, HeaderValue::from_static(AGENT)),
        ];
        let body = Bytes::from(request.to_string());
        let answer = self.client.exchange(&target, headers.into_iter().collect(), body, MAX_ANSWER).await;
        let answer = answer.map_err(|failure| format!("{url}: {failure:?}"))?;
        match answer.status {
            200 => Ok(Cosigning::Cosigned(text(answer)?)),
            409 => {
                let size = text(answer)?;
                let size = size.trim_end().parse().map_err(|_| format!("{url}: 409 without a size"))?;
                Ok(Cosigning::Knows(size))
            }
            _ => Err(refusal(&url, &answer).into()),
        }
    }
}

fn text(answer: Answer) -> Result<String> {
    Ok(String::from_utf8(answer.body).map_err(|_| "the response is not text")?)
}

/// Says how a server refused a request, with the beginning of its response.
fn refusal(url: &str, answer: &Answer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    let start: String = body.chars().filter(|letter| !letter.is_control()).take(200).collect();
    format!("{url}: {} {start}", answer.status)
}
